"""Evidence to votes, votes to a class, by a named rule (paper A.1.3).

``majority``           the class with most timesteps
``majority_of_beats``  the class with most beats
``short_fault``        as majority, but where Normal would win, an event of which more than ``coverage`` of
                       its own extent lies in the window takes it; of several, the one with most steps
``native``             the source's own class of an existing window

A tie between Normal and a fault goes to the fault; a tie between faults drops the window (``ambiguous``).
Normal needs ``normal_purity`` of the votes (1 by default, ours), else the window is dropped (``mixed``).
A window that touches an unlabelled step, or has no vote at all, is dropped (``unlabelled``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.recordings.recording import BACKGROUND, Event, Evidence
from readbench_data.windows.outcomes import Reason

RuleName = Literal["majority", "majority_of_beats", "short_fault", "native"]


@dataclass(frozen=True)
class Rule:
    """A window-label rule with its parameters (fractions in [0, 1])."""

    name: RuleName
    coverage: float = 0.5
    normal_purity: float = 1.0


@dataclass(frozen=True)
class LabelMap:
    """From a source's codes to class labels. Onset codes are merged by giving them the steady code's class.

    ``classes``: code -> class_label, ``"Normal"`` for normal operation. ``open_vocabulary``: codes that are
    not listed are class labels already (UCR, where a set brings its own classes).
    """

    classes: Mapping[str, str]
    open_vocabulary: bool = False

    def label(self, code: str) -> str:
        """Class of a code; KeyError for a code outside a closed vocabulary."""
        if code == BACKGROUND and code not in self.classes:
            return NORMAL
        if self.open_vocabulary and code not in self.classes:
            return code
        return self.classes[code]


@dataclass(frozen=True)
class Votes:
    """``counts`` int64 [n windows, K codes] of steps (or beats); ``codes`` K raw codes with their classes.

    ``touched`` bool [n]: the window touches an unlabelled step.
    """

    codes: tuple[str, ...]
    labels: tuple[str, ...]
    counts: np.ndarray
    touched: np.ndarray


@dataclass(frozen=True)
class Labels:
    """The outcome of a rule for n windows.

    ``class_label`` and ``reason`` object [n] (one of the two is None); ``majority_share`` float64 [n], the
    share of the votes that the class has (of the strongest class where the window is dropped), NaN where nothing
    voted; ``event`` int64 [n], index into the evidence's spans of the event that stands for
    the label, -1 for none; ``coverage`` float64 [n], the share of that event's extent inside the window.
    """

    class_label: np.ndarray
    reason: np.ndarray
    majority_share: np.ndarray
    event: np.ndarray
    coverage: np.ndarray


def count_votes(evidence: Evidence, starts: np.ndarray, stops: np.ndarray, labels: LabelMap) -> Votes:
    """Votes of every window [starts, stops); both must be sorted."""
    touched = _touches(evidence.unlabelled, starts, stops)
    if evidence.kind == "points":
        codes, counts = _count_points(evidence.spans, starts, stops)
    else:
        runs = _paint(evidence.spans) if evidence.kind == "events" else evidence.spans
        background = BACKGROUND if evidence.kind == "events" else None
        codes = _vocabulary(evidence.spans, background)
        counts = _count_runs(runs, starts, stops, codes, background)
    return Votes(codes, tuple(labels.label(c) for c in codes), counts, touched)


def apply_rule(rule: Rule, evidence: Evidence, votes: Votes, starts: np.ndarray, stops: np.ndarray) -> Labels:
    """The class of every window, or the reason why it has none."""
    n = len(starts)
    classes = sorted(set(votes.labels) - {NORMAL})
    normal = votes.counts[:, [i for i, c in enumerate(votes.labels) if c == NORMAL]].sum(axis=1)
    faults = np.zeros((n, len(classes)), np.int64)
    for column, name in enumerate(classes):
        faults[:, column] = votes.counts[:, [i for i, c in enumerate(votes.labels) if c == name]].sum(axis=1)
    total = normal + faults.sum(axis=1)
    best = faults.max(axis=1, initial=0)
    winner = faults.argmax(axis=1) if classes else np.zeros(n, np.int64)
    tied = (faults == best[:, None]).sum(axis=1) > 1 if classes else np.zeros(n, bool)

    label = np.full(n, None, object)
    reason = np.full(n, None, object)
    with np.errstate(invalid="ignore", divide="ignore"):
        purity = normal / total
        share = np.maximum(normal, best) / total
    fault_wins = (best >= normal) & (best > 0)
    names = np.array(classes, object)
    sure = fault_wins & ~tied
    if classes:
        label[sure] = names[winner[sure]]
    reason[fault_wins & tied] = Reason.AMBIGUOUS
    label[~fault_wins & (purity >= rule.normal_purity)] = NORMAL
    reason[~fault_wins & ~(purity >= rule.normal_purity)] = Reason.MIXED

    event = np.full(n, -1, np.int64)
    coverage = np.full(n, np.nan)
    if evidence.kind == "events" and evidence.spans:
        window, index, steps, covered = _overlaps(evidence.spans, starts, stops)
        span_labels = np.array([_span_label(votes, s.code) for s in evidence.spans], object)
        if rule.name == "short_fault":
            _take_short_faults(rule, label, reason, ~fault_wins, window, index, steps, covered, span_labels)
            won = np.flatnonzero(~fault_wins & np.isin(label, names))
            own = np.searchsorted(names.astype(str), label[won].astype(str))
            share[won] = faults[won, own] / total[won]
        _name_events(label, event, coverage, window, index, steps, covered, span_labels)
    elif evidence.kind == "native" and evidence.spans:
        event[:] = 0

    hidden = votes.touched | (total == 0)
    label[hidden] = None
    reason[hidden] = Reason.UNLABELLED
    event[hidden], coverage[hidden] = -1, np.nan
    return Labels(label, reason, share, event, coverage)


def _span_label(votes: Votes, code: str) -> str:
    return votes.labels[votes.codes.index(code)]


def _take_short_faults(
    rule: Rule,
    label: np.ndarray,
    reason: np.ndarray,
    open_windows: np.ndarray,
    window: np.ndarray,
    index: np.ndarray,
    steps: np.ndarray,
    covered: np.ndarray,
    span_labels: np.ndarray,
) -> None:
    """Give windows that Normal would win to the event that lies mostly inside them (in place)."""
    fits = (covered > rule.coverage) & open_windows[window] & (span_labels[index] != NORMAL)
    window, index, steps = window[fits], index[fits], steps[fits]
    if window.size == 0:
        return
    order = np.lexsort((-steps, window))
    window, index, steps = window[order], index[order], steps[order]
    first = np.flatnonzero(np.diff(window, prepend=-1))
    top = np.repeat(steps[first], np.diff(np.append(first, window.size)))
    at_top = steps == top
    for begin, end in zip(first.tolist(), np.append(first[1:], window.size).tolist(), strict=True):
        candidates = set(span_labels[index[begin:end][at_top[begin:end]]].tolist())
        target = window[begin]
        if len(candidates) == 1:
            label[target], reason[target] = candidates.pop(), None
        else:
            label[target], reason[target] = None, Reason.AMBIGUOUS


def _name_events(
    label: np.ndarray,
    event: np.ndarray,
    coverage: np.ndarray,
    window: np.ndarray,
    index: np.ndarray,
    steps: np.ndarray,
    covered: np.ndarray,
    span_labels: np.ndarray,
) -> None:
    """The event with most steps among those of the window's class (in place); the earlier one if equal."""
    same = span_labels[index] == label[window]
    window, index, steps, covered = window[same], index[same], steps[same], covered[same]
    order = np.lexsort((index, -steps, window))
    window, index, covered = window[order], index[order], covered[order]
    first = np.flatnonzero(np.diff(window, prepend=-1))
    event[window[first]] = index[first]
    coverage[window[first]] = covered[first]


