"""One module and one TOML file per dataset: everything that is special about that dataset.

The registry finds the modules by itself: a new dataset is a new module here and one in ``sources.miniatures``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

from readbench_data.dataset.source import Source
from readbench_data.errors import UsageError

MiniatureWriter = Callable[[Path, int], None]


@cache
def all_sources() -> dict[str, Source]:
    """Every declared source by name, in the order of the benchmark's table."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg and not module.name.startswith("_"):
            declared = importlib.import_module(f"{__name__}.{module.name}").SOURCE
            if declared.name != module.name:
                raise ValueError(f"sources/{module.name}.py declares a source named {declared.name!r}")
            found.append(declared)
    return {s.name: s for s in sorted(found, key=lambda s: (s.row, s.name))}


def get(name: str) -> Source:
    """A source by name; ``UsageError`` with the names there are."""
    sources = all_sources()
    if name not in sources:
        raise UsageError(f"no dataset {name!r}; there are {', '.join(sources)}")
    return sources[name]


def miniature(name: str) -> MiniatureWriter:
    """The generator ``write(folder, seed)`` of small stand-in files of a source, in its true format."""
    writer: MiniatureWriter = importlib.import_module(f"{__name__}.miniatures.{name}").write
    return writer


def module_names(name: str) -> tuple[str, str]:
    """The module of a source and the module of its miniature, for code versions."""
    return f"{__name__}.{name}", f"{__name__}.miniatures.{name}"
