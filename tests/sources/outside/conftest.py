"""A plant's export in small: three pumps, a table of tickets, and a declaration that a test can change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from readbench_data.dataset.source import Source
from sources.outside.tables import table_source

HEAD = """
name = "plant"
[files]
folder = "data"
timestamp = "time"
[window]
length = 10
stride = 5
"""

Plant = Callable[..., Source]


def series(rows: int, start: str = "2024-01-01T00:00:00", seed: int = 1) -> str:
    """A CSV file of one pump: a row a second."""
    draw = np.random.default_rng(seed)
    when = np.datetime64(start) + np.arange(rows).astype("timedelta64[s]")
    lines = [f"{t},{p:.3f},{f:.3f}" for t, (p, f) in zip(when, draw.normal([5, 2], 0.1, (rows, 2)), strict=True)]
    return "time,pressure,flow\n" + "\n".join(lines) + "\n"


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """``plant(labels, files, head)``: write the declaration and the files (name -> text or bytes), and load it."""

    def load(labels: str, files: dict[str, str | bytes], head: str = HEAD) -> Source:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        (tmp_path / "source.toml").write_text(head + labels)
        return table_source(tmp_path / "source.toml", 1000)

    return load
