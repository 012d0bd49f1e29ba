"""Curation: fill and drop against a plain loop, sentinels found before any cast, and the context of a window."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from readbench_data.recordings.curation import FLOAT32_MAX, Curation, CurationReport, ValidRange, curate
from readbench_data.recordings.recording import Clock, Evidence, Recording, UnitSpans
from readbench_data.recordings.segment import Segment
from readbench_data.windows.index import index_rows, index_table
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.windowing import WindowPlan

NAN = math.nan
FILL, DROP = Curation("fill"), Curation("drop_rows")


def recording(values: np.ndarray, **changes: object) -> Recording:
    values = np.asarray(values)
    plain = {
        "recording_id": "r",
        "values": values,
        "channels": tuple("abcdefgh"[: values.shape[1]]),
        "evidence": Evidence.native("x", len(values)),
        "unit": "u",
        "source_file": "r.csv",
        "source_sha256": "0",
    }
    return Recording(**{**plain, **changes})  # type: ignore[arg-type]


def only(values: object, policy: Curation, **changes: object) -> Segment:
    (segment,) = curate(recording(np.asarray(values, float), **changes), policy)
    return segment


def test_fill_by_hand() -> None:
    segment = only([[NAN, 1, NAN], [2, NAN, NAN], [NAN, NAN, NAN], [4, 5, NAN]], FILL)
    assert segment.values.tolist() == [[2, 1, 0], [2, 1, 0], [2, 1, 0], [4, 5, 0]]
    assert segment.values.dtype == np.float32
    assert segment.filled is not None
    assert segment.filled.tolist() == [2, 2, 3, 1]
    assert segment.context is not None
    assert segment.context.tolist() == [[0, 2], [0, 2], [0, 3], [3, 4]]


def test_nothing_is_noted_where_nothing_is_missing() -> None:
    segment = only([[1, 2], [3, 4]], FILL)
    assert (segment.filled, segment.context, segment.masked) == (None, None, None)


def plain_fill(values: np.ndarray) -> np.ndarray:
    """Forward fill, backward fill of a leading gap, 0 for an absent channel: cell by cell."""
    out = values.copy()
    for column in range(values.shape[1]):
        present = [v for v in values[:, column] if not math.isnan(v)]
        latest = present[0] if present else 0.0
        for step in range(len(values)):
            if not math.isnan(values[step, column]):
                latest = values[step, column]
            out[step, column] = latest
    return out


gappy = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.sampled_from([NAN, NAN, 1.0, 2.5, -3.0]),
)


@given(gappy)
def test_fill_against_a_plain_loop(values: np.ndarray) -> None:
    report = CurationReport()
    (segment,) = curate(recording(values), FILL, report)
    np.testing.assert_array_equal(segment.values, plain_fill(values))
    filled = np.zeros(len(values)) if segment.filled is None else segment.filled
    assert filled.tolist() == np.isnan(values).sum(axis=1).tolist()
    assert report.filled_cells == np.isnan(values).sum()


def _index(segment: Segment, plan: WindowPlan) -> list[dict]:
    rows = index_rows("d", segment, plan, Rule("native"), LabelMap({"x": "X"}))
    return [] if rows is None else index_table([rows]).to_pylist()


@given(gappy, st.integers(1, 4), st.integers(1, 3))
def test_the_context_is_enough_to_derive_a_window_again(values: np.ndarray, length: int, stride: int) -> None:
    """Reading only the rows between context_start and context_stop and curating them gives the window's values."""
    (segment,) = curate(recording(values, first_row=10), FILL)
    rows = _index(segment, WindowPlan(length, stride))
    assert len(rows) == max(0, (len(values) - length) // stride + 1)
    for row in rows:
        assert row["context_start"] <= row["row_start"]
        assert row["row_stop"] <= row["context_stop"]
        again = plain_fill(values[row["context_start"] - 10 : row["context_stop"] - 10])
        first = row["row_start"] - row["context_start"]
        np.testing.assert_array_equal(again[first : first + length], segment.values[row["start"] : row["stop"]])


def test_drop_by_hand() -> None:
    report = CurationReport()
    values = np.array([[1, 2], [NAN, 2], [3, 4], [5, 6], [7, NAN]])
    first, second = curate(
        recording(
            values,
            first_row=100,
            clock=Clock(step=1.0),
            unit=UnitSpans((0, 3), ("p", "q")),
            evidence=Evidence.dense(np.array([0, 0, 0, 1, 1])),
            window_starts=np.array([0, 2, 4]),
        ),
        DROP,
        report,
    )
    assert first.values.tolist() == [[1, 2]]
    assert second.values.tolist() == [[3, 4], [5, 6]]
    assert (first.number, second.number) == (0, 1)
    assert (first.first_row, second.first_row) == (100, 102)
    assert second.clock is not None
    assert second.clock.text(np.array([0])) == ["2s"]
    assert second.unit == UnitSpans((0, 1), ("p", "q"))
    assert [(s.code, s.start, s.stop) for s in second.evidence.spans] == [("0", 0, 1), ("1", 1, 2)]
    assert second.window_starts is not None
    assert second.window_starts.tolist() == [0]
    assert (report.dropped_rows, report.segments, report.steps, report.kept_steps) == (2, 2, 5, 3)


@given(gappy, st.booleans())
def test_drop_against_a_plain_loop(values: np.ndarray, positions: bool) -> None:
    rows = np.arange(len(values)) * 3 + 7 if positions else None
    segments = list(curate(recording(values, rows=rows, first_row=7), DROP))
    expected: list[list[int]] = []
    before = False
    for step, row in enumerate(values.tolist()):
        complete = not any(math.isnan(v) for v in row)
        if complete and not before:
            expected.append([])
        if complete:
            expected[-1].append(step)
        before = complete
    assert [s.values.tolist() for s in segments] == [values[steps].tolist() for steps in expected]
    for segment, steps in zip(segments, expected, strict=True):
        start, stop = segment.row_span(np.array([0]), np.array([len(steps)]))
        scale = 3 if positions else 1
        assert start[0] == 7 + scale * steps[0]
        assert stop[0] == 7 + scale * steps[-1] + 1


def test_row_stops_are_where_a_step_ends() -> None:
    segment = only([[1], [2]], FILL, rows=np.array([0, 10]), row_stops=np.array([10, 15]))
    start, stop = segment.row_span(np.array([0, 1]), np.array([1, 2]))
    assert (start.tolist(), stop.tolist()) == ([0, 10], [10, 15])


def test_channels_are_taken_by_name_in_the_declared_order() -> None:
    segment = only([[1, 2, 3]], Curation(channels=("c", "x", "a")))
    assert segment.channels == ("c", "a")
    assert segment.values.tolist() == [[3, 1]]


def test_the_first_range_that_matches_applies_and_its_bounds_are_valid_values() -> None:
    policy = Curation(ranges=(ValidRange("a*", 0, 10), ValidRange("*", -1, 1)))
    segment = only([[5, 5], [11, 1], [10, -1], [0, -2], [-0.5, 0]], policy, channels=("abc", "b"))
    assert segment.values.tolist() == [[5, 1], [5, 1], [10, -1], [0, -1], [0, 0]]
    assert segment.masked is not None
    assert segment.masked.tolist() == [1, 1, 0, 1, 1]
    assert segment.filled is not None
    assert segment.filled.tolist() == [1, 1, 0, 1, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("sentinel", [-1.0, -9999.9, 0.1])
def test_an_exact_sentinel_is_missing_whatever_the_float_type(dtype: type, sentinel: float) -> None:
    values = np.array([[1], [sentinel], [2]], dtype)
    (segment,) = curate(recording(values), Curation(sentinel_values=(sentinel,)))
    assert segment.values.tolist() == [[1], [1], [2]]


@pytest.mark.parametrize("wild", [-1.18e42, 1e300, np.inf, -np.inf])
def test_what_no_float32_can_hold_is_missing_before_the_cast(wild: float) -> None:
    with np.errstate(all="raise"):
        segment = only([[1], [wild], [2]], FILL)
    assert segment.values.tolist() == [[1], [1], [2]]
    assert segment.masked is not None
    assert segment.masked.tolist() == [0, 1, 0]
    assert only([[FLOAT32_MAX]], FILL).values[0, 0] == np.float32(FLOAT32_MAX)


def test_dead_channels_are_removed_after_sentinels_and_before_rows() -> None:
    """Constant channels, entirely missing ones, and ones that change only by a sentinel: all are removed, no row is."""
    values = [[1, 5, NAN, 9, 1], [2, 5, NAN, -1, 1], [NAN, 5, NAN, 9, 2], [4, NAN, NAN, 9, 2]]
    report = CurationReport()
    policy = Curation("drop_rows", sentinel_values=(-1.0,), drop_dead_channels=True)
    first, second = curate(recording(np.array(values, float)), policy, report)
    assert first.channels == ("a", "e")
    assert first.values.tolist() == [[1, 1], [2, 1]]
    assert second.values.tolist() == [[4, 2]]
    assert first.masked is None, "a sentinel of a removed channel is in no window"
    assert report.removed_channels == 3


@pytest.mark.parametrize(
    ("values", "policy"),
    [
        (np.zeros((0, 2)), FILL),
        (np.full((3, 2), NAN), DROP),
        (np.full((3, 2), NAN), Curation("drop_rows", drop_dead_channels=True)),
        (np.ones((3, 2)), Curation(channels=("z",))),
    ],
)
def test_where_nothing_usable_is_left_there_is_no_segment_and_it_is_counted(
    values: np.ndarray, policy: Curation
) -> None:
    report = CurationReport()
    assert list(curate(recording(values), policy, report)) == []
    assert (report.recordings, report.empty_recordings, report.segments) == (1, 1, 0)


def test_the_original_values_are_left_as_they_were() -> None:
    values = np.array([[1, NAN], [np.inf, 2]])
    before = values.copy()
    list(curate(recording(values), FILL))
    np.testing.assert_array_equal(values, before)
