"""Derives CATS windows: rows of the only table, votes from its ``category`` column, in which 0 is normal operation."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def table(path: Path) -> tuple[list[str], list[list[str]]]:
    lines = path.read_text().splitlines()
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    header, rows = table(root / row["source_file"])
    part = rows[row["context_start"] : row["context_stop"]]
    places = [header.index(name) for name in channels]
    values = np.array([[float(line[i]) for i in places] for line in part], np.float64).astype(np.float32)
    category = header.index("category")
    votes = Counter(
        "normal" if (n := int(float(line[category]))) == 0 else f"category_{n}"
        for line in rows[row["row_start"] : row["row_stop"]]
    )
    faults = sorted(((n, code) for code, n in votes.items() if code != "normal"), reverse=True)
    if not faults:
        return values, dict(votes), "Normal"
    unclear = len(faults) > 1 and faults[0][0] == faults[1][0]
    return values, dict(votes), None if unclear or faults[0][0] < votes["normal"] else faults[0][1]
