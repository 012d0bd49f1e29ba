"""What a recording, a window and an entry are, and everything that is done with them.

``build``, ``evaluate``, ``load`` and ``qrels`` are for notebooks and scripts (:mod:`readbench_data.api`).

This package knows no dataset by name and no orchestrator. Its packages, in import order, are listed in
docs/architecture.md; ``tests/test_import_order.py`` holds that order.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from readbench_data.api import build, evaluate, load, qrels

__all__ = ["build", "default_version", "evaluate", "load", "qrels"]


def __getattr__(name: str) -> Any:
    """Import a function of :mod:`readbench_data.api` when it is first used."""
    if name in __all__:
        from readbench_data import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def default_version() -> str:
    """Return the version of the installed project, X.Y.Z; 0.0.0 where it is not installed."""
    try:
        return version("readbench-data")
    except PackageNotFoundError:
        return "0.0.0"
