"""Derives Exathlon windows: rows of a trace's CSV, mapped to whole seconds; a fault lasts from its root cause to the
end of its extended effect, both seconds included. Of two rows of the same second the greater value counts; -1 and
seconds without a row are missing; missing values are filled forward, then a leading gap backward."""

from __future__ import annotations

import csv
import io
import struct
import zipfile
import zlib
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

CLASSES = {
    "normal": "Normal",
    "bursty_input": "Bursty Input",
    "bursty_input_crash": "Bursty Input Until Crash",
    "stalled_input": "Stalled Input",
    "cpu_contention": "CPU Contention",
    "driver_failure": "Driver Failure",
    "executor_failure": "Executor Failure",
}


def text(path: Path) -> str:
    """Return the only CSV in an archive. The concatenated parts of a split one are a marker, a local header, the
    member."""
    parts = sorted(path.parent.glob(f"{path.stem}.z[0-9][0-9]"))
    if not parts:
        with zipfile.ZipFile(path) as archive:
            return archive.read(next(n for n in archive.namelist() if n.endswith(".csv"))).decode()
    whole = b"".join(p.read_bytes() for p in [*parts, path])
    header = whole.index(b"PK\x03\x04")
    name, extra = struct.unpack("<2H", whole[header + 26 : header + 30])
    return zlib.decompressobj(-15).decompress(whole[header + 30 + name + extra :]).decode()


@cache
def trace(path: Path, channels: tuple[str, ...]) -> tuple[list[int], np.ndarray]:
    """Return second and metrics of each row."""
    header, *rows = [line.split(",") for line in text(path).splitlines()]
    places = [metric(header, channel) for channel in channels]
    return [int(row[0]) for row in rows], np.array([[float(row[i] or "nan") for i in places] for row in rows])


@cache
def faults(root: Path) -> list[dict[str, str]]:
    (path,) = root.rglob("ground_truth.zip")
    return list(csv.DictReader(io.StringIO(text(path))))


def second(time: str) -> int:
    return int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp())


def metric(header: list[str], channel: str) -> int:
    """Return the column of a channel; the metrics of the stream have the name of the job after ``driver``."""
    if not channel.startswith("driver_StreamingMetrics"):
        return header.index(channel)
    (place,) = [i for i, c in enumerate(header) if c.startswith("driver_") and c.endswith(channel[len("driver") :])]
    return place


def rederive(root: Path, row: dict[str, Any], channels: list[str]) -> tuple[np.ndarray, dict[str, int], str | None]:
    """Return values [T][C], votes per raw code and class of a window, from the original files in ``root``."""
    path = root / row["source_file"]
    seconds, metrics = trace(path, tuple(channels))
    first, last = second(row["time_start"]), second(row["time_stop"]) - 1
    read: dict[int, np.ndarray] = {}
    for place in range(row["context_start"], row["context_stop"]):
        read[seconds[place]] = np.fmax(read.get(seconds[place], metrics[place]), metrics[place])
    read = {s: np.where(cells == -1, np.nan, cells) for s, cells in sorted(read.items())}
    held = np.full(len(channels), np.nan)
    for cells in reversed(read.values()):
        held = np.where(np.isnan(cells), held, cells)
    held = np.nan_to_num(held)  # the first value of every channel, 0 if it has none
    values = np.zeros((last - first + 1, len(channels)), np.float32)
    for s in range(min(first, *read), last + 1):
        if s in read:
            held = np.where(np.isnan(read[s]), held, read[s])
        if s >= first:
            values[s - first] = held
    told = ["normal"] * len(values)
    own = [
        (int(float(f["root_cause_start"])), int(float(f["extended_effect_end"] or f["root_cause_end"])), f)
        for f in faults(root)
        if f["trace_name"] == path.stem
    ]
    own.sort(key=lambda fault: fault[:2])
    for start, end, fault in own:  # of two faults the one that starts later counts
        for s in range(max(start, first), min(end, last) + 1):
            told[s - first] = fault["anomaly_type"]
    assert "unknown" not in told, "a window that touches an unknown anomaly has no class"
    votes = Counter(told)
    strong = sorted(((n, code) for code, n in votes.items() if code != "normal"), reverse=True)
    if not strong:
        return values, dict(votes), "Normal"
    if strong[0][0] < votes["normal"]:
        strong = []
        for start, end, fault in own:
            inside = min(end, last) - max(start, first) + 1
            if 2 * inside > end - start + 1 and fault["anomaly_type"] != "unknown":
                strong.append((inside, fault["anomaly_type"]))
        strong.sort(reverse=True)
    unclear = not strong or len({code for n, code in strong if n == strong[0][0]}) > 1
    return values, dict(votes), None if unclear else CLASSES[strong[0][1]]
