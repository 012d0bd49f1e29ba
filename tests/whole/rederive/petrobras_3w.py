"""Derives Petrobras 3W windows: the unchanged rows of one Parquet instance. A window contains no dropped row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and the steady-state code of a window, from the files in ``root``."""
    instance = pd.read_parquet(root / row["source_file"])
    part = instance.iloc[row["context_start"] : row["context_stop"]]
    seven = ["P-PDG", "P-TPT", "T-TPT", "P-MON-CKP", "T-JUS-CKP", "P-JUS-CKGL", "QGL"]
    possible = {"P": (0.0, 1e8), "T": (-50.0, 250.0), "Q": (-1.0, 10.0)}
    live = []
    for name in seven:
        low, high = possible[name[0]]
        series = instance[name].astype(float)
        series = series[(series >= low) & (series <= high) & ~series.isin([-999.0, -99.99])]
        if series.nunique() > 1:
            live.append(name)
            assert part[name].isin(series).all(), f"{name} holds a value that should have been dropped"
    assert channels == live, "channels that are absent or frozen in the instance are removed, the others kept in order"
    values = np.stack([part[name].to_numpy(np.float64).astype(np.float32) for name in channels], axis=1)
    codes = instance["class"].iloc[row["row_start"] : row["row_stop"]]
    votes = Counter(str(int(code)) for code in codes)
    merged = Counter(code % 100 for code in codes.astype(int))
    faults = [(n, code) for code, n in merged.items() if code]
    top = max(faults, default=(0, 0))
    unclear = sum(n == top[0] for n, _ in faults) > 1 or (faults and top[0] < merged[0])
    return values, dict(votes), None if unclear else str(top[1])
