"""The unit of a window is that of its first step; it crosses where its last step is in another unit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.recordings.recording import UnitSpans
from readbench_data.windows.window_units import WindowUnits


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), min_size=1, max_size=5), st.integers(1, 8))
def test_against_a_loop_over_steps(spans: list[tuple[int, str]], length: int) -> None:
    """Units that meet under one name are one unit, and there is nothing to cross."""
    steps = [name for size, name in spans for _ in range(size)]
    unit = UnitSpans(tuple(np.cumsum([0, *(size for size, _ in spans[:-1])]).tolist()), tuple(n for _, n in spans))
    starts = np.arange(0, len(steps) - length + 1)
    found = WindowUnits.find(unit, starts, starts + length)
    assert [found.names[i] for i in found.unit] == [steps[s] for s in starts]
    assert found.crossing.tolist() == [steps[s] != steps[s + length - 1] for s in starts]


def test_a_segment_of_one_unit() -> None:
    found = WindowUnits.find("u", np.array([0, 4]), np.array([4, 8]))
    assert (found.names, found.unit.tolist(), found.crossing.tolist()) == (("u",), [0, 0], [False, False])
