"""The index row of a window: every column checked by hand."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readbench_data.entry import NORMAL, entry_id
from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import NULL_CODE, Clock, Event, Evidence, Recording, UnitSpans
from readbench_data.windows.fingerprint import fingerprint
from readbench_data.windows.index import INDEX_SCHEMA, index_batch, index_rows, index_table
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.outcomes import Reason
from readbench_data.windows.windowing import WindowPlan

NAN = np.nan
LABELS = LabelMap({"0": NORMAL, "1": "leak", "101": "leak"})
RAMP = np.arange(24, dtype=float).reshape(12, 2)


def rows(recording: Recording, plan: WindowPlan, rule: Rule, curation: Curation | None = None) -> list[dict]:
    found = [index_rows("plant", s, plan, rule, LABELS) for s in curate(recording, curation or Curation())]
    table = index_table([r for r in found if r is not None])
    assert table.schema == INDEX_SCHEMA
    return table.to_pylist()


def recording(evidence: Evidence, values: np.ndarray = RAMP, **changes: object) -> Recording:
    plain = {"recording_id": "w1/r", "unit": "w1", "source_file": "a/r.csv", "source_sha256": "5a"}
    return Recording(values=values, channels=("p", "t"), evidence=evidence, **{**plain, **changes})  # type: ignore[arg-type]


def test_every_column_of_dense_windows() -> None:
    values = RAMP.copy()
    values[5, 1] = NAN
    values[6, 1] = -999.0
    evidence = Evidence.dense(np.array([0, 0, 0, 0, 101, 1, 1, 0, NULL_CODE, 0, 0, 0]))
    normal, fault, hidden = rows(
        recording(evidence, values, native_split="train", clock=Clock(step=0.5), first_row=40, extras={"rig": 2}),
        WindowPlan(4),
        Rule("majority"),
        Curation(sentinel_values=(-999.0,)),
    )
    assert normal == {
        "entry_id": entry_id("plant", "w1/r", 40, 44),
        "dataset": "plant",
        "recording_id": "w1/r",
        "segment": 0,
        "start": 0,
        "stop": 4,
        "unit": "w1",
        "native_split": "train",
        "source_file": "a/r.csv",
        "source_sha256": "5a",
        "row_start": 40,
        "row_stop": 44,
        "context_start": 40,
        "context_stop": 44,
        "time_start": "0s",
        "time_stop": "2s",
        "rule": "majority",
        "votes": [{"code": "0", "class_label": NORMAL, "count": 4}],
        "majority_share": 1.0,
        "event_id": None,
        "event_coverage": None,
        "class_label": NORMAL,
        "reason": None,
        "rca_target": None,
        "rca_affected": [],
        "filled_fraction": 0.0,
        "sentinel_count": 0,
        "channels": ["p", "t"],
        "content_hash": normal["content_hash"],
        "shape_hash": normal["shape_hash"],
        "sketch": normal["sketch"],
        "constant_mask": "00",
        "extras": '{"rig": 2}',
    }
    assert (fault["class_label"], fault["majority_share"]) == ("leak", 0.75)
    assert fault["votes"] == [
        {"code": "0", "class_label": NORMAL, "count": 1},
        {"code": "1", "class_label": "leak", "count": 2},
        {"code": "101", "class_label": "leak", "count": 1},
    ]
    assert (fault["filled_fraction"], fault["sentinel_count"]) == (2 / 8, 1)
    assert (hidden["class_label"], hidden["reason"], hidden["content_hash"]) == (None, "unlabelled", "")


def test_fingerprints_are_in_the_row_of_their_window() -> None:
    evidence = Evidence.dense(np.array([0, 0, 0, 0, 0, 0, NULL_CODE, 0, 0, 0, 0, 0]))
    found = rows(recording(evidence), WindowPlan(3), Rule("majority"))
    assert [r["reason"] for r in found] == [None, None, "unlabelled", None]
    for row in (found[0], found[1], found[3]):
        values = RAMP[row["start"] : row["stop"]].astype(np.float32)
        alone = fingerprint(values, ("p", "t"), np.array([0]), np.array([3]))
        assert row["content_hash"] == alone.content_hash[0]
        np.testing.assert_allclose(row["sketch"], alone.sketch[0], atol=1e-6)
    assert not any(found[2]["sketch"])


def test_a_filled_window_names_the_rows_it_was_filled_from() -> None:
    values = RAMP.copy()
    values[0, 0] = NAN
    values[4:6, 1] = NAN
    a, b, c = rows(recording(Evidence.native("1", 12), values, first_row=100), WindowPlan(2, 4), Rule("native"))
    assert [(r["row_start"], r["row_stop"]) for r in (a, b, c)] == [(100, 102), (104, 106), (108, 110)]
    assert [(r["context_start"], r["context_stop"]) for r in (a, b, c)] == [(100, 102), (103, 106), (108, 110)]
    (alone,) = rows(recording(Evidence.native("1", 12), values, first_row=100), WindowPlan(1, 12), Rule("native"))
    assert (alone["context_start"], alone["context_stop"]) == (100, 102)


def test_positions_that_the_reader_gives_are_used() -> None:
    positions = np.arange(12) * 10
    (row,) = rows(
        recording(Evidence.native("1", 12), rows=positions, row_stops=positions + 5), WindowPlan(None), Rule("native")
    )
    assert (row["row_start"], row["row_stop"]) == (0, 115)
    assert row["entry_id"] == entry_id("plant", "w1/r", 0, 115)


def test_the_event_of_a_window_brings_its_root_cause() -> None:
    events = Evidence.events([Event("1", 4, 8, "e7", "pump", ("p1", "t")), Event("1", 10, 12, "e8")])
    normal, fault, other = rows(recording(events), WindowPlan(4), Rule("majority"))
    assert (normal["event_id"], normal["rca_target"], normal["rca_affected"]) == (None, None, [])
    assert (fault["event_id"], fault["event_coverage"]) == ("e7", 1.0)
    assert (fault["rca_target"], fault["rca_affected"]) == ("pump", ["p1", "t"])
    assert (other["event_id"], other["rca_target"], other["rca_affected"]) == ("e8", None, [])


def test_a_window_that_crosses_units_is_dropped() -> None:
    units = UnitSpans((0, 6), ("a", "b"))
    found = rows(recording(Evidence.dense(np.zeros(12, int)), unit=units), WindowPlan(4), Rule("majority"))
    assert [(r["unit"], r["class_label"], r["reason"]) for r in found] == [
        ("a", NORMAL, None),
        ("a", None, Reason.CROSSES_UNITS),
        ("b", NORMAL, None),
    ]
    touching = rows(
        recording(Evidence.dense(np.zeros(12, int)), unit=UnitSpans((0, 4), ("a", "b"))),
        WindowPlan(4),
        Rule("majority"),
    )
    assert [r["reason"] for r in touching] == [None] * 3


def test_pieces_of_a_broken_recording_have_their_own_rows_and_ids() -> None:
    values = RAMP.copy()
    values[4, 0] = NAN
    found = rows(
        recording(Evidence.dense(np.zeros(12, int)), values), WindowPlan(4), Rule("majority"), Curation("drop_rows")
    )
    assert [(r["segment"], r["row_start"], r["row_stop"]) for r in found] == [(0, 0, 4), (1, 5, 9)]
    assert len({r["entry_id"] for r in found}) == 2


def test_a_recording_shorter_than_a_window_has_no_row() -> None:
    (segment,) = curate(recording(Evidence.dense(np.zeros(12, int))), Curation())
    assert index_rows("plant", segment, WindowPlan(13), Rule("majority"), LABELS) is None
    assert (index_table([]).num_rows, index_table([]).schema) == (0, INDEX_SCHEMA)


def test_segments_of_all_kinds_in_one_table_are_the_tables_of_each() -> None:
    """Units, votes and events are renumbered in a joint table."""
    leak = Evidence.events([Event("1", 2, 7, "e1", "p", ("p", "t")), Event("101", 9, 11, "")])
    made = [
        recording(leak, unit=UnitSpans((0, 6), ("u1", "u2"))),
        recording(Evidence.dense(np.zeros(12, int)), recording_id="w2/r", unit="w2", native_split="test"),
        recording(Evidence.native("1", 12), recording_id="w3/r", clock=Clock(step=2.0), extras={"kind": "x"}),
    ]
    parts = [
        part
        for r, rule in zip(made, ("short_fault", "majority", "native"), strict=True)
        for segment in curate(r, Curation())
        if (part := index_rows("plant", segment, WindowPlan(4, 2), Rule(rule), LABELS)) is not None
    ]
    assert len(parts) == 3
    together = index_table(parts)
    assert together.equals(pa.concat_tables([index_table([part]) for part in parts]).combine_chunks())
    assert set(together["unit"].to_pylist()) == {"u1", "u2", "w2", "w1"}
    assert set(together["event_id"].to_pylist()) == {"e1", None}


clocks = st.builds(
    Clock,
    st.one_of(st.floats(-1e6, 1e6), st.integers(0, 2 * 10**9).map(lambda s: np.datetime64(s, "s"))),
    st.sampled_from([1 / 360, 0.1, 1 / 3, 0.5, 1.0, 180.0]),
)


@given(clocks, st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_a_window_stops_when_the_window_that_starts_at_its_stop_starts(
    clock: Clock, length: int, parts: int, irregular: bool
) -> None:
    """Also for irregular times, as long as there is a next step."""
    if irregular:
        clock = Clock(times=np.cumsum(np.arange(12) % 4 + 0.25))
    stride = max(1, length // parts)
    found = rows(recording(Evidence.native("1", 12), clock=clock), WindowPlan(length, stride), Rule("native"))
    starts = {row["start"]: row["time_start"] for row in found}
    assert [r["time_stop"] for r in found if r["stop"] in starts] == [
        starts[r["stop"]] for r in found if r["stop"] in starts
    ]
    assert all(r["time_stop"] != r["time_start"] for r in found)


def test_a_segment_that_a_dropped_row_ends_stops_at_the_time_of_that_row() -> None:
    values = RAMP.copy()
    values[4, 0] = NAN
    clock = Clock(times=np.arange(12) * 2.0)
    found = rows(
        recording(Evidence.dense(np.zeros(12, int)), values, clock=clock),
        WindowPlan(4),
        Rule("majority"),
        Curation("drop_rows"),
    )
    assert [(r["time_start"], r["time_stop"]) for r in found] == [("0s", "8s"), ("10s", "18s")]


def test_a_code_outside_the_vocabulary_stops_the_index() -> None:
    with pytest.raises(KeyError, match="8"):
        rows(recording(Evidence.dense(np.full(12, 8))), WindowPlan(4), Rule("majority"))


def test_extras_are_plain_json_with_sorted_keys() -> None:
    (row,) = rows(recording(Evidence.native("1", 12), extras={"b": "ä", "a": None}), WindowPlan(None), Rule("native"))
    assert row["extras"] == '{"a": null, "b": "ä"}'
    assert json.loads(row["extras"]) == {"a": None, "b": "ä"}


def test_windows_alone_in_their_segment_have_the_fingerprints_they_have_one_by_one() -> None:
    draw = np.random.default_rng(4)
    shapes = [(24, ("x",)), (24, ("x",)), (64, ("x",)), (24, ("y",)), (96, ("x", "y")), (10, ("x",))]
    segments = []
    for number in range(40):
        steps, channels = shapes[number % len(shapes)]
        codes = np.full(steps, 1 if number % 3 else NULL_CODE)
        values = np.cumsum(draw.standard_normal((steps, len(channels))), axis=0)
        named = {"recording_id": f"r{number}", "unit": "u", "source_file": "f", "source_sha256": "0"}
        one = Recording(values=values, channels=channels, evidence=Evidence.dense(codes), **named)  # type: ignore[arg-type]
        segments.extend(curate(one, Curation()))
    rule = Rule("majority")
    for plan in (WindowPlan(24, 24), WindowPlan(64)):
        batch = index_batch("plant", segments, plan, rule, LABELS)
        single = [index_rows("plant", one, plan, rule, LABELS) for one in segments]
        assert [part is None for part in batch] == [part is None for part in single]
        tables = [index_table([part for part in parts if part is not None]) for parts in (batch, single)]
        assert tables[0].num_rows > 10
        assert tables[0].equals(tables[1])
