"""Label sensitivity: how many windows change class when a setting of the labelling changes.

The sweep reads everything of the curated recordings but their values, so it takes seconds. A changed rule is compared
window by window, a changed length with the window at the same centre, the new windows of a smaller stride with the
nearest window, and a moved grid with the window that was moved. (A stride that is twice as long selects from the same
windows, so it changes no label.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import IO

import numpy as np
import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.recordings.segment import SegmentInfo
from readbench_data.recordings.shards import iter_info
from readbench_data.windows.index import label_windows
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.windowing import WindowPlan

CHANGES = ("fault to other fault", "fault to Normal", "Normal to fault", "class to dropped", "dropped to class")


MOVES = (1, 2, 4, 8, 16, 32)
"""Steps by which windows are moved, in both directions, to find how far each is from another class."""

GRID = (4, 16)
"""Steps by which the grid is moved as a row of the sweep."""

Starts = Mapping[tuple[str, int], np.ndarray]
"""First steps of windows by (recording, segment)."""

FRAGILE: dict[str, type[pl.DataType]] = {
    "recording_id": pl.String,
    "segment": pl.Int64,
    "start": pl.Int64,
    "class_label": pl.String,
    "reason": pl.String,
    "moved": pl.Int64,
    "becomes": pl.String,
}


@dataclass(frozen=True)
class Variant:
    """One changed setting: ``windows`` under it, how many were ``compared`` with the labels in force, and how many of
    these changed, by kind of change (``CHANGES``). ``published`` of the compared windows are queries or corpus entries;
    ``published_changed`` of these changed. ``classes``: compared windows per class, before and after."""

    setting: str
    windows: int
    compared: int
    changes: tuple[int, ...]
    published: int = 0
    published_changed: int = 0
    classes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """Windows that changed in any way."""
        return sum(self.changes)

    def plus(self, found: _Compared) -> Variant:
        """The same setting with the counts of one more segment added."""
        own = _changes(found.before, found.after)
        differ = (found.before != found.after) & found.published
        before, after = (Counter(x for x in labels.tolist() if x) for labels in (found.before, found.after))
        names = {*self.classes, *before, *after}
        total = {n: self.classes.get(n, (0, 0)) for n in sorted(names)}
        return Variant(
            self.setting,
            self.windows + found.windows,
            self.compared + len(found.before),
            tuple(a + b for a, b in zip(self.changes, own, strict=True)),
            self.published + int(found.published.sum()),
            self.published_changed + int(differ.sum()),
            {n: (a + before[n], b + after[n]) for n, (a, b) in total.items()},
        )


@dataclass(frozen=True)
class _Compared:
    """What one changed setting makes of one segment: ``windows`` under it, and classes ``before`` and ``after``, object
    [n], None where dropped; ``published`` bool [n]."""

    setting: str
    windows: int
    before: np.ndarray
    after: np.ndarray
    published: np.ndarray


def sweep(
    shard: IO[bytes],
    labels: LabelMap,
    rule: Rule,
    length: int | None,
    stride: int | None,
    published: Starts | None = None,
) -> list[Variant]:
    """Every variant that applies to a dataset; none where windows and classes are the source's own.

    ``shard``: its curated recordings. ``rule``, ``length`` and ``stride`` (None: the same as the length) are those in
    force. ``published``: the windows that are in the release.
    """
    settings = _Settings(rule, labels, length, stride)
    counts: dict[str, Variant] = {}
    for segment in iter_info(shard):
        own = (published or {}).get((segment.recording_id, segment.number), np.zeros(0, np.int64))
        for found in settings.variants(segment, own):
            so_far = counts.get(found.setting, Variant(found.setting, 0, 0, (0,) * len(CHANGES)))
            counts[found.setting] = so_far.plus(found)
    return list(counts.values())


def fragile(shard: IO[bytes], labels: LabelMap, rule: Rule, length: int | None, stride: int | None) -> pl.DataFrame:
    """Return the windows that get another class, or are dropped, or get one, if they are moved by a few steps.

    Columns ``FRAGILE``: ``moved`` is the smallest number of ``MOVES`` (in either direction) that changes the outcome,
    negative towards earlier steps; ``becomes`` the class or the reason then. Dropped windows are included.
    """
    settings = _Settings(rule, labels, length, stride)
    parts = [settings.moved(segment) for segment in iter_info(shard)]
    return pl.concat([pl.DataFrame(schema=FRAGILE), *(part for part in parts if part is not None)])


@dataclass(frozen=True)
class _Settings:
    """The settings in force."""

    rule: Rule
    labels: LabelMap
    length: int | None
    stride: int | None

    def variants(self, segment: SegmentInfo, published: np.ndarray) -> Iterator[_Compared]:
        """What each changed setting makes of one segment; nothing where it is shorter than a window."""
        starts, stops = WindowPlan(self.length, self.stride).bounds(segment)
        if len(starts) == 0 or self.rule.name == "native":
            return
        base, there = self._classes(segment, starts, stops), np.isin(starts, published)
        for name, rule in _rules(self.rule):
            yield _Compared(name, len(starts), base, self._classes(segment, starts, stops, rule), there)
        ties = self._ties_to_normal(segment, starts, stops, base)
        yield _Compared("tie with Normal: dropped, not the fault", len(starts), base, ties, there)
        if self.length is None:
            return
        for factor, name in ((0.5, "half"), (2, "twice")):
            steps = max(1, int(self.length * factor))
            if steps <= segment.steps:
                first = np.clip(starts + (self.length - steps) // 2, 0, segment.steps - steps)
                after = self._classes(segment, first, first + steps)
                yield _Compared(f"length {steps} ({name})", len(starts), base, after, there)
        if segment.window_starts is None:
            step = max(1, (self.stride or self.length) // 2)
            first, stop = WindowPlan(self.length, step).bounds(segment)
            new = ~np.isin(first, starts)
            before, after = base[_nearest(starts, first[new])], self._classes(segment, first[new], stop[new])
            nothing = np.zeros(len(before), bool)
            yield _Compared(f"stride {step} (half), new windows", len(first), before, after, nothing)
        for move in (m for m in GRID if m < self.length):
            inside = stops + move <= segment.steps
            after = self._classes(segment, starts[inside] + move, stops[inside] + move)
            yield _Compared(f"grid moved by {move}", len(starts), base[inside], after, there[inside])

    def moved(self, segment: SegmentInfo) -> pl.DataFrame | None:
        """The fragile windows of one segment."""
        starts, stops = WindowPlan(self.length, self.stride).bounds(segment)
        if len(starts) == 0 or self.rule.name == "native" or self.length is None:
            return None
        base = label_windows(segment, starts, stops, self.rule, self.labels)[1]
        was = np.where(base.class_label != None, base.class_label, base.reason)  # noqa: E711 - element by element
        moved, becomes = np.zeros(len(starts), np.int64), np.full(len(starts), None, object)
        for move in (way * m for m in MOVES if m < self.length for way in (1, -1)):
            at = np.flatnonzero((moved == 0) & (starts + move >= 0) & (stops + move <= segment.steps))
            if not len(at):
                continue
            found = label_windows(segment, starts[at] + move, stops[at] + move, self.rule, self.labels)[1]
            now = np.where(found.class_label != None, found.class_label, found.reason)  # noqa: E711
            # A dropped window that is dropped for another reason has no other class.
            other = (now != was[at]) & ((base.class_label[at] != None) | (found.class_label != None))  # noqa: E711
            moved[at[other]], becomes[at[other]] = move, now[other]
        hit = moved != 0
        return pl.DataFrame(
            {
                "recording_id": [segment.recording_id] * int(hit.sum()),
                "segment": [segment.number] * int(hit.sum()),
                "start": starts[hit],
                "class_label": base.class_label[hit].tolist(),
                "reason": [None if r is None else str(r) for r in base.reason[hit]],
                "moved": moved[hit],
                "becomes": [str(b) for b in becomes[hit]],
            },
            schema=FRAGILE,
        )

    def _classes(
        self, segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, rule: Rule | None = None
    ) -> np.ndarray:
        """Classes of windows as the index has them, object [n]; None where dropped."""
        return label_windows(segment, starts, stops, rule or self.rule, self.labels)[1].class_label

    def _ties_to_normal(
        self, segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, base: np.ndarray
    ) -> np.ndarray:
        """The classes ``base``, but a window whose fault has as many votes as Normal does not get the fault; it is not
        pure either, so it is dropped."""
        votes = label_windows(segment, starts, stops, self.rule, self.labels)[0]
        normals = votes.counts[:, [label == NORMAL for label in votes.labels]].sum(axis=1)
        result = base.copy()
        for label in sorted(set(votes.labels) - {NORMAL}):
            own = votes.counts[:, [other == label for other in votes.labels]].sum(axis=1)
            result[(base == label) & (own == normals)] = None
        return result


def _rules(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """The rule with one parameter changed, each with its name."""
    if rule.name == "short_fault":
        for coverage in (0.25, 0.75):
            yield f"coverage {coverage:g}", replace(rule, coverage=coverage)
    for purity in (0.9, 0.5):
        yield f"normal_purity {purity:g}", replace(rule, normal_purity=purity)


def _nearest(starts: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Position in the sorted ``starts`` of the one nearest to each of ``others``, the earlier one if equal."""
    at = np.clip(np.searchsorted(starts, others, side="right") - 1, 0, len(starts) - 1)
    later = np.minimum(at + 1, len(starts) - 1)
    return np.where(np.abs(starts[later] - others) < np.abs(starts[at] - others), later, at)


def _changes(before: np.ndarray, after: np.ndarray) -> tuple[int, ...]:
    """How many windows changed, by kind, in the order of ``CHANGES``."""
    was, now = before != None, after != None  # noqa: E711 - element by element
    normal_was, normal_now = before == NORMAL, after == NORMAL
    differ = was & now & (before != after)
    kinds = (
        differ & ~normal_was & ~normal_now,
        differ & normal_now,
        differ & normal_was,
        was & ~now,
        ~was & now,
    )
    return tuple(int(kind.sum()) for kind in kinds)
