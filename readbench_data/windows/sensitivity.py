"""Label sensitivity: how many windows change class when a setting of the labelling changes.

The sweep reads the label evidence of the curated recordings and none of their values, so it takes seconds. A changed
rule is compared window by window; a changed length at the same centre; a changed stride with the nearest window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.recordings.recording import UnitSpans
from readbench_data.recordings.segment import SegmentInfo
from readbench_data.recordings.shards import iter_info
from readbench_data.windows.labeling import LabelMap, Rule, apply_rule, count_votes
from readbench_data.windows.windowing import WindowPlan

CHANGES = ("fault to other fault", "fault to Normal", "Normal to fault", "class to dropped", "dropped to class")


@dataclass(frozen=True)
class Variant:
    """One changed setting: ``windows`` under it, ``compared`` with the labels in force, and of these how many changed
    by kind of change (``CHANGES``)."""

    setting: str
    windows: int
    compared: int
    changes: tuple[int, ...]

    @property
    def changed(self) -> int:
        return sum(self.changes)


@dataclass
class _Count:
    windows: int = 0
    compared: int = 0
    changes: np.ndarray | None = None

    def add(self, windows: int, before: np.ndarray, after: np.ndarray) -> None:
        self.windows += windows
        self.compared += len(before)
        found = _changes(before, after)
        self.changes = found if self.changes is None else self.changes + found


def sweep(shard: IO[bytes], labels: LabelMap, rule: Rule, length: int | None, stride: int | None) -> list[Variant]:
    """Every variant that applies to a dataset; none where windows and classes are the source's own.

    ``shard``: its curated recordings. ``rule``, ``length`` and ``stride`` (None: as long as a window) are those in
    force.
    """
    counts: dict[str, _Count] = {}
    for segment in iter_info(shard):
        starts, stops = WindowPlan(length, stride).bounds(segment)
        if len(starts) == 0:
            continue
        base = _label(segment, starts, stops, rule, labels)
        for setting, (windows, before, after) in _variants(segment, starts, stops, base, rule, labels, length, stride):
            counts.setdefault(setting, _Count()).add(windows, before, after)
    return [
        Variant(setting, c.windows, c.compared, tuple(int(n) for n in c.changes))
        for setting, c in counts.items()
        if c.changes is not None
    ]


Compared = tuple[int, np.ndarray, np.ndarray]


def _variants(
    segment: SegmentInfo,
    starts: np.ndarray,
    stops: np.ndarray,
    base: np.ndarray,
    rule: Rule,
    labels: LabelMap,
    length: int | None,
    stride: int | None,
) -> Iterator[tuple[str, Compared]]:
    """What each changed setting makes of one segment."""
    if rule.name != "native":
        for name, other in _rules(rule):
            yield name, (len(starts), base, _label(segment, starts, stops, other, labels))
        yield "tie with Normal: to Normal", (len(starts), base, _ties_to_normal(segment, starts, stops, base, labels))
    if length is None or rule.name == "native":
        return
    for factor, told in ((0.5, "half"), (2, "twice")):
        steps = max(1, int(length * factor))
        if steps <= segment.steps:
            first = np.clip(starts + (length - steps) // 2, 0, segment.steps - steps)
            yield (
                f"length {steps} ({told})",
                (
                    len(starts),
                    base,
                    _label(segment, first, first + steps, rule, labels),
                ),
            )
    if segment.window_starts is None:
        for factor, told in ((0.5, "half"), (2, "twice")):
            step = max(1, int((stride or length) * factor))
            first = np.arange(0, segment.steps - length + 1, step, dtype=np.int64)
            after = _label(segment, first, first + length, rule, labels)
            at = np.clip(np.searchsorted(starts, first, side="right") - 1, 0, len(starts) - 1)
            later = np.minimum(at + 1, len(starts) - 1)
            at = np.where(np.abs(starts[later] - first) < np.abs(starts[at] - first), later, at)
            yield f"stride {step} ({told})", (len(first), base[at], after)


def _rules(rule: Rule) -> Iterable[tuple[str, Rule]]:
    """The rule with one parameter changed, each with its name."""
    if rule.name == "short_fault":
        for coverage in (0.25, 0.75):
            yield f"coverage {coverage:g}", replace(rule, coverage=coverage)
    for purity in (0.9, 0.5):
        yield f"normal_purity {purity:g}", replace(rule, normal_purity=purity)


def _label(segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, rule: Rule, labels: LabelMap) -> np.ndarray:
    """Classes of windows, object [n]; None where dropped."""
    outcome = apply_rule(rule, segment.evidence, count_votes(segment.evidence, starts, stops, labels), starts, stops)
    found = outcome.class_label
    if isinstance(segment.unit, UnitSpans):
        first = np.searchsorted(segment.unit.starts, starts, side="right")
        last = np.searchsorted(segment.unit.starts, stops - 1, side="right")
        names = np.array(segment.unit.names, object)
        found[names[first - 1] != names[last - 1]] = None
    return found


def _ties_to_normal(
    segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, base: np.ndarray, labels: LabelMap
) -> np.ndarray:
    """As in force, but a window whose fault has as many votes as Normal is not the fault's; it is not pure either,
    so it is dropped."""
    votes = count_votes(segment.evidence, starts, stops, labels)
    normal = np.array([label == NORMAL for label in votes.labels], bool)
    result = base.copy()
    normals = votes.counts[:, normal].sum(axis=1)
    for label in sorted(set(votes.labels) - {NORMAL}):
        own = votes.counts[:, np.array([x == label for x in votes.labels], bool)].sum(axis=1)
        result[(base == label) & (own == normals)] = None
    return result


def _changes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """How many windows changed, by kind, int64 [5] in the order of ``CHANGES``."""
    was, now = before != None, after != None  # noqa: E711 - element by element
    normal_was, normal_now = before == NORMAL, after == NORMAL
    differ = was & now & (before != after)
    return np.array(
        [
            (differ & ~normal_was & ~normal_now).sum(),
            (differ & normal_now).sum(),
            (differ & normal_was).sum(),
            (was & ~now).sum(),
            (~was & now).sum(),
        ],
        np.int64,
    )
