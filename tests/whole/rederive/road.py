"""Derives ROAD windows: frames of a capture in tenths of a second, with the last value of every signal per tenth.
Missing values are filled forward, then a leading gap backward; a signal without values is 0. An accelerator attack
lasts for the whole capture, the others have the duration in metadata.json."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def capture(path: Path, channels: tuple[str, ...]) -> list[tuple[bool, int, list[tuple[int, float]]]]:
    """Return for each frame whether it is attacked, the tenth of a second, and the channels with their values."""
    place = {name: i for i, name in enumerate(channels)}
    frames = []
    with path.open(newline="") as stream:
        header, *rows = list(csv.reader(stream))
    assert header[:4] == ["Label", "Time", "ID", "Signal_1_of_ID"]
    for label, time, number, *cells in rows:
        held = [(place[f"id_{number}_{slot}"], float(cell)) for slot, cell in enumerate(cells, start=1) if cell]
        frames.append((label != "0", math.floor(float(time) * 10), held))
    return frames


@cache
def signals(root: Path) -> list[str]:
    """Return the channels in order: every signal of every id of the DBC."""
    (path,) = root.rglob("*.dbc")
    numbers: dict[int, int] = {}
    for line in path.read_text().splitlines():
        if found := re.match(r"BO_ (\d+) ", line):
            number = int(found[1])
            numbers[number] = 0
        elif line.startswith(" SG_ "):
            numbers[number] += 1
    return [f"id_{number}_{slot}" for number in sorted(numbers) for slot in range(1, numbers[number] + 1)]


@cache
def attack(path: Path, steps: int) -> tuple[str, int, int] | None:
    """Return the family, first and last step (exclusive) of a capture's attack."""
    if path.stem.startswith("ambient"):
        return None
    family = path.stem.split("_attack")[0]
    if family == "accelerator":
        return family, 0, steps
    start, end = json.loads((path.parent / "metadata.json").read_text())[path.stem]["injection_interval"]
    return family, math.floor(start * 10), math.ceil(end * 10)


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    path = root / row["source_file"]
    assert channels == signals(root)
    frames = capture(path, tuple(channels))
    first, stop = (round(10 * float(row[name].rstrip("s"))) for name in ("time_start", "time_stop"))
    last = stop - 1
    read: dict[int, np.ndarray] = {}
    for _, step, cells in frames[row["context_start"] : row["context_stop"]]:
        own = read.setdefault(step, np.full(len(channels), np.nan))
        for place, value in cells:
            own[place] = value
    held = np.full(len(channels), np.nan)
    for own in reversed(read.values()):
        held = np.where(np.isnan(own), held, own)
    held = np.nan_to_num(held)  # the first value of every signal, 0 if it has none
    values = np.zeros((last - first + 1, len(channels)), np.float32)
    for step in range(min(first, *read), last + 1):
        if step in read:
            held = np.where(np.isnan(read[step]), held, read[step])
        if step >= first:
            values[step - first] = held
    event = attack(path, frames[-1][1])
    told = [event[0] if event and event[1] <= s < event[2] else "normal" for s in range(first, last + 1)]
    for attacked, step, _ in frames[row["row_start"] : row["row_stop"]]:
        if attacked and (event is None or not event[1] - 1 <= step <= event[2]):
            raise AssertionError("a window with an attacked frame outside the attack has no class")
    votes = Counter(told)
    if event is None or not votes[event[0]]:
        return values, dict(+votes), "Normal"
    won = votes[event[0]] >= votes["normal"] or 2 * votes[event[0]] > event[2] - event[1]
    return values, dict(+votes), event[0] if won else None
