"""Derives RCAEval windows: one table per case, named by its folder ``service_fault``; the fault acts from the first row
at or after the second of the injection. Missing numbers are filled forward within the case, then a leading gap
backward; metrics that a case does not measure are 0."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


@cache
def case(path: Path) -> tuple[pd.DataFrame, float]:
    table = pd.read_csv(path).astype(np.float64).replace([np.inf, -np.inf], np.nan)
    table = table[: int(np.flatnonzero(table["time"].notna())[-1]) + 1]
    return table, float((path.parent / "inject_time.txt").read_text())


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    path = root / row["source_file"]
    table, injected = case(path)
    part = slice(row["row_start"], row["row_stop"])
    values = np.zeros((row["row_stop"] - row["row_start"], len(channels)), np.float32)
    for place, name in enumerate(channels):
        if name in table:
            values[:, place] = table[name].ffill().bfill().fillna(0).to_numpy()[part].astype(np.float32)
    fault = path.parent.parent.name.rpartition("_")[2]
    first = int(np.flatnonzero((table["time"] >= injected).to_numpy())[0])
    votes = Counter(fault if i >= first else "normal" for i in range(row["row_start"], row["row_stop"]))
    classes = {vote["code"]: vote["class_label"] for vote in row["votes"]}
    assert classes.get("normal", "Normal") == "Normal"
    if not votes[fault]:
        return values, dict(+votes), "Normal"
    return values, dict(+votes), classes[fault] if votes[fault] >= votes["normal"] else None
