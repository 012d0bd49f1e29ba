"""Derives HAI 21.03 windows: rows of a gzipped table; a run of ones in the ``attack`` column is the attack of the
timetable with the nearest start, and its class is the first control loop named there."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def table(path: Path) -> tuple[list[str], list[list[str]], list[str]]:
    """Return header, rows, and the code of every row."""
    with gzip.open(path, "rt", newline="") as stream:
        header, *rows = list(csv.reader(stream))
    with (path.parent / "attack_timetable.csv").open(newline="") as stream:
        planned = [a for a in csv.DictReader(stream) if a["file"] == path.name.split(".")[0]]
    flag = header.index("attack")
    codes, run = ["normal"] * len(rows), None
    for place, row in enumerate(rows):
        if row[flag] == "1":
            if run is None:
                begin = datetime.fromisoformat(row[0])
                nearest = min(planned, key=lambda a: abs(datetime.fromisoformat(a["start"]) - begin))
                planned.remove(nearest)
                run = nearest["controllers"].split("+")[0]
            codes[place] = run
        else:
            run = None
    return header, rows, codes


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    header, rows, codes = table(root / row["source_file"])
    places = [header.index(name) for name in channels]
    part = rows[row["context_start"] : row["context_stop"]]
    values = np.array([[float(line[i]) for i in places] for line in part], np.float64).astype(np.float32)
    first, last = row["row_start"], row["row_stop"]
    votes = Counter(codes[first:last])
    classes = {vote["code"]: vote["class_label"] for vote in row["votes"]}
    assert all(label == "Normal" if code == "normal" else label.startswith(code) for code, label in classes.items())
    faults = sorted(((n, code) for code, n in votes.items() if code != "normal"), reverse=True)
    if not faults:
        return values, dict(votes), "Normal"
    if faults[0][0] < votes["normal"]:
        short = []
        start = first
        while start < last:
            if codes[start] == "normal":
                start += 1
                continue
            low, high = start, start
            while low > 0 and codes[low - 1] == codes[start]:
                low -= 1
            while high < len(codes) and codes[high] == codes[start]:
                high += 1
            inside = min(high, last) - max(low, first)
            if 2 * inside > high - low:
                short.append((inside, codes[start]))
            start = high
        faults = sorted(short, reverse=True)
    unclear = not faults or len({code for n, code in faults if n == faults[0][0]}) > 1
    return values, dict(votes), None if unclear else classes[faults[0][1]]
