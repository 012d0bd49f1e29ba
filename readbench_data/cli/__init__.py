"""The ``readbench`` command. It may import every package, but only inside its functions, so that ``--help`` is fast."""

from __future__ import annotations

from readbench_data.cli.main import main

__all__ = ["main"]
