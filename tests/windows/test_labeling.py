"""The rules, checked by hand and against a loop over every timestep."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.entry import NORMAL
from readbench_data.recordings.recording import BACKGROUND, NULL_CODE, Event, Evidence
from readbench_data.windows.labeling import LabelMap, Rule, apply_rule, count_votes
from readbench_data.windows.outcomes import Reason

AMBIGUOUS, MIXED, UNLABELLED = Reason.AMBIGUOUS, Reason.MIXED, Reason.UNLABELLED

MAJORITY = Rule("majority")
CLASSES = LabelMap({"0": NORMAL, "1": "leak", "101": "leak", "2": "clog"})
FAULTS = LabelMap({"1": "leak", "2": "clog", "3": "crack"})


@dataclass(frozen=True)
class Outcome:
    label: str | None
    reason: str | None
    share: float
    event: int
    coverage: float


def outcomes(
    evidence: Evidence, windows: list[tuple[int, int]], labels: LabelMap, rule: Rule = MAJORITY
) -> list[Outcome]:
    starts, stops = np.array(windows, np.int64).reshape(-1, 2).T
    votes = count_votes(evidence, starts, stops, labels)
    found = apply_rule(rule, evidence, votes, starts, stops)
    columns = (found.class_label, found.reason, found.majority_share, found.event, found.coverage)
    return [Outcome(*row) for row in zip(*(c.tolist() for c in columns), strict=True)]


def verdicts(codes: list[int], **rule: float) -> list[str | None]:
    """Label or reason of every complete window of four steps."""
    windows = [(i, i + 4) for i in range(0, len(codes) - 3, 4)]
    found = outcomes(Evidence.dense(np.array(codes)), windows, CLASSES, Rule("majority", **rule))
    return [o.label or o.reason for o in found]


def test_majority_by_hand() -> None:
    windows = ["0000", "0111", "0011", "0001", "1122", "0012", "000-"]
    codes = [NULL_CODE if c == "-" else int(c) for c in "".join(windows)]
    assert verdicts(codes) == [NORMAL, "leak", "leak", MIXED, AMBIGUOUS, MIXED, UNLABELLED]


def test_a_null_step_hides_a_window_even_where_a_fault_has_the_rest() -> None:
    assert verdicts([1, 1, 1, NULL_CODE]) == [UNLABELLED]


def test_onset_and_steady_code_vote_together_and_are_counted_apart() -> None:
    evidence = Evidence.dense(np.array([101, 1, 2, 2, 101]))
    starts, stops = np.array([0]), np.array([5])
    votes = count_votes(evidence, starts, stops, CLASSES)
    assert dict(zip(votes.codes, votes.counts[0].tolist(), strict=True)) == {"1": 1, "101": 2, "2": 2}
    found = outcomes(evidence, [(0, 5)], CLASSES)[0]
    assert (found.label, found.reason, found.share, found.event) == ("leak", None, 0.6, -1)


def test_normal_purity_lets_a_mixed_window_be_normal() -> None:
    assert verdicts([0, 0, 0, 1], normal_purity=0.75) == [NORMAL]
    assert verdicts([0, 0, 0, 1], normal_purity=0.76) == [MIXED]


def test_a_code_outside_the_vocabulary_is_an_error_and_never_a_class() -> None:
    with pytest.raises(KeyError, match="9"):
        verdicts([0, 0, 0, 9])
    assert LabelMap({}, open_vocabulary=True).label("Coffee/1") == "Coffee/1"
    assert LabelMap({}).label(BACKGROUND) == NORMAL
    assert LabelMap({BACKGROUND: "idle"}).label(BACKGROUND) == "idle"


def test_majority_of_beats() -> None:
    beats = Evidence.points(np.array([1, 3, 5, 7, 11, 13, 15]), ["0", "1", "0", "1", "1", "2", "0"])
    found = outcomes(beats, [(0, 8), (8, 12), (11, 15), (12, 16), (16, 20)], CLASSES, Rule("majority_of_beats"))
    assert [o.label or o.reason for o in found] == ["leak", "leak", AMBIGUOUS, "clog", UNLABELLED]


def test_an_unlabelled_stretch_of_points_hides_its_windows() -> None:
    beats = Evidence.points(np.array([1, 9]), ["0", "0"], unlabelled=[(0, 4)])
    found = outcomes(beats, [(0, 8), (4, 12)], CLASSES, Rule("majority_of_beats"))
    assert [o.label or o.reason for o in found] == [UNLABELLED, NORMAL]


def test_native_class() -> None:
    found = outcomes(Evidence.native("2", 7, "case 4"), [(0, 7)], CLASSES, Rule("native"))
    assert (found[0].label, found[0].event, found[0].share) == ("clog", 0, 1.0)


def test_a_short_fault_wins_only_with_more_than_half_of_itself() -> None:
    """An event of four steps: the window holds two of them (half: no), three (yes), four (yes)."""
    evidence = Evidence.events([Event("1", 18, 22, "e")])
    windows = [(0, 20), (1, 21), (2, 22), (18, 38), (19, 39), (20, 40)]
    short = outcomes(evidence, windows, FAULTS, Rule("short_fault"))
    assert [o.label or o.reason for o in short] == [MIXED, "leak", "leak", "leak", "leak", MIXED]
    assert [o.coverage for o in short if o.label] == [0.75, 1.0, 1.0, 0.75]
    assert [o.share for o in short if o.label] == [3 / 20, 4 / 20, 4 / 20, 3 / 20]
    plain = outcomes(evidence, windows, FAULTS)
    assert {o.label or o.reason for o in plain} == {MIXED}
    strict = outcomes(evidence, windows, FAULTS, Rule("short_fault", coverage=0.9))
    assert [o.label or o.reason for o in strict] == [MIXED, MIXED, "leak", "leak", MIXED, MIXED]


def test_of_several_short_faults_the_one_with_most_steps_wins_and_equal_ones_are_ambiguous() -> None:
    three, two, other = Event("1", 2, 5, "a"), Event("2", 8, 10, "b"), Event("3", 12, 15, "c")
    window = [(0, 20)]
    rule = Rule("short_fault")
    assert outcomes(Evidence.events([three, two]), window, FAULTS, rule)[0].label == "leak"
    assert outcomes(Evidence.events([three, other]), window, FAULTS, rule)[0].reason == AMBIGUOUS
    again = Event("1", 12, 15, "d")
    same = outcomes(Evidence.events([three, again]), window, FAULTS, rule)[0]
    assert (same.label, same.event) == ("leak", 0), "two events of one class: that class, the earlier event"


def test_an_event_may_reach_past_the_recording() -> None:
    found = outcomes(Evidence.events([Event("1", -90, 10, "e")]), [(0, 16)], FAULTS, Rule("short_fault"))
    assert (found[0].label, found[0].coverage) == ("leak", 0.1), "the majority by steps, a tenth of its extent"


def test_where_events_overlap_the_later_start_has_the_step() -> None:
    outer, inner = Event("1", 0, 10, "o"), Event("2", 4, 7, "i")
    votes = count_votes(Evidence.events([outer, inner]), np.array([0]), np.array([12]), FAULTS)
    assert dict(zip(votes.codes, votes.counts[0].tolist(), strict=True)) == {"1": 7, "2": 3, BACKGROUND: 2}


def test_an_event_wholly_covered_by_a_later_one_still_has_a_class() -> None:
    """Entirely covered, it has no vote, but the short-fault rule and the naming of events still use its class."""
    evidence = Evidence.events([Event("1", 2, 4, "a"), Event("2", 2, 6, "b")])
    found = outcomes(evidence, [(0, 5), (0, 16)], FAULTS, Rule("short_fault"))
    assert [(o.label, o.event) for o in found] == [("clog", 1), ("clog", 1)]


def plain_codes(evidence: Evidence, steps: int) -> list[list[str]]:
    """The code of every step, as lists because a step may have none (null, no beat)."""
    codes: list[list[str]] = [[BACKGROUND] if evidence.kind == "events" else [] for _ in range(steps)]
    for span in evidence.spans:
        for step in range(max(span.start, 0), min(span.stop, steps)):
            codes[step] = codes[step] + [span.code] if evidence.kind == "points" else [span.code]
    return codes


def plain_outcome(evidence: Evidence, start: int, stop: int, steps: int, labels: LabelMap, rule: Rule) -> Outcome:
    """The rules of the design, written as a loop."""
    codes = plain_codes(evidence, steps)
    votes = Counter(labels.label(code) for step in range(start, stop) for code in codes[step])
    hidden = any(first <= step < last for step in range(start, stop) for first, last in evidence.unlabelled)
    total = sum(votes.values())
    if hidden or total == 0:
        return Outcome(None, UNLABELLED, np.nan, -1, np.nan)
    normal = votes.pop(NORMAL, 0)
    best = max(votes.values(), default=0)
    label, reason, share = None, None, max(normal, best) / total
    inside = []
    if evidence.kind == "events":
        for number, e in enumerate(evidence.spans):
            shared = min(e.stop, stop) - max(e.start, start)
            if shared > 0:
                inside.append((shared, number, shared / (e.stop - e.start), labels.label(e.code)))
    if best and best >= normal:
        leaders = [c for c, n in votes.items() if n == best]
        label, reason = (leaders[0], None) if len(leaders) == 1 else (None, AMBIGUOUS)
    else:
        label, reason = (NORMAL, None) if normal / total >= rule.normal_purity else (None, MIXED)
        fitting = [i for i in inside if i[2] > rule.coverage] if rule.name == "short_fault" else []
        if fitting:
            most = max(i[0] for i in fitting)
            leaders = sorted({i[3] for i in fitting if i[0] == most})
            label, reason = (leaders[0], None) if len(leaders) == 1 else (None, AMBIGUOUS)
            share = most / total if label else share
    event, coverage = -1, np.nan
    of_class = [i for i in inside if i[3] == label]
    if of_class:
        _, event, coverage, _ = max(of_class, key=lambda i: (i[0], -i[1]))
    return Outcome(label, reason, share, event, coverage)


STEPS = 24
windows = st.tuples(st.integers(1, 10), st.integers(1, 6)).map(
    lambda plan: [(s, s + plan[0]) for s in range(0, STEPS - plan[0] + 1, plan[1])]
)
dense = st.lists(st.sampled_from([NULL_CODE, 0, 0, 1, 2, 101]), min_size=STEPS, max_size=STEPS).map(
    lambda codes: Evidence.dense(np.array(codes))
)
stretches = st.lists(
    st.tuples(st.integers(0, STEPS - 1), st.integers(1, 3)).map(lambda p: (p[0], p[0] + p[1])), max_size=1
)
event = st.builds(
    lambda code, start, length, name: Event(code, start, start + length, name),
    st.sampled_from("123"),
    st.integers(-5, STEPS + 2),
    st.integers(1, 12),
    st.sampled_from("abcdef"),
)
events = st.builds(Evidence.events, st.lists(event, max_size=6), stretches)
points = st.builds(
    lambda placed, holes: Evidence.points(np.array([p for p, _ in placed], int), [c for _, c in placed], holes),
    st.lists(st.tuples(st.integers(0, STEPS - 1), st.sampled_from(["0", "1", "2"])), max_size=14),
    stretches,
)
rules = st.builds(
    Rule,
    st.sampled_from(["majority", "short_fault"]),
    st.sampled_from([0.0, 0.25, 0.5, 0.75]),
    st.sampled_from([1.0, 0.75, 0.5]),
)


@settings(max_examples=400)
@given(st.one_of(dense, events, points), windows, rules)
def test_every_rule_against_a_loop_over_timesteps(
    evidence: Evidence, bounds: list[tuple[int, int]], rule: Rule
) -> None:
    labels = FAULTS if evidence.kind == "events" else CLASSES
    found = outcomes(evidence, bounds, labels, rule)
    expected = [plain_outcome(evidence, start, stop, STEPS, labels, rule) for start, stop in bounds]
    for window, one, other in zip(bounds, found, expected, strict=True):
        assert (one.label, one.reason, one.event) == (other.label, other.reason, other.event), window
        if one.reason != UNLABELLED:
            assert [one.share, one.coverage] == pytest.approx([other.share, other.coverage], nan_ok=True), window


@settings(max_examples=200)
@given(st.one_of(dense, events, points), windows)
def test_votes_against_a_loop_over_timesteps(evidence: Evidence, bounds: list[tuple[int, int]]) -> None:
    starts, stops = np.array(bounds).T
    labels = FAULTS if evidence.kind == "events" else CLASSES
    votes = count_votes(evidence, starts, stops, labels)
    codes = plain_codes(evidence, STEPS)
    for row, (start, stop) in zip(votes.counts.tolist(), bounds, strict=True):
        counted = Counter(code for step in range(start, stop) for code in codes[step])
        assert {c: n for c, n in zip(votes.codes, row, strict=True) if n} == dict(counted)


@given(events, windows)
def test_a_section_of_the_evidence_labels_its_windows_alike(evidence: Evidence, bounds: list[tuple[int, int]]) -> None:
    """A dropped row splits a recording in two; the windows of each part keep their class and their coverage."""
    cut = bounds[len(bounds) // 2][0]
    rest = [(a, b) for a, b in bounds if a >= cut]
    whole = outcomes(evidence, rest, FAULTS, Rule("short_fault"))
    part = outcomes(evidence.section(cut, STEPS), [(a - cut, b - cut) for a, b in rest], FAULTS, Rule("short_fault"))
    for one, other in zip(whole, part, strict=True):
        assert (one.label, one.reason) == (other.label, other.reason)
        assert one.coverage == pytest.approx(other.coverage, nan_ok=True)
