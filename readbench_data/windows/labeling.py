"""Labels of windows: from evidence to votes, and from votes to a class by a named rule (paper A.1.3).

``majority``           the class with most timesteps wins
``majority_of_beats``  the class with most beats wins
``short_fault``        as majority, but where Normal would win and more than ``coverage`` of an event is in the
                       window, its class wins; of several events, the one with most steps
``native``             the source's own class of an existing window

A tie between Normal and a fault goes to the fault; a tie between faults drops the window (``ambiguous``).
Normal needs ``normal_purity`` of the votes (1 by default, ours), else the window is dropped (``mixed``).
A window that touches an unlabelled step, or in which nothing votes, is dropped (``unlabelled``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.recordings.recording import BACKGROUND, Event, Evidence
from readbench_data.windows.outcomes import Reason
from readbench_data.windows.overlaps import Overlaps

RuleName = Literal["majority", "majority_of_beats", "short_fault", "native"]


@dataclass(frozen=True)
class Rule:
    """A labelling rule with its parameters, both fractions in [0, 1]."""

    name: RuleName
    coverage: float = 0.5
    normal_purity: float = 1.0


@dataclass(frozen=True)
class LabelMap:
    """Maps a source's codes to class labels. An onset code is merged by mapping it to the class of the steady code.

    ``classes``: code -> class_label, ``"Normal"`` for normal operation. ``open_vocabulary``: a code that is not listed
    is a class label itself (UCR, where every set has its own classes).
    """

    classes: Mapping[str, str]
    open_vocabulary: bool = False

    def label(self, code: str) -> str:
        """Return the class of a code. Raises KeyError for a code outside a closed vocabulary."""
        if code == BACKGROUND and code not in self.classes:
            return NORMAL
        if self.open_vocabulary and code not in self.classes:
            return code
        return self.classes[code]


@dataclass(frozen=True)
class Votes:
    """The votes of n windows: ``counts`` int64 [n][K] of steps (or beats) per code; ``codes``: the K raw codes,
    ``labels``: their classes. ``touched`` bool [n]: the window touches an unlabelled step."""

    codes: tuple[str, ...]
    labels: tuple[str, ...]
    counts: np.ndarray
    touched: np.ndarray


@dataclass(frozen=True)
class WindowLabels:
    """The class of n windows, or the reason why they have none.

    ``class_label`` and ``reason`` object [n] (one of the two is None); ``majority_share`` float64 [n], the share of
    the votes that the class has (the strongest class where the window is dropped), NaN where nothing voted; ``event``
    int64 [n], index into the evidence's spans of the event that the label comes from, -1 for none; ``coverage``
    float64 [n], the share of that event's extent inside the window.
    """

    class_label: np.ndarray
    reason: np.ndarray
    majority_share: np.ndarray
    event: np.ndarray
    coverage: np.ndarray

    def dropped(self, which: np.ndarray, why: Reason) -> WindowLabels:
        """The same, but the windows ``which`` (bool [n]) have no class, for the reason ``why``."""
        class_label, reason = self.class_label.copy(), self.reason.copy()
        class_label[which], reason[which] = None, why
        return replace(self, class_label=class_label, reason=reason)


def count_votes(evidence: Evidence, starts: np.ndarray, stops: np.ndarray, labels: LabelMap) -> Votes:
    """Return the votes of the windows [start, stop); ``starts`` and ``stops`` are sorted.

    Raises KeyError for a code without a class.
    """
    touched = _touches(evidence.unlabelled, starts, stops)
    if evidence.kind == "points":
        codes, counts = _count_points(evidence.spans, starts, stops)
    else:
        runs = _paint(evidence.spans) if evidence.kind == "events" else evidence.spans
        background = BACKGROUND if evidence.kind == "events" else None
        codes = _vocabulary(evidence.spans, background)
        counts = _count_runs(runs, starts, stops, codes, background)
    return Votes(codes, tuple(labels.label(c) for c in codes), counts, touched)


def apply_rule(rule: Rule, evidence: Evidence, votes: Votes, starts: np.ndarray, stops: np.ndarray) -> WindowLabels:
    """Return the class of every window, or the reason why it has none."""
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
    clear = fault_wins & ~tied
    if classes:
        label[clear] = names[winner[clear]]
    reason[fault_wins & tied] = Reason.AMBIGUOUS
    label[~fault_wins & (purity >= rule.normal_purity)] = NORMAL
    reason[~fault_wins & ~(purity >= rule.normal_purity)] = Reason.MIXED

    event = np.full(n, -1, np.int64)
    coverage = np.full(n, np.nan)
    if evidence.kind == "events" and evidence.spans:
        overlaps = Overlaps.find(evidence.spans, starts, stops)
        classes_of_events = np.array([_event_class(votes, e.code) for e in evidence.spans], object)
        if rule.name == "short_fault":
            faults_inside = overlaps.only(
                (overlaps.covered > rule.coverage)
                & ~fault_wins[overlaps.window]
                & (classes_of_events[overlaps.event] != NORMAL)
            )
            _take_short_faults(label, reason, faults_inside, classes_of_events)
            won = np.flatnonzero(~fault_wins & np.isin(label, names))
            own = np.searchsorted(names.astype(str), label[won].astype(str))
            share[won] = faults[won, own] / total[won]
        of_class = overlaps.only(classes_of_events[overlaps.event] == label[overlaps.window]).longest()
        event[of_class.window], coverage[of_class.window] = of_class.event, of_class.covered
    elif evidence.kind == "native" and evidence.spans:
        event[:] = 0

    hidden = votes.touched | (total == 0)
    label[hidden] = None
    reason[hidden] = Reason.UNLABELLED
    event[hidden], coverage[hidden] = -1, np.nan
    return WindowLabels(label, reason, share, event, coverage)


def _event_class(votes: Votes, code: str) -> str:
    return votes.labels[votes.codes.index(code)]


def _take_short_faults(label: np.ndarray, reason: np.ndarray, inside: Overlaps, classes: np.ndarray) -> None:
    """Give the windows of ``inside`` to the class of their longest event (in place); ambiguous where several tie.

    ``classes`` object [number of events].
    """
    longest = inside.longest()
    label[longest.window], reason[longest.window] = classes[longest.event], None
    ties = inside.as_long_as(longest)
    unclear = ties.window[classes[ties.event] != label[ties.window]]
    label[unclear], reason[unclear] = None, Reason.AMBIGUOUS


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
    """Steps per code, int64 [n][K], from sorted runs that do not overlap; other steps vote for ``background``."""
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
    """Number of steps of the sorted intervals [first, last) before each position ``at``."""
    done = np.concatenate([[0], np.cumsum(last - first)])
    run = np.searchsorted(first, at, side="right")
    inside = np.maximum(run - 1, 0)
    over = np.maximum(last[inside] - at, 0)
    return np.where(run > 0, done[run] - over, 0)


def _paint(events: Sequence[Event]) -> list[Event]:
    """Events as runs that do not overlap: where two do, the step goes to the one that starts later (ours)."""
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
