"""Curation: turns a recording as it was read into segments whose values are all finite.

Two policies, both from paper A.1.1. ``fill``: forward fill within a series, backward fill of a leading gap, 0 for
channels without any value. ``drop_rows`` (Petrobras 3W): out-of-range sentinels become missing, channels that are
entirely missing or constant are removed, and rows in which a value is still missing are dropped, never interpolated.
A dropped row splits the recording in two; no window spans the gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np

from readbench_data.recordings.channel_tally import ChannelTallies, ChannelTally
from readbench_data.recordings.recording import Recording
from readbench_data.recordings.segment import Segment, SegmentInfo, pack_cells

FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class ValidRange:
    """In channels whose name matches ``pattern``, values outside [low, high] are sentinels."""

    pattern: str
    low: float
    high: float


@dataclass(frozen=True)
class Curation:
    """How the recordings of one source are curated before windows are cut.

    ``channels``: the channels to use, in this order, or None for all. ``ranges``: the first one that matches a
    channel applies. ``sentinel_values``: exact values that mean missing. ``drop_dead_channels``: remove channels that
    are entirely missing or constant in the recording.
    """

    missing: Literal["fill", "drop_rows"] = "fill"
    channels: tuple[str, ...] | None = None
    ranges: tuple[ValidRange, ...] = ()
    sentinel_values: tuple[float, ...] = ()
    drop_dead_channels: bool = False


@dataclass(frozen=True)
class _Touched:
    """What curation did to each step of a recording: the arrays of :class:`SegmentInfo`."""

    filled: np.ndarray | None
    masked: np.ndarray
    filled_cells: np.ndarray | None
    masked_cells: np.ndarray | None
    context: np.ndarray | None

    def section(self, start: int, stop: int) -> dict[str, np.ndarray | None]:
        """The arrays of the steps [start, stop), by name. A context exists only where the recording stays whole."""
        part = slice(start, stop)
        masked = self.masked[part].any()
        return {
            "filled": None if self.filled is None else self.filled[part],
            "masked": self.masked[part] if masked else None,
            "filled_cells": None if self.filled_cells is None else self.filled_cells[part],
            "masked_cells": self.masked_cells[part] if self.masked_cells is not None and masked else None,
            "context": self.context,
        }


@dataclass
class CurationReport:
    """Counts over the recordings of one source, for the manifest and Dagster."""

    recordings: int = 0
    segments: int = 0
    steps: int = 0
    kept_steps: int = 0
    dropped_rows: int = 0
    filled_cells: int = 0
    sentinel_cells: int = 0
    removed_channels: int = 0
    empty_recordings: int = 0


def curate(
    recording: Recording,
    policy: Curation,
    report: CurationReport | None = None,
    tallies: ChannelTallies | None = None,
) -> Iterator[Segment]:
    """Yield the curated segments of a recording; none where nothing usable is left.

    The counts of this recording are added to ``report`` and, per channel, to ``tallies``.
    """
    report = report if report is not None else CurationReport()
    report.recordings += 1
    report.steps += recording.steps
    values, channels = _select(recording, policy)
    masked = sentinels(values, channels, policy)  # before any cast to float32
    if masked.any():
        values = np.where(masked, np.nan, values)
    missing = np.isnan(values)
    low, high = _extremes(values)
    kept = low < high if policy.drop_dead_channels else np.ones(len(channels), bool)
    if tallies is not None:
        tallies.add(_tally(recording, policy, channels, missing, masked, low == high, kept))
    if not kept.all():
        report.removed_channels += int((~kept).sum())
        values, masked, missing = values[:, kept], masked[:, kept], missing[:, kept]
        channels = tuple(c for c, keep in zip(channels, kept, strict=True) if keep)
    masked_steps = masked.sum(axis=1, dtype=np.int32)
    report.sentinel_cells += int(masked_steps.sum())
    if values.shape[0] == 0 or values.shape[1] == 0:
        report.empty_recordings += 1
        return
    if policy.missing == "drop_rows":
        runs = _complete_runs(missing)
        report.dropped_rows += recording.steps - sum(stop - start for start, stop in runs)
        filled = context = filled_cells = None
    else:
        values, context = _fill(values, missing)
        filled = None if context is None else missing.sum(axis=1, dtype=np.int32)
        filled_cells = None if context is None else pack_cells(missing)
        report.filled_cells += int(filled.sum()) if filled is not None else 0
        runs = [(0, recording.steps)]
    masked_cells = pack_cells(masked) if masked_steps.any() else None
    touched = _Touched(filled, masked_steps, filled_cells, masked_cells, context)
    if not runs:
        report.empty_recordings += 1
    for number, (start, stop) in enumerate(runs):
        report.segments += 1
        report.kept_steps += stop - start
        info = _info(recording, number, start, stop, channels, touched)
        yield info.with_values(np.ascontiguousarray(values[start:stop], dtype=np.float32))


def _extremes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each channel, NaN where it has none."""
    if len(values) == 0:
        return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)


