"""The raw label evidence and the values of one window, from the curated recordings of its lane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from readbench_data.lane import INDEX, SHARD
from readbench_data.leakage.facts import is_current
from readbench_data.recordings.recording import BACKGROUND
from readbench_data.recordings.segment import Segment, SegmentInfo, cells_by_channel
from readbench_data.recordings.shards import iter_info, read_segments
from readbench_data.release.audit_row import AuditRow
from readbench_data.release.manifest import Manifest
from readbench_data.store.records import Record
from readbench_data.store.store import Stage, Store


class TouchedChannel(Record):
    """The number of steps of a window in which a channel was filled, and in which it had a sentinel."""

    channel: str
    filled: int
    masked: int


@dataclass(frozen=True)
class Trace:
    """``values`` float32 [T][C] of the window, None if they were not read; ``marks`` (start, stop, code) in steps of
    the window, from 0, in the order of the evidence; ``kind`` of evidence (``dense``, ``events``, ``points``,
    ``native``); ``unlabelled`` intervals; ``filled`` and ``masked`` cells bool [T][C], or None where there are none in
    the recording; ``own_unit`` before units were joined."""

    kind: str
    marks: tuple[tuple[int, int, str], ...]
    unlabelled: tuple[tuple[int, int], ...]
    values: np.ndarray | None
    channels: tuple[str, ...]
    filled: np.ndarray | None
    masked: np.ndarray | None
    own_unit: str

    def touched(self) -> list[TouchedChannel]:
        """Return the channels with filled cells or sentinels, those with most first."""
        none = np.zeros(len(self.channels), np.int64)
        filled, masked = (none if cells is None else cells.sum(axis=0) for cells in (self.filled, self.masked))
        rows = zip(self.channels, filled.tolist(), masked.tolist(), strict=True)
        found = [TouchedChannel(channel=name, filled=f, masked=m) for name, f, m in rows if f or m]
        return sorted(found, key=lambda one: (-max(one.filled, one.masked), one.channel))

    def strip(self, most: int = 12) -> str:
        """Return the label track as text: ``0-119 normal, 120-255 f16``, or beats with their steps (inclusive)."""
        if self.kind == "points":
            parts = [f"{code} at {start}" for start, _, code in self.marks]
        else:
            parts = [f"{a}-{b - 1} {code}" for a, b, code in self.marks]
        parts += [f"{a}-{b - 1} unlabelled" for a, b in self.unlabelled]
        if not parts:
            return "no annotation in the window" if self.kind == "points" else f"{BACKGROUND} throughout"
        more = f" and {len(parts) - most} more" if len(parts) > most else ""
        return ", ".join(parts[:most]) + more


def trace(store: Store, manifest: Manifest, row: AuditRow, values: bool = False) -> Trace | None:
    """Return the trace of an audit row; None if the lane of this release is not in the data root.

    ``values``: whether the window's values are read too.
    """
    name = row.dataset
    if not is_current(store, manifest, name):
        return None
    stages = {stage: Stage(store, name, stage) for stage in ("recordings", "windows")}
    done = {stage: found.current() for stage, found in stages.items()}
    places = {stage: stages[stage].place(record.key) for stage, record in done.items() if record is not None}
    with store.open_read(f"{places['windows']}/{INDEX}") as stream:
        found = (
            pl.scan_parquet(stream)
            .filter(pl.col("entry_id") == row.entry_id)
            .select("segment", "start", "stop", "unit")
            .collect()
        )
    if not found.height:
        return None
    number, start, stop, unit = found.row(0)
    with store.open_read(f"{places['recordings']}/{SHARD}") as stream:
        wanted = {(row.recording_id, number)}
        segment = next(read_segments(stream, wanted) if values else iter_info(stream, wanted), None)
    return None if segment is None else of_segment(segment, start, stop, unit)


def of_segment(segment: SegmentInfo, start: int, stop: int, unit: str) -> Trace:
    """Return the trace of the window [start, stop) of a curated segment, with values if the segment has them."""
    inside = [s for s in segment.evidence.spans if s.start < stop and s.stop > start]
    marks = tuple((max(s.start, start) - start, min(s.stop, stop) - start, s.code) for s in inside)
    holes = tuple(
        (max(a, start) - start, min(b, stop) - start) for a, b in segment.evidence.unlabelled if a < stop and b > start
    )
    if segment.evidence.kind == "events":
        marks = _with_background(marks, stop - start)
    part = slice(start, stop)
    filled, masked = (
        None if cells is None else cells_by_channel(cells[part], len(segment.channels))
        for cells in (segment.filled_cells, segment.masked_cells)
    )
    return Trace(
        segment.evidence.kind,
        marks,
        holes,
        segment.values[part].copy() if isinstance(segment, Segment) else None,
        segment.channels,
        filled,
        masked,
        unit,
    )


def _with_background(marks: tuple[tuple[int, int, str], ...], steps: int) -> tuple[tuple[int, int, str], ...]:
    """Return the events, with the intervals of normal operation between them."""
    out: list[tuple[int, int, str]] = []
    reached = 0
    for start, stop, code in sorted(marks):
        if start > reached:
            out.append((reached, start, BACKGROUND))
        out.append((start, stop, code))
        reached = max(reached, stop)
    if reached < steps:
        out.append((reached, steps, BACKGROUND))
    return tuple(out)
