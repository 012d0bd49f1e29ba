"""The ``readbench`` command. It may reach every room, but only inside its functions, so that ``--help`` is quick."""

from __future__ import annotations

from readbench_data.cli.main import main

__all__ = ["main"]
