"""Label sensitivity: how many windows change class when a setting of the labelling changes.

The sweep reads everything of the curated recordings but their values, so it takes seconds. A changed rule is compared
window by window, a changed length with the window at the same centre, a changed stride with the nearest window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.recordings.segment import SegmentInfo
from readbench_data.recordings.shards import iter_info
from readbench_data.windows.index import label_windows
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.windowing import WindowPlan

CHANGES = ("fault to other fault", "fault to Normal", "Normal to fault", "class to dropped", "dropped to class")


@dataclass(frozen=True)
class Variant:
    """One changed setting: ``windows`` under it, how many were ``compared`` with the labels in force, and how many of
    these changed, by kind of change (``CHANGES``)."""

    setting: str
    windows: int
    compared: int
    changes: tuple[int, ...]

    @property
    def changed(self) -> int:
        """Windows that changed in any way."""
        return sum(self.changes)

    def plus(self, windows: int, changes: tuple[int, ...], compared: int) -> Variant:
        """The same setting with the counts of one more segment added."""
        total = tuple(a + b for a, b in zip(self.changes, changes, strict=True))
        return Variant(self.setting, self.windows + windows, self.compared + compared, total)


@dataclass(frozen=True)
class _Compared:
    """What one changed setting makes of one segment: ``windows`` under it, and classes ``before`` and ``after``, object
    [n], None where dropped."""

    setting: str
    windows: int
    before: np.ndarray
    after: np.ndarray


def sweep(shard: IO[bytes], labels: LabelMap, rule: Rule, length: int | None, stride: int | None) -> list[Variant]:
    """Every variant that applies to a dataset; none where windows and classes are the source's own.

    ``shard``: its curated recordings. ``rule``, ``length`` and ``stride`` (None: the same as the length) are those in
    force.
    """
    settings = _Settings(rule, labels, length, stride)
    counts: dict[str, Variant] = {}
    for segment in iter_info(shard):
        for found in settings.variants(segment):
            so_far = counts.get(found.setting, Variant(found.setting, 0, 0, (0,) * len(CHANGES)))
            counts[found.setting] = so_far.plus(found.windows, _changes(found.before, found.after), len(found.before))
    return list(counts.values())


@dataclass(frozen=True)
class _Settings:
    """The settings in force."""

    rule: Rule
    labels: LabelMap
    length: int | None
    stride: int | None

    def variants(self, segment: SegmentInfo) -> Iterator[_Compared]:
        """What each changed setting makes of one segment; nothing where it is shorter than a window."""
        starts, stops = WindowPlan(self.length, self.stride).bounds(segment)
        if len(starts) == 0 or self.rule.name == "native":
            return
        base = self._classes(segment, starts, stops)
        for name, rule in _rules(self.rule):
            yield _Compared(name, len(starts), base, self._classes(segment, starts, stops, rule))
        yield _Compared(
            "tie with Normal: to Normal", len(starts), base, self._ties_to_normal(segment, starts, stops, base)
        )
        if self.length is None:
            return
        for factor, name in ((0.5, "half"), (2, "twice")):
            steps = max(1, int(self.length * factor))
            if steps <= segment.steps:
                first = np.clip(starts + (self.length - steps) // 2, 0, segment.steps - steps)
                after = self._classes(segment, first, first + steps)
                yield _Compared(f"length {steps} ({name})", len(starts), base, after)
        if segment.window_starts is None:
            for factor, name in ((0.5, "half"), (2, "twice")):
                step = max(1, int((self.stride or self.length) * factor))
                first, stop = WindowPlan(self.length, step).bounds(segment)
                after = self._classes(segment, first, stop)
                yield _Compared(f"stride {step} ({name})", len(first), base[_nearest(starts, first)], after)

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
