"""Derives voraus-AD windows: a cycle is the rows of one ``sample``, its class their ``category``; a window has its
first rows, and a shorter cycle is padded with its last row."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NAMES = [
    *("AXIS_FRICTION", "AXIS_WEIGHT", "COLLISION_FOAM", "COLLISION_CABLE", "COLLISION_CARTON", "MISS_CAN"),
    *("LOSE_CAN", "CAN_WEIGHT", "ENTANGLED", "INVALID_POSITION", "MOTOR_COMMUTATION", "WOBBLING_STATION", "Normal"),
]
STEPS = 1024


@cache
def table(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path)


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    cycles = table(root / row["source_file"])
    assert list(cycles.columns[8:]) == channels, "the signals in the order of the file"
    cycle = cycles[cycles["sample"] == int(row["recording_id"].removeprefix("sample_"))]
    first = int(np.flatnonzero((cycles["sample"] == cycle["sample"].iloc[0]).to_numpy())[0])
    assert (row["row_start"], row["row_stop"]) == (first, first + min(len(cycle), STEPS))
    kept = [min(i, len(cycle) - 1) for i in range(STEPS)]
    values = cycle[channels].to_numpy(np.float64)[kept].astype(np.float32)
    (category,) = set(cycle["category"])
    return values, {str(int(category)): STEPS}, NAMES[int(category)]
