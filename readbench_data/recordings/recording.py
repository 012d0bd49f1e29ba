"""A recording: one continuous multichannel series of one source, and the evidence for its labels.

Evidence comes in four kinds, all held as a list of spans:

``dense``   a code per timestep, stored as runs; a step may have no code (the source's null)
``events``  labelled intervals on a background that is normal operation
``points``  annotations at single steps (heart beats)
``native``  the source's own class of the whole recording
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

NULL_CODE = -1
"""Code of a timestep without a label in the array given to :meth:`Evidence.dense`."""

BACKGROUND = "normal"
"""Code of the steps that no event covers."""

Kind = Literal["dense", "events", "points", "native"]


@dataclass(frozen=True)
class Event:
    """A labelled interval [start, stop) in steps of its recording; it may extend beyond either end."""

    code: str
    start: int
    stop: int
    event_id: str
    rca_target: str | None = None
    rca_affected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The source's labels for the steps of one recording.

    ``spans`` are runs (dense, without the unlabelled ones), events, beats (one step long) or the one native class,
    sorted by start. ``unlabelled`` are intervals without a label in the source: no window that touches one of them
    gets a class.
    """

    kind: Kind
    spans: tuple[Event, ...] = ()
    unlabelled: tuple[tuple[int, int], ...] = ()

    @classmethod
    def dense(cls, codes: np.ndarray, names: Mapping[int, str] | None = None) -> Evidence:
        """From one integer code per timestep, shape [T]; ``NULL_CODE`` where the source has none."""
        codes = np.asarray(codes)
        if codes.size == 0:
            return cls("dense")
        starts = np.concatenate([[0], np.flatnonzero(codes[1:] != codes[:-1]) + 1])
        stops = np.append(starts[1:], codes.size)
        spans, nulls = [], []
        for code, start, stop in zip(codes[starts].tolist(), starts.tolist(), stops.tolist(), strict=True):
            if code == NULL_CODE:
                nulls.append((start, stop))
            else:
                name = str(code) if names is None else names[code]
                spans.append(Event(name, start, stop, ""))
        return cls("dense", tuple(spans), tuple(nulls))

    @classmethod
    def events(cls, events: Iterable[Event], unlabelled: Sequence[tuple[int, int]] = ()) -> Evidence:
        """From labelled intervals; every step outside them is normal operation.

        Raises ValueError for an empty interval.
        """
        ordered = tuple(sorted(events, key=lambda e: (e.start, e.stop, e.event_id)))
        for event in ordered:
            if event.stop <= event.start:
                raise ValueError(f"event {event.event_id} is empty: [{event.start}, {event.stop})")
        return cls("events", ordered, tuple(unlabelled))

    @classmethod
    def points(
        cls,
        positions: np.ndarray,
        codes: Sequence[str],
        unlabelled: Sequence[tuple[int, int]] = (),
    ) -> Evidence:
        """From annotations at single steps: ``positions`` int [n] and a code for each."""
        spans = [Event(c, int(p), int(p) + 1, "") for p, c in zip(positions, codes, strict=True)]
        spans.sort(key=lambda e: e.start)
        return cls("points", tuple(spans), tuple(unlabelled))

    @classmethod
    def native(
        cls,
        code: str,
        steps: int,
        event_id: str = "",
        rca_target: str | None = None,
        rca_affected: Sequence[str] = (),
    ) -> Evidence:
        """The source's own class of an existing window of ``steps`` timesteps."""
        return cls("native", (Event(code, 0, steps, event_id, rca_target, tuple(rca_affected)),))

    def section(self, start: int, stop: int) -> Evidence:
        """Evidence for the steps [start, stop), renumbered from 0. Events keep their full extent."""
        kept = []
        for span in self.spans:
            if span.start >= stop or span.stop <= start:
                continue
            first, last = span.start, span.stop
            if self.kind in ("dense", "native"):
                first, last = max(first, start), min(last, stop)
            kept.append(replace(span, start=first - start, stop=last - start))
        holes = tuple(
            (max(a, start) - start, min(b, stop) - start) for a, b in self.unlabelled if a < stop and b > start
        )
        return Evidence(self.kind, tuple(kept), holes)


Time = np.datetime64 | float
"""A time of a source without zone, or seconds."""


