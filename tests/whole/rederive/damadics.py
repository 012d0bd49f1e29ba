"""Derives DAMADICS windows: lines of a daily text file, whose first column is the second of the day. Faults are those
of the publisher's table, including their last second; of two overlapping faults the later one counts."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

FAULTS: list[tuple[str, str, int, int | None]] = [
    ("30102001", "f18", 58800, 59800),
    ("09112001", "f16", 57275, 57550),
    ("09112001", "f18", 58830, 58930),
    ("09112001", "f18", 58520, 58625),
    ("17112001", "f18", 54600, 54700),
    ("17112001", "f16", 56670, 56770),
    ("20112001", "f17", 37780, 38400),
    ("17112001", "f17", 53780, 53794),
    ("17112001", "f17", 54193, 54215),
    ("17112001", "f19", 55482, 55517),
    ("17112001", "f19", 55977, 56015),
    ("17112001", "f19", 57030, 57072),
    ("20112001", "f17", 44400, None),
    ("30102001", "f18", 57340, 57890),
    ("09112001", "f16", 60650, 60700),
    ("09112001", "f16", 60870, 60960),
    ("17112001", "f16", 57475, 57530),
    ("17112001", "f16", 57675, 57800),
    ("17112001", "f19", 58150, 58325),
]
"""Day, code, first and last second; without a last second the fault lasts to the end of the day."""


@cache
def day(path: Path, name: str) -> np.ndarray:
    with zipfile.ZipFile(path) as archive:
        (member,) = [n for n in archive.namelist() if n.endswith(f"{name}.txt")]
        lines = io.StringIO(archive.read(member).decode()).read().splitlines()
    return np.array([[float(x) for x in line.split()] for line in lines if line.strip()])


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    name = row["recording_id"].split("/")[0]
    lines = day(root / row["source_file"], name)
    values = lines[row["context_start"] : row["context_stop"], 1:].astype(np.float32)
    for place in range(values.shape[1]):  # fill forward, then a leading gap backward
        for step in [*range(1, len(values)), *range(len(values) - 2, -1, -1)]:
            other = step - 1 if step and not np.isnan(values[step - 1, place]) else min(step + 1, len(values) - 1)
            if np.isnan(values[step, place]):
                values[step, place] = values[other, place]
    assert values.shape[1] == len(channels) == 32
    seconds = [int(s) for s in lines[row["row_start"] : row["row_stop"], 0]]
    own = sorted((start, end if end is not None else 86399, code) for d, code, start, end in FAULTS if d == name)
    told = []
    for second in seconds:
        covering = [code for start, end, code in own if start <= second <= end]
        told.append(covering[-1] if covering else "normal")
    votes = Counter(told)
    classes = {vote["code"]: vote["class_label"] for vote in row["votes"]}
    assert all(label.startswith(f"{code} ") or code == "normal" for code, label in classes.items())
    faults = sorted(((n, code) for code, n in votes.items() if code != "normal"), reverse=True)
    if not faults:
        return values, dict(votes), "Normal"
    if faults[0][0] >= votes["normal"]:
        unclear = len(faults) > 1 and faults[0][0] == faults[1][0]
        return values, dict(votes), None if unclear else classes[faults[0][1]]
    short = []
    for start, end, code in own:
        inside = sum(start <= second <= end for second in seconds)
        if 2 * inside > end - start + 1:
            short.append((inside, code))
    short.sort(reverse=True)
    if not short or (len({code for n, code in short if n == short[0][0]}) > 1):
        return values, dict(votes), None
    return values, dict(votes), classes[short[0][1]]
