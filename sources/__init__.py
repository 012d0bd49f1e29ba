"""One module and one TOML file per dataset: everything that is special about that dataset.

The registry finds the modules by itself: to add a dataset, add one module here and one in ``sources.miniatures``.
Sources from outside this project stand after those of READ-Bench (``sources.outside``).
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from pathlib import Path

from readbench_data.dataset.origin import MINIATURE_SEED
from readbench_data.dataset.source import Source
from readbench_data.errors import NoData, UsageError
from sources.outside import MiniatureWriter, Outside, outside_sources


@cache
def own_sources() -> dict[str, Source]:
    """Return the datasets of READ-Bench by name, in the order of the benchmark's table."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg and not module.name.startswith("_"):
            declared = importlib.import_module(f"{__name__}.{module.name}").SOURCE
            if declared.name != module.name:
                raise ValueError(f"sources/{module.name}.py declares a source named {declared.name!r}")
            found.append(declared)
    return {s.name: s for s in sorted(found, key=lambda s: (s.row, s.name))}


def from_outside() -> dict[str, Outside]:
    """Return the sources from outside by name: those of installed packages, and those that were named."""
    return outside_sources(own_sources())


def all_sources() -> dict[str, Source]:
    """Return every source by name: those of READ-Bench, then those from outside, whose code is imported."""
    return {**own_sources(), **{name: one.source for name, one in from_outside().items()}}


def get(name: str) -> Source:
    """Return a source by name. Raises ``UsageError`` that lists the known names."""
    if name in own_sources():
        return own_sources()[name]
    sources = all_sources()
    if name not in sources:
        raise UsageError(f"no dataset {name!r}; there are {', '.join(sources)} (one of your own: --source FILE)")
    return sources[name]


def miniature(name: str) -> MiniatureWriter:
    """Return the function ``write(folder, seed)`` that writes small stand-in files of a source in its true format.

    Its module, and the libraries it uses, are imported when it writes. A source from outside has one if its module has
    a function ``write_miniature(folder, seed)``; otherwise ``NoData`` is raised.
    """
    if name not in own_sources():
        writer = from_outside()[name].miniature
        if writer is None:
            raise NoData("it has no miniature: give the folder of its files with --mirror DIR")
        return writer

    def write(folder: Path, seed: int = MINIATURE_SEED) -> None:
        writer: MiniatureWriter = importlib.import_module(f"{__name__}.miniatures.{name}").write
        writer(folder, seed)

    return write


def folder(name: str) -> Path | None:
    """Return the folder in which a source from outside says that its files are; None if it says nothing."""
    found = None if name in own_sources() else from_outside().get(name)
    return None if found is None else found.folder


def module_names(name: str) -> tuple[str, str]:
    """Return the names of a source's module and of its miniature's module, for code versions."""
    if name not in own_sources():
        module = from_outside()[name].module
        return module, module
    return f"{__name__}.{name}", f"{__name__}.miniatures.{name}"
