"""Derives CTSR series: one line of a tab-separated file without trailing NaN, gaps filled forward, then backward."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][1], vote and class of a series, from the original file in ``root``."""
    path = root / row["source_file"]
    assert row["context_stop"] == row["context_start"] + 1, "a series is one line"
    label, *cells = path.read_text().splitlines()[row["context_start"]].split("\t")
    numbers = [float(cell) for cell in cells]
    name = path.name.rpartition("_")[0]
    while numbers and math.isnan(numbers[-1]):
        numbers.pop()
    if name == "MelbournePedestrian":
        numbers = [math.nan if x == -1 else x for x in numbers]
    known = math.nan
    for at, number in enumerate(numbers):
        known = numbers[at] = known if math.isnan(number) else number
    known = math.nan
    for at in range(len(numbers) - 1, -1, -1):
        known = numbers[at] = known if math.isnan(numbers[at]) else numbers[at]
    code = f"{name}:{int(float(label))}"
    return np.array(numbers, np.float32)[:, None], {code: len(numbers)}, code
