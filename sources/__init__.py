"""One module and one TOML file per dataset: everything that is special about that dataset.

The registry finds the modules by itself: to add a dataset, add one module here and one in ``sources.miniatures``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from readbench_data.dataset.origin import MINIATURE_SEED
from readbench_data.dataset.source import Source
from readbench_data.errors import UsageError

MiniatureWriter = Callable[[Path, int], None]


@cache
def all_sources() -> dict[str, Source]:
    """Return every declared source by name, in the order of the benchmark's table."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg and not module.name.startswith("_"):
            declared = importlib.import_module(f"{__name__}.{module.name}").SOURCE
            if declared.name != module.name:
                raise ValueError(f"sources/{module.name}.py declares a source named {declared.name!r}")
            found.append(declared)
    return {s.name: s for s in sorted(found, key=lambda s: (s.row, s.name))}


def get(name: str) -> Source:
    """Return a source by name. Raises ``UsageError`` that lists the known names."""
    sources = all_sources()
    if name not in sources:
        raise UsageError(f"no dataset {name!r}; there are {', '.join(sources)}")
    return sources[name]


def miniature(name: str) -> MiniatureWriter:
    """Return the function ``write(folder, seed)`` that writes small stand-in files of a source in its true format.

    Its module, and the libraries it uses, are imported when it writes.
    """

    def write(folder: Path, seed: int = MINIATURE_SEED) -> None:
        writer: MiniatureWriter = importlib.import_module(f"{__name__}.miniatures.{name}").write
        writer(folder, seed)

    return write


def module_names(name: str) -> tuple[str, str]:
    """Return the names of a source's module and of its miniature's module, for code versions."""
    return f"{__name__}.{name}", f"{__name__}.miniatures.{name}"
