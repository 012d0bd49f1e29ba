"""Where windows start and stop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.recordings.segment import Segment
from readbench_data.windows.windowing import WindowPlan


def segment(steps: int, window_starts: list[int] | None = None) -> Segment:
    starts = None if window_starts is None else np.array(window_starts)
    recording = Recording(
        "r", np.ones((steps, 1)), ("a",), Evidence.native("x", steps), "u", "f", "0", window_starts=starts
    )
    (found,) = curate(recording, Curation())
    return found


def bounds(plan: WindowPlan, steps: int, window_starts: list[int] | None = None) -> list[tuple[int, int]]:
    starts, stops = plan.bounds(segment(steps, window_starts))
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def test_by_hand() -> None:
    assert bounds(WindowPlan(4), 11) == [(0, 4), (4, 8)]
    assert bounds(WindowPlan(4, 3), 11) == [(0, 4), (3, 7), (6, 10)]
    assert bounds(WindowPlan(4, 3), 3) == []
    assert bounds(WindowPlan(4, 3), 4) == [(0, 4)]
    assert bounds(WindowPlan(None), 11) == [(0, 11)]


def test_starts_that_a_recording_names_replace_the_stride() -> None:
    assert bounds(WindowPlan(4, 1), 10, [6, 2, 7, -1]) == [(2, 6), (6, 10)]


@given(st.integers(1, 60), st.integers(1, 20), st.integers(1, 20))
def test_windows_are_whole_evenly_placed_and_none_is_left_out(steps: int, length: int, stride: int) -> None:
    found = bounds(WindowPlan(length, stride), steps)
    assert found == [(s, s + length) for s in range(0, steps, stride) if s + length <= steps]


def test_a_window_without_steps_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one step"):
        WindowPlan(0)
    with pytest.raises(ValueError, match="at least one step"):
        WindowPlan(4, 0)
