"""Curated recordings on disk: every field survives a round trip, and only the selected segments are read."""

from __future__ import annotations

import io
from dataclasses import fields, replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.recordings import shards as module
from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import NULL_CODE, Clock, Event, Evidence, Recording, UnitSpans
from readbench_data.recordings.segment import Segment, SegmentInfo
from readbench_data.recordings.segment_row import SEGMENT_SCHEMA, identity, pack
from readbench_data.recordings.shards import SegmentWriter, iter_info, iter_segments, read_segments, read_values

EVENTS = Evidence.events([Event("1", -3, 4, "e", "pump", ("a", "b")), Event("2", 5, 6, "f")], [(0, 2)])
EVIDENCE = [
    EVENTS,
    Evidence.dense(np.array([0, 0, 3, NULL_CODE])),
    Evidence.points(np.array([1, 3]), ["N", "V"]),
    Evidence.native("cpu", 4, "case", "cart_cpu", ["cart"]),
    Evidence("events"),
]
CLOCKS = [
    None,
    Clock(2.5, 1 / 360),
    Clock(np.datetime64("2020-07-07T15:35:11.250"), 0.01),
    Clock(times=np.array(["2020-01-01", "2020-01-02", "2020-01-04", "2020-01-05"], "datetime64[ns]")),
    Clock(times=np.array([0.0, 0.1, 0.3, 0.7])),
    Clock(times=np.array([0.0, 0.1, 0.3, 0.7]), end=0.1 + 0.2),
    Clock(
        times=np.array(["2020-01-01", "2020-01-02", "2020-01-04", "2020-01-05"], "datetime64[ns]"),
        end=np.datetime64("2020-02-01T00:00:00.123456789"),
    ),
]


def full(**changes: object) -> Segment:
    plain = {
        "recording_id": "w1/r",
        "number": 3,
        "steps": 4,
        "values": np.array([[1, 2], [3, 4], [5, 6], [7.5, -8]], np.float32),
        "channels": ("p", "t"),
        "evidence": EVENTS,
        "unit": UnitSpans((0, 2), ("u", "ü")),
        "source_file": "a/ü.csv",
        "source_sha256": "5a",
        "native_split": "train",
        "clock": CLOCKS[1],
        "rows": np.array([10, 11, 20, 21]),
        "row_stops": np.array([11, 12, 21, 22]),
        "first_row": 10,
        "window_starts": np.array([0, 2]),
        "extras": {"rig": 2, "note": "ü"},
        "filled": np.array([0, 1, 0, 2], np.int32),
        "masked": np.array([0, 0, 0, 1], np.int32),
        "context": np.array([[0, 1], [0, 2], [2, 3], [1, 4]]),
        "filled_cells": np.array([[0], [1], [0], [3]], np.uint8),
        "masked_cells": np.array([[0], [0], [0], [2]], np.uint8),
    }
    return Segment(**{**plain, **changes})  # type: ignore[arg-type]


def bare() -> Segment:
    optional = ("native_split", "clock", "rows", "row_stops", "window_starts", "filled", "masked", "context")
    optional += ("filled_cells", "masked_cells")
    return full(unit="u", extras={}, **dict.fromkeys(optional))


def written(*segments: Segment) -> io.BytesIO:
    stream = io.BytesIO()
    with SegmentWriter(stream) as writer:
        for segment in segments:
            writer.write(segment)
    stream.seek(0)
    return stream


def same(one: SegmentInfo, other: SegmentInfo) -> None:
    """Every field of ``one`` is equal in ``other``, dtypes included."""
    assert type(one) is type(other)
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            np.testing.assert_array_equal(a, b, field.name)
        elif isinstance(a, Clock):
            assert isinstance(b, Clock)
            assert a.step == b.step
            np.testing.assert_array_equal(a.text(np.arange(5)), b.text(np.arange(5)))
            assert a.end == b.end
            assert (a.times is None) == (b.times is None)
        else:
            assert a == b, field.name


@pytest.mark.parametrize("evidence", EVIDENCE, ids=lambda e: e.kind)
def test_every_kind_of_evidence_is_read_back(evidence: Evidence) -> None:
    segment = full(evidence=evidence)
    (found,) = iter_segments(written(segment))
    same(segment, found)


@pytest.mark.parametrize("clock", CLOCKS)
def test_every_kind_of_clock_is_read_back(clock: Clock | None) -> None:
    segment = full(clock=clock)
    (found,) = iter_segments(written(segment))
    same(segment, found)