def _touches(intervals: Sequence[tuple[int, int]], starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    if not intervals:
        return np.zeros(len(starts), bool)
    bounds = np.array(sorted(intervals), np.int64)
    reach = np.maximum.accumulate(bounds[:, 1])
    before = np.searchsorted(bounds[:, 0], stops, side="left")
    latest = np.where(before > 0, reach[np.maximum(before - 1, 0)], -1)
    return latest > starts


def _vocabulary(spans: Sequence[Event], background: str | None) -> tuple[str, ...]:
    codes = {s.code for s in spans}
    if background is not None:
        codes.add(background)
    return tuple(sorted(codes))


def _count_points(spans: Sequence[Event], starts: np.ndarray, stops: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    codes = _vocabulary(spans, None)
    position = np.fromiter((s.start for s in spans), np.int64, len(spans))
    number = {c: i for i, c in enumerate(codes)}
    code = np.fromiter((number[s.code] for s in spans), np.int64, len(spans))
    counts = np.empty((len(starts), len(codes)), np.int64)
    for k in range(len(codes)):
        own = position[code == k]
        counts[:, k] = np.searchsorted(own, stops) - np.searchsorted(own, starts)
    return codes, counts


def _count_runs(
    runs: Sequence[Event], starts: np.ndarray, stops: np.ndarray, codes: tuple[str, ...], background: str | None
) -> np.ndarray:
    """Steps per code from non-overlapping sorted runs; uncovered steps vote for ``background`` if given."""
    counts = np.zeros((len(starts), len(codes)), np.int64)
    first = np.fromiter((r.start for r in runs), np.int64, len(runs))
    last = np.fromiter((r.stop for r in runs), np.int64, len(runs))
    code = np.array([codes.index(r.code) for r in runs], np.int64)
    for k in range(len(codes)):
        own = code == k
        if own.any():
            counts[:, k] = _steps_before(first[own], last[own], stops) - _steps_before(first[own], last[own], starts)
    if background is not None:
        counts[:, codes.index(background)] += (stops - starts) - counts.sum(axis=1)
    return counts


def _steps_before(first: np.ndarray, last: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Steps of the sorted intervals [first, last) that lie before each position ``at``."""
    done = np.concatenate([[0], np.cumsum(last - first)])
    run = np.searchsorted(first, at, side="right")
    inside = np.maximum(run - 1, 0)
    over = np.maximum(last[inside] - at, 0)
    return np.where(run > 0, done[run] - over, 0)


def _paint(events: Sequence[Event]) -> list[Event]:
    """Events as non-overlapping runs: where two overlap, the one that starts later has the step (ours)."""
    runs: list[Event] = []
    for event in events:
        tail: list[Event] = []
        while runs and runs[-1].stop > event.start:
            earlier = runs.pop()
            if earlier.stop > event.stop:
                tail.append(_cut(earlier, max(event.stop, earlier.start), earlier.stop))
            if earlier.start < event.start:
                runs.append(_cut(earlier, earlier.start, event.start))
                break
        runs.append(event)
        runs.extend(reversed(tail))
    return runs


def _cut(event: Event, start: int, stop: int) -> Event:
    return Event(event.code, start, stop, event.event_id, event.rca_target, event.rca_affected)


def _overlaps(
    spans: Sequence[Event], starts: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every (window, event) pair that shares a step: window, event, shared steps, share of the event."""
    first = np.fromiter((s.start for s in spans), np.int64, len(spans))
    last = np.fromiter((s.stop for s in spans), np.int64, len(spans))
    low = np.searchsorted(stops, first, side="right")
    high = np.searchsorted(starts, last, side="left")
    number = np.maximum(high - low, 0)
    index = np.repeat(np.arange(len(spans)), number)
    offset = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    window = low[index] + offset
    steps = np.minimum(stops[window], last[index]) - np.maximum(starts[window], first[index])
    covered = steps / (last - first)[index]
    kept = steps > 0
    return window[kept], index[kept], steps[kept], covered[kept]
