"""Recordings, evidence, clocks and units, with values that can be checked on paper."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.recordings.recording import NULL_CODE, Clock, Event, Evidence, Recording, UnitSpans


def recording(**changes: object) -> Recording:
    plain = {
        "recording_id": "r",
        "values": np.zeros((3, 2), np.float32),
        "channels": ("a", "b"),
        "evidence": Evidence.native("x", 3),
        "unit": "u",
        "source_file": "r.csv",
        "source_sha256": "0",
    }
    return Recording(**{**plain, **changes})  # type: ignore[arg-type]


def test_dense_codes_become_runs_and_null_stretches() -> None:
    evidence = Evidence.dense(np.array([NULL_CODE, 0, 0, 7, 7, 7, NULL_CODE, 0]))
    assert [(s.code, s.start, s.stop) for s in evidence.spans] == [("0", 1, 3), ("7", 3, 6), ("0", 7, 8)]
    assert evidence.unlabelled == ((0, 1), (6, 7))


def test_dense_codes_can_be_named() -> None:
    evidence = Evidence.dense(np.array([0, 1]), names={0: "idle", 1: "leak"})
    assert [s.code for s in evidence.spans] == ["idle", "leak"]


def test_dense_evidence_of_no_step_is_empty() -> None:
    assert Evidence.dense(np.array([], int)) == Evidence("dense")


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=30), st.data())
def test_dense_runs_give_every_step_its_code(codes: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(codes) - 1))
    stop = data.draw(st.integers(start + 1, len(codes)))
    section = Evidence.dense(np.array(codes)).section(start, stop)
    painted = ["?"] * (stop - start)
    for span in section.spans:
        painted[span.start : span.stop] = [span.code] * (span.stop - span.start)
    for first, last in section.unlabelled:
        painted[first:last] = [str(NULL_CODE)] * (last - first)
    assert painted == [str(c) for c in codes[start:stop]]


def test_events_are_sorted_and_an_empty_one_is_refused() -> None:
    late, early = Event("x", 5, 9, "2"), Event("y", 1, 9, "1")
    assert Evidence.events([late, early]).spans == (early, late)
    with pytest.raises(ValueError, match=r"event 3 is empty: \[4, 4\)"):
        Evidence.events([Event("x", 4, 4, "3")])


def test_a_section_keeps_the_whole_extent_of_an_event_and_cuts_a_run() -> None:
    event = Event("x", 2, 8, "e", "pump", ("p1", "p2"))
    kept = Evidence.events([event, Event("y", 10, 12, "f")], unlabelled=[(0, 5)]).section(4, 9)
    assert kept.spans == (Event("x", -2, 4, "e", "pump", ("p1", "p2")),)
    assert kept.unlabelled == ((0, 1),)
    assert Evidence.native("x", 10).section(4, 9).spans == (Event("x", 0, 5, ""),)


def test_points_are_sorted_single_steps() -> None:
    spans = Evidence.points(np.array([9, 4]), ["V", "N"]).spans
    assert [(s.code, s.start, s.stop) for s in spans] == [("N", 4, 5), ("V", 9, 10)]


def test_native_evidence_names_the_root_cause() -> None:
    (span,) = Evidence.native("cpu", 256, "case", "cart_cpu", ["cart", "front"]).spans
    assert span == Event("cpu", 0, 256, "case", "cart_cpu", ("cart", "front"))


def test_clock_of_seconds() -> None:
    clock = Clock(step=1 / 360)
    assert clock.text(np.array([0, 90, 360])) == ["0s", "0.25s", "1s"]
    assert clock.section(360, 400).text(np.array([0, 36])) == ["1s", "1.1s"]


def test_clock_of_dates() -> None:
    clock = Clock(np.datetime64("2020-07-07T15:35:11"), 0.5)
    assert clock.text(np.array([0, 1])) == ["2020-07-07T15:35:11", "2020-07-07T15:35:11.500"]
    assert clock.section(120, 130).text(np.array([0])) == ["2020-07-07T15:36:11"]


def test_clock_of_explicit_times() -> None:
    times = np.array(["2020-01-01", "2020-01-03"], "datetime64[ns]")
    assert Clock(times=times).section(1, 2).text(np.array([0])) == ["2020-01-03T00:00:00"]
    assert Clock(times=np.array([0.0, 2.5])).text(np.array([1])) == ["2.5s"]


def test_the_time_after_the_last_step_is_the_next_step_of_a_regular_clock() -> None:
    assert Clock(step=0.5).text(np.array([3, 4])) == ["1.5s", "2s"]
    assert Clock(np.datetime64("2020-07-07T23:59:59"), 1.0).text(np.array([1])) == ["2020-07-08T00:00:00"]


def test_where_explicit_times_end_the_typical_step_is_added_to_the_last() -> None:
    """Steps of 1, 3, 1 and 1 seconds: their median is 1 s, however wide the gap."""
    seconds = np.array([0, 1, 4, 5, 6])
    dated = np.datetime64("2020-01-01T00:00:00") + seconds.astype("timedelta64[s]")
    assert Clock(times=dated.astype("datetime64[ns]")).text(np.array([4, 5])) == [
        "2020-01-01T00:00:06",
        "2020-01-01T00:00:07",
    ]
    assert Clock(times=seconds * 0.1).text(np.array([0, 4, 5])) == ["0s", "0.6s", "0.7s"]


def test_repeated_times_do_not_count_as_a_step() -> None:
    assert Clock(times=np.array([0.0, 0.0, 0.0, 2.0])).text(np.array([4])) == ["4s"]
    assert Clock(times=np.array([3.0])).text(np.array([0, 1])) == ["3s", "3s"], "one step has no known width"


def test_a_section_of_explicit_times_ends_where_the_next_step_begins() -> None:
    """Even if that step is not in the section, because it was dropped or belongs to the next one."""
    clock = Clock(times=np.array([0.0, 1.0, 5.0, 6.0]))
    assert clock.section(0, 2).text(np.array([1, 2])) == ["1s", "5s"]
    assert clock.section(2, 4).text(np.array([2])) == ["7s"]
    assert clock.section(0, 3).section(0, 3).text(np.array([3])) == ["6s"]
    assert clock.section(3, 4).text(np.array([1])) == ["7s"], "the typical step is that of the whole recording"


@given(st.integers(0, 39), st.integers(1, 40), st.lists(st.integers(1, 39), max_size=5, unique=True))
def test_a_section_of_units_gives_every_step_its_unit(start: int, length: int, borders: list[int]) -> None:
    stop = min(start + length, 40)
    spans = UnitSpans((0, *sorted(borders)), tuple(f"u{i}" for i in range(len(borders) + 1)))

    def unit(of: UnitSpans, step: int) -> str:
        return of.names[max(i for i, s in enumerate(of.starts) if s <= step)]

    section = spans.section(start, stop)
    assert section.starts[0] == 0
    assert [unit(section, i) for i in range(stop - start)] == [unit(spans, i) for i in range(start, stop)]


def test_a_recording_that_contradicts_itself_is_refused() -> None:
    assert recording().steps == 3
    with pytest.raises(ValueError, match=r"r: values of shape \(3, 2\) for 1 channels"):
        recording(channels=("a",))
    with pytest.raises(ValueError, match="a channel name occurs twice"):
        recording(channels=("a", "a"))
    with pytest.raises(ValueError, match="rows has 2 positions, not 3"):
        recording(rows=np.arange(2))
    with pytest.raises(ValueError, match="row_stops has 4 positions, not 3"):
        recording(row_stops=np.arange(4))