def test_full_and_bare_segments_come_back_side_by_side_in_order() -> None:
    segments = [
        bare(),
        full(),
        replace(bare(), steps=1, values=np.ones((1, 1), np.float32), channels=("x",)),
        full(number=4),
    ]
    for one, other in zip(segments, iter_segments(written(*segments)), strict=True):
        same(one, other)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8), st.integers(8, 200))
def test_pieces_of_any_size_come_back_from_row_groups_of_any_size(steps: list[int], limit: int) -> None:
    segments = [
        replace(bare(), number=i, steps=n, values=np.full((n, 2), i, np.float32), filled=np.full(n, i, np.int32))
        for i, n in enumerate(steps)
    ]
    before = module.ROW_GROUP_BYTES
    module.ROW_GROUP_BYTES = limit
    try:
        stream = written(*segments)
    finally:
        module.ROW_GROUP_BYTES = before
    for one, other in zip(segments, iter_segments(stream), strict=True):
        same(one, other)
    wanted = {("w1/r", i) for i in range(0, len(steps), 2)}
    stream.seek(0)
    assert [s.number for s in read_segments(stream, wanted)] == list(range(0, len(steps), 2))
    stream.seek(0)
    for (name, number), values in read_values(stream, wanted):
        assert (name, number) in wanted
        np.testing.assert_array_equal(values, segments[number].values)


def test_writing_nothing_reads_nothing() -> None:
    assert list(iter_segments(written())) == []
    assert list(read_segments(written(bare()), {("other", 3)})) == []


def test_curated_segments_are_read_back_unchanged() -> None:
    values = np.array([[1, np.nan], [np.inf, 2], [3, 3]])
    recording = Recording("r", values, ("a", "b"), EVENTS, "u", "f", "0", clock=Clock(step=2.0))
    (segment,) = curate(recording, Curation())
    (found,) = iter_segments(written(segment))
    same(segment, found)


def known(segment: Segment) -> SegmentInfo:
    """The same segment without its values."""
    return SegmentInfo(**{f.name: getattr(segment, f.name) for f in fields(SegmentInfo)})


@pytest.mark.parametrize("wanted", [None, {("w1/r", 3)}, {("w1/r", 4), ("w1/r", 1)}, {("other", 4)}])
def test_everything_but_the_values_is_read_without_them(wanted: set[tuple[str, int]] | None) -> None:
    segments = [full(number=1, filled_cells=None), bare(), full(number=4)]
    found = list(iter_info(written(*segments), wanted))
    expected = [known(s) for s in segments if wanted is None or (s.recording_id, s.number) in wanted]
    for one, other in zip(expected, found, strict=True):
        same(one, other)
        assert not hasattr(other, "values")


def test_a_segment_is_its_info_with_values() -> None:
    same(known(full()).with_values(full().values), full())
    with pytest.raises(ValueError, match=r"w1/r, segment 3: values of shape \(3, 2\) for 4 steps of 2 channels"):
        known(full()).with_values(np.zeros((3, 2), np.float32))
    with pytest.raises(ValueError, match=r"values of shape \(4, 1\)"):
        known(full()).with_values(np.zeros((4, 1), np.float32))


def test_a_row_has_every_column_but_the_values() -> None:
    assert {*pack(full()), "values"} == set(SEGMENT_SCHEMA.names)


def test_the_identity_of_a_segment_does_not_hold_its_arrays_in_memory() -> None:
    """The index keeps the identities of many segments at once."""
    found = identity(full())
    assert not any(isinstance(getattr(found, f.name), np.ndarray | Clock | Evidence) for f in fields(found))
    assert (found.segment, found.steps, found.extras) == (3, 4, '{"note": "ü", "rig": 2}')


def test_lanes_from_before_cells_were_stored_are_read() -> None:
    """An audit of a release that an earlier version of the code built must not end in a traceback."""
    older = io.BytesIO()
    pq.write_table(pq.read_table(written(full())).drop_columns(["filled_cells", "masked_cells"]), older)
    older.seek(0)
    (found,) = iter_segments(older)
    same(replace(full(), filled_cells=None, masked_cells=None), found)
    older.seek(0)
    (light,) = iter_info(older)
    assert (light.filled_cells, light.masked_cells) == (None, None)
