"""Derives Tennessee Eastman windows: R data read by the ``rdata`` library, classic tables as text. Faults act from
sample 20 (training) or 160 (testing) of Rieth's runs and of the classic test runs, and from the start of the classic
training runs; the twenty samples after that are the onset."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ONSET = 20


@cache
def frame(path: Path) -> pd.DataFrame:
    import rdata

    (table,) = rdata.read_rda(path).values()
    return pd.DataFrame(table)


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and the steady-state code of a window, from the files in ``root``."""
    path = root / row["source_file"]
    first, last = row["context_start"], row["context_stop"]
    if path.suffix == ".RData":
        part = frame(path).iloc[first:last]
        assert part["simulationRun"].nunique() == part["faultNumber"].nunique() == 1, "one run"
        faults = [int(f) for f in part["faultNumber"]]
        samples = [int(s) - 1 for s in part["sample"]]
        acts = 20 if "Training" in path.name else 160
        values = part[channels].to_numpy(np.float64)
    else:
        table = np.array([[float(x) for x in line.split()] for line in path.read_text().splitlines() if line.strip()])
        if path.name == "d00.dat":
            table = table.T  # this file has one row per variable
        assert table.shape[1] == len(channels) == 52
        faults = [int(path.name[1:3])] * (last - first)
        samples = list(range(first, last))
        acts = 160 if path.stem.endswith("_te") else 0
        values = table[first:last]
    votes: Counter[str] = Counter()
    for fault, sample in zip(faults, samples, strict=True):
        if fault == 0 or sample < acts:
            votes["0"] += 1
        else:
            votes[str(fault + (100 if sample < acts + ONSET else 0))] += 1
    merged = Counter(int(code) % 100 for code in votes.elements())
    (top, n), *others = merged.most_common()
    return values.astype(np.float32), dict(votes), None if others and others[0][1] == n else str(top)
