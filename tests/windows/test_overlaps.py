"""Pairs of windows and events, against a loop over all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.recordings.recording import Event
from readbench_data.windows.overlaps import Overlaps

Pair = tuple[int, int, int, float]

events = st.lists(
    st.tuples(st.integers(-5, 25), st.integers(1, 12)).map(lambda e: Event("x", e[0], e[0] + e[1], "")), max_size=6
)
windows = st.tuples(st.integers(1, 10), st.integers(1, 6)).map(
    lambda plan: np.array([(s, s + plan[0]) for s in range(0, 24 - plan[0] + 1, plan[1])], np.int64)
)


def pairs(found: Overlaps) -> list[Pair]:
    columns = (found.window, found.event, found.steps, found.covered)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def looped(spans: list[Event], bounds: np.ndarray) -> list[Pair]:
    found = []
    for window, (start, stop) in enumerate(bounds.tolist()):
        for number, event in enumerate(spans):
            steps = len(set(range(start, stop)) & set(range(event.start, event.stop)))
            if steps:
                found.append((window, number, steps, steps / (event.stop - event.start)))
    return found


@given(events, windows)
def test_every_pair_that_shares_a_step_is_found(spans: list[Event], bounds: np.ndarray) -> None:
    found = Overlaps.find(spans, *bounds.T)
    assert sorted(pairs(found)) == looped(spans, bounds)


@given(events, windows)
def test_the_longest_event_of_each_window_and_those_as_long(spans: list[Event], bounds: np.ndarray) -> None:
    found = Overlaps.find(spans, *bounds.T)
    every = looped(spans, bounds)
    most = {w: max(steps for window, _, steps, _ in every if window == w) for w, *_ in every}
    longest = found.longest()
    expected = [next(p for p in every if p[0] == w and p[2] == steps) for w, steps in sorted(most.items())]
    assert pairs(longest) == expected, "one pair per window; the earlier event if equal"
    assert sorted(pairs(found.as_long_as(longest))) == [p for p in every if p[2] == most[p[0]]]


def test_by_hand() -> None:
    found = Overlaps.find([Event("a", 2, 6, ""), Event("b", 5, 7, "")], np.array([0, 4]), np.array([4, 8]))
    assert pairs(found) == [(0, 0, 2, 0.5), (1, 0, 2, 0.5), (1, 1, 2, 1.0)]
    assert pairs(found.longest()) == [(0, 0, 2, 0.5), (1, 0, 2, 0.5)]
    assert pairs(found.only(found.covered > 0.5)) == [(1, 1, 2, 1.0)]