def _tally(
    recording: Recording,
    policy: Curation,
    channels: tuple[str, ...],
    missing: np.ndarray,
    masked: np.ndarray,
    constant: np.ndarray,
    kept: np.ndarray,
) -> ChannelTally:
    without, sentinel = missing.sum(axis=0), masked.sum(axis=0)
    return ChannelTally(
        recording_id=recording.recording_id,
        source_file=recording.source_file,
        rows=recording.steps,
        channels=channels,
        missing=without - sentinel,
        masked=sentinel,
        filled=without if policy.missing == "fill" else np.zeros_like(without),
        constant=constant,
        removed=~kept,
    )


def _select(recording: Recording, policy: Curation) -> tuple[np.ndarray, tuple[str, ...]]:
    if policy.channels is None:
        return recording.values, recording.channels
    position = {name: i for i, name in enumerate(recording.channels)}
    kept = tuple(name for name in policy.channels if name in position)
    return recording.values[:, [position[name] for name in kept]], kept


def sentinels(values: np.ndarray, channels: tuple[str, ...], policy: Curation) -> np.ndarray:
    """Return which values are outside their channel's valid range, a sentinel value, or too large for float32; bool
    [T][C]."""
    with np.errstate(invalid="ignore"):
        masked = np.abs(values) > FLOAT32_MAX
    if policy.ranges or policy.sentinel_values:
        for column, channel in enumerate(channels):
            series = values[:, column]
            allowed = next((r for r in policy.ranges if fnmatchcase(channel, r.pattern)), None)
            if allowed is not None:
                masked[:, column] |= (series < allowed.low) | (series > allowed.high)
            if policy.sentinel_values:
                with np.errstate(over="ignore"):
                    masked[:, column] |= np.isin(series, np.asarray(policy.sentinel_values, series.dtype))
    return masked


def _complete_runs(missing: np.ndarray) -> list[tuple[int, int]]:
    """Longest possible runs [start, stop) of rows without a missing value; ``missing`` bool [T][C]."""
    complete = ~missing.any(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], complete, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _fill(values: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Fill forward, fill a leading gap backward, and fill a channel without any value with 0.

    Returns the values and the context of each step (see :class:`SegmentInfo`), None where nothing is missing.
    """
    gaps = np.flatnonzero(missing.any(axis=0))
    if gaps.size == 0:
        return values, None
    values = values.copy()
    steps = np.arange(values.shape[0])
    first = steps.copy()
    last = steps + 1
    for column in gaps:
        present = ~missing[:, column]
        if not present.any():
            values[:, column] = 0.0
            continue
        origin = np.maximum.accumulate(np.where(present, steps, -1))
        leading = int(np.argmax(present))
        origin[:leading] = leading
        values[:, column] = values[origin, column]
        np.minimum(first, origin, out=first)
        np.maximum(last, origin + 1, out=last)
    return values, np.stack([first, last], axis=1)


def _info(
    recording: Recording, number: int, start: int, stop: int, channels: tuple[str, ...], touched: _Touched
) -> SegmentInfo:
    """The steps [start, stop) of a recording as its segment ``number``."""
    whole = start == 0 and stop == recording.steps
    part = slice(start, stop)
    starts = recording.window_starts
    if starts is not None and not whole:
        starts = starts[(starts >= start) & (starts < stop)] - start
    return SegmentInfo(
        recording_id=recording.recording_id,
        number=number,
        steps=stop - start,
        channels=channels,
        evidence=recording.evidence if whole else recording.evidence.section(start, stop),
        unit=recording.unit if whole or isinstance(recording.unit, str) else recording.unit.section(start, stop),
        source_file=recording.source_file,
        source_sha256=recording.source_sha256,
        native_split=recording.native_split,
        clock=None if recording.clock is None else recording.clock.section(start, stop),
        first_row=recording.first_row + start,
        rows=None if recording.rows is None else recording.rows[part],
        row_stops=None if recording.row_stops is None else recording.row_stops[part],
        window_starts=starts,
        extras=dict(recording.extras),
        **touched.section(start, stop),
    )
