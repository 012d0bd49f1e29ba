"""Derives TelecomTS windows: one line of JSON is a window. Protocols are TCP 0, UDP 1, any other 2; missing numbers are
filled forward, then a leading gap backward; a series without numbers is 0."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def filled(series: list[Any]) -> list[float]:
    there = [x is not None and x == x for x in series]
    out: list[float] = []
    for step in range(len(series)):
        before = [i for i in range(step, -1, -1) if there[i]]
        after = [i for i in range(step, len(series)) if there[i]]
        out.append(float(series[(before or after)[0]]) if before or after else 0.0)
    return out


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    assert row["row_stop"] == row["row_start"] + 1
    record = json.loads(lines(root / row["source_file"])[row["row_start"]])
    columns = []
    for name in channels:
        series = record["KPIs"][name]
        if name.endswith("_Protocol"):
            series = [{"TCP": 0, "UDP": 1}.get(x, 2) for x in series]
        columns.append(filled(series))
    values = np.array(columns, np.float64).T.astype(np.float32)
    kind = record["anomalies"]["type"]
    return values, {kind or "normal": len(values)}, kind or "Normal"
