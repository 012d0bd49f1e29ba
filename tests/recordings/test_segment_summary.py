"""Summaries of segments: planted faults are visible in them, and the suite names each one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import expectations
from expectations import projections
from readbench_data.recordings.curation import Curation, ValidRange, curate
from readbench_data.recordings.recording import Clock, Evidence, Recording, UnitSpans
from readbench_data.recordings.segment import Segment
from readbench_data.recordings.segment_summary import SUMMARY_SCHEMA, summarise

POLICY = Curation(sentinel_values=(-1.0,), ranges=(ValidRange("p*", 0, 100),))


def segment(**changes: object) -> Segment:
    values = np.array([[1, 5], [np.nan, -1], [200, 7], [4, 8]])
    recording = Recording(
        "r", values, ("p1", "t"), Evidence.native("x", 4), "u", "r.csv", "0", clock=Clock(times=np.arange(4.0))
    )
    (made,) = curate(recording, POLICY)
    return replace(made, **changes)  # type: ignore[arg-type]


def failed(made: Segment) -> set[str]:
    table = pa.Table.from_pylist([summarise(made, POLICY)], schema=SUMMARY_SCHEMA)
    return {o.check for o in expectations.run("recordings", projections.recordings(table)) if not o.passed}


def test_a_curated_segment_by_hand() -> None:
    row = summarise(segment(), POLICY)
    assert row == {
        "recording_id": "r",
        "segment": 0,
        "steps": 4,
        "n_channels": 2,
        "distinct_channels": 2,
        "non_finite": 0,
        "minimum": 1.0,
        "maximum": 8.0,
        "sentinels_left": 0,
        "filled_cells": 3,
        "sentinel_cells": 2,
        "first_row": 0,
        "rows_backwards": 0,
        "time_backwards": 0,
        "unit": "u",
        "source_file": "r.csv",
    }
    assert failed(segment()) == set()


def with_value(step: int, channel: int, value: float) -> np.ndarray:
    values = segment().values.copy()
    values[step, channel] = value
    return values


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"values": with_value(2, 1, -1)}, "no_sentinel_left"),
        ({"values": with_value(2, 0, 100.5)}, "no_sentinel_left"),
        ({"values": with_value(1, 1, np.nan)}, "values_finite"),
        ({"channels": ("p1", "p1")}, "channel_names_unique"),
        ({"rows": np.array([0, 1, 3, 2])}, "rows_in_order"),
        ({"clock": Clock(times=np.array([0.0, 2.0, 1.0, 3.0]))}, "time_monotone"),
        ({"filled": np.full(4, 2, np.int32)}, "little_filled"),
    ],
    ids=lambda v: v if isinstance(v, str) else next(iter(v)),
)
def test_a_fault_left_in_a_segment_is_named_by_the_suite(changes: dict[str, object], check: str) -> None:
    assert check in failed(segment(**changes))


def test_the_unit_of_a_recording_of_many_is_its_first() -> None:
    assert summarise(segment(unit=UnitSpans((0, 2), ("a", "b"))), POLICY)["unit"] == "a"
