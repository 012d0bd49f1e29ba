"""Recordings, evidence, clocks and units: values a person can check on paper."""

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
def test_dense_runs_say_of_every_step_what_the_codes_say(codes: list[int], data: st.DataObject) -> None:
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
