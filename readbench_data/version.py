"""The project's own version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def default_version() -> str:
    """Version of the installed project: X.Y.Z."""
    try:
        return version("readbench-data")
    except PackageNotFoundError:
        return "0.0.0"
