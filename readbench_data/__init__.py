"""What a recording, a window and an entry are, and everything that is done with them.

This package knows no dataset by name and no orchestrator. Its packages, in import order, are listed in
docs/architecture.md; ``tests/test_import_order.py`` holds that order.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def default_version() -> str:
    """Return the version of the installed project, X.Y.Z; 0.0.0 where it is not installed."""
    try:
        return version("readbench-data")
    except PackageNotFoundError:
        return "0.0.0"