@dataclass(frozen=True)
class Clock:
    """When each step was taken: explicit ``times`` [T], or ``start`` plus a regular ``step`` in seconds.

    Times are ``datetime64[ns]`` (the source's own, without zone) or float seconds. ``end``, for explicit times: the
    time of the step after the last one, where it is known because the recording goes on after this section.
    """

    start: Time = 0.0
    step: float = 1.0
    times: np.ndarray | None = None
    end: Time | None = None

    def section(self, start: int, stop: int) -> Clock:
        """The clock of the steps [start, stop), which keeps the time of step ``stop`` as its end."""
        if self.times is None:
            return replace(self, start=self._regular(np.array([start]))[0])
        end = self.times[stop] if stop < len(self.times) else self.stop_time()
        return replace(self, times=self.times[start:stop], end=end)

    def stop_time(self) -> Time:
        """Time of the step after the last one, for a clock of explicit times.

        Where the recording ends there is no such step. Then it is the last time plus the typical step: the median of
        the positive differences between successive times, 0 where there is none. This rule is ours.
        """
        assert self.times is not None
        if self.end is not None:
            return self.end
        times = self.times
        dated = np.issubdtype(times.dtype, np.datetime64)
        steps = np.diff(times.astype("datetime64[ns]").astype(np.int64) if dated else times)
        typical = np.median(steps[steps > 0]) if (steps > 0).any() else 0
        end: Time = times[-1] + (np.timedelta64(round(typical), "ns") if dated else typical)
        return end

    def _regular(self, indices: np.ndarray) -> np.ndarray:
        """Times of the given steps of a regular clock."""
        if isinstance(self.start, np.datetime64):
            offsets = np.round(indices * self.step * 1e9).astype("timedelta64[ns]")
            return np.asarray(self.start.astype("datetime64[ns]") + offsets)
        return np.asarray(float(self.start) + indices * self.step)

    def text(self, indices: np.ndarray) -> list[str]:
        """Times of the given steps as text: ISO 8601, or seconds such as ``12.8s``.

        The number of steps itself is a valid index: its time is that of the step after the last one.
        """
        indices = np.asarray(indices)
        if self.times is None:
            chosen = self._regular(indices)
        else:
            beyond = indices == len(self.times)
            chosen = self.times[np.where(beyond, len(self.times) - 1, indices)]
            if beyond.any():
                chosen = np.where(beyond, self.stop_time(), chosen)
        if np.issubdtype(chosen.dtype, np.datetime64):
            milliseconds = np.datetime_as_string(chosen.astype("datetime64[ms]"))
            return [t.removesuffix(".000") for t in milliseconds.tolist()]
        return [f"{t:.6f}".rstrip("0").rstrip(".") + "s" for t in chosen.tolist()]


@dataclass(frozen=True)
class UnitSpans:
    """Consecutive split units within one recording: unit ``names[i]`` starts at step ``starts[i]``.

    ``starts[0]`` is 0. A window that crosses from one unit into the next is dropped.
    """

    starts: tuple[int, ...]
    names: tuple[str, ...]

    def section(self, start: int, stop: int) -> UnitSpans:
        """The units of the steps [start, stop), renumbered from 0."""
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        last = int(np.searchsorted(self.starts, stop, side="left"))
        starts = tuple(max(s - start, 0) for s in self.starts[first:last])
        return UnitSpans(starts, self.names[first:last])


@dataclass(frozen=True)
class Recording:
    """One continuous multichannel series as its reader read it.

    ``values`` float32 or float64 [T][C], NaN where missing; ``channels``: C names; ``unit``: the split unit.
    ``rows`` int64 [T]: position of each step in ``source_file``, in the file's own unit (``row_unit``: row, line,
    frame, column or sample); ``row_stops``: the position after it. Without them step i is position ``first_row + i``.
    ``window_starts`` [n] replaces the stride where a source places its windows itself. ``extras`` must not reveal the
    class.

    Raises ValueError where shapes and names do not match.
    """

    recording_id: str
    values: np.ndarray
    channels: tuple[str, ...]
    evidence: Evidence
    unit: str | UnitSpans
    source_file: str
    source_sha256: str
    native_split: str | None = None
    clock: Clock | None = None
    first_row: int = 0
    rows: np.ndarray | None = None
    row_stops: np.ndarray | None = None
    window_starts: np.ndarray | None = None
    extras: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.channels):
            raise ValueError(
                f"{self.recording_id}: values of shape {self.values.shape} for {len(self.channels)} channels"
            )
        if len(set(self.channels)) != len(self.channels):
            raise ValueError(f"{self.recording_id}: a channel name occurs twice")
        for name, array in (("rows", self.rows), ("row_stops", self.row_stops)):
            if array is not None and len(array) != len(self.values):
                raise ValueError(f"{self.recording_id}: {name} has {len(array)} positions, not {len(self.values)}")

    @property
    def steps(self) -> int:
        return int(self.values.shape[0])
