"""The sweep counts the windows whose class changes, on evidence small enough to count by hand."""

from __future__ import annotations

import io

import numpy as np
import polars as pl

from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import Event, Evidence, Recording, UnitSpans
from readbench_data.recordings.shards import SegmentWriter
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.sensitivity import CHANGES, Variant, fragile, sweep

LABELS = LabelMap({"f": "Fault", "g": "Other"})


def shard(evidence: Evidence, steps: int, unit: str | UnitSpans = "u") -> io.BytesIO:
    stream = io.BytesIO()
    values = np.arange(2 * steps, dtype=np.float32).reshape(steps, 2)
    with SegmentWriter(stream) as writer:
        for segment in curate(Recording("r", values, ("a", "b"), evidence, unit, "r.csv", "0" * 64), Curation()):
            writer.write(segment)
    stream.seek(0)
    return stream


def swept(evidence: Evidence, steps: int, rule: Rule, length: int | None, stride: int | None) -> dict[str, Variant]:
    return {v.setting: v for v in sweep(shard(evidence, steps), LABELS, rule, length, stride)}


def changes(variant: Variant) -> dict[str, int]:
    return {name: n for name, n in zip(CHANGES, variant.changes, strict=True) if n}


def test_coverage_decides_short_faults() -> None:
    # Windows of 10 steps. The event [6, 16) has 4 of its 10 steps in the first window and 6 in the second; [26, 32)
    # has 4 of its 6 in the third and 2 in the fourth.
    events = Evidence.events([Event("f", 6, 16, "1"), Event("g", 26, 32, "2")])
    found = swept(events, 40, Rule("short_fault"), 10, None)
    # In force: dropped as mixed, Fault (6 of 10 steps), Other (4 of 6 of the event), dropped as mixed.
    assert found["coverage 0.75"].compared == 4
    assert changes(found["coverage 0.75"]) == {"class to dropped": 1}
    assert changes(found["coverage 0.25"]) == {"dropped to class": 2}
    # The first has 6 of 10 steps normal, the fourth 8 of 10: half is enough for both, nine tenths for neither.
    assert changes(found["normal_purity 0.9"]) == {}
    assert changes(found["normal_purity 0.5"]) == {"dropped to class": 2}


def test_a_tie_with_normal_goes_to_the_fault() -> None:
    codes = np.array([0] * 5 + [1] * 5 + [1] * 10)
    dense = Evidence.dense(codes, {0: "normal", 1: "f"})
    found = swept(dense, 20, Rule("majority"), 10, None)
    assert changes(found["tie with Normal: dropped, not the fault"]) == {"class to dropped": 1}
    assert "coverage 0.25" not in found


def test_length_at_the_same_centre_and_stride_by_the_nearest_window() -> None:
    codes = np.array([0] * 10 + [1] * 6 + [0] * 14)
    dense = Evidence.dense(codes, {0: "normal", 1: "f"})
    found = swept(dense, 30, Rule("majority"), 10, None)
    # In force: Normal, Fault, Normal. [2, 7) is normal, [12, 17) has 4 fault steps of 5, [22, 27) is normal.
    assert found["length 5 (half)"].windows == 3
    assert changes(found["length 5 (half)"]) == {}
    # Twenty steps: [0, 20) has 6 fault steps of 20, so it is mixed; so have [5, 25) and [10, 30).
    assert changes(found["length 20 (twice)"]) == {"class to dropped": 3}
    # Every five steps: [0,10) Normal, [5,15) 5 of 10 a tie for the fault, [10,20) Fault, [15,25) mixed, [20,30) Normal.
    # Only the two new ones are compared, with the nearest (the earlier one if equal).
    half = found["stride 5 (half), new windows"]
    assert (half.windows, half.compared) == (5, 2)
    assert changes(half) == {"Normal to fault": 1, "class to dropped": 1}
    assert not any("twice" in name and "stride" in name for name in found), "it selects from the same windows"


def test_a_moved_grid_and_published_windows_and_classes() -> None:
    codes = np.array([0] * 14 + [1] * 6 + [0] * 14)
    stream = shard(Evidence.dense(codes, {0: "normal", 1: "f"}), 34)
    published = {("r", 0): np.array([10, 20])}
    found = {v.setting: v for v in sweep(stream, LABELS, Rule("majority"), 10, None, published)}
    # In force: [0, 10) Normal, [10, 20) 6 of 10 Fault, [20, 30) Normal. By four: [4, 14) Normal, [14, 24) Fault,
    # [24, 34) Normal.
    assert found["grid moved by 4"].compared == 3
    assert changes(found["grid moved by 4"]) == {}
    assert "grid moved by 16" not in found, "longer than a window"
    length = found["length 20 (twice)"]
    assert (length.published, length.published_changed) == (2, 2)
    assert length.classes == {"Fault": (1, 0), "Normal": (2, 0)}


def test_windows_whose_class_changes_if_they_move() -> None:
    # Beats at 3 (n) and 18 (V): the V is 2 steps before the end of the second window.
    beats = Evidence.points([3, 12, 18, 25], ["n", "n", "f", "n"])
    table = fragile(shard(beats, 30), LabelMap({"n": "Normal", "f": "Fault"}), Rule("majority_of_beats"), 10, None)
    rows = {row["start"]: (row["class_label"], row["moved"], row["becomes"]) for row in table.to_dicts()}
    # [10, 20) has n and f, a tie for the fault; by -2 it has n alone: Normal. [20, 30) gets f by -2: a tie as well.
    assert rows[10] == ("Fault", -2, "Normal")
    assert rows[20] == ("Normal", -2, "Fault")
    # [0, 10): by 4 its only beat leaves, and 12 enters; by 8 still n alone, and it cannot move further than 20.
    assert 0 not in rows
    dense = Evidence.dense(np.array([0] * 14 + [1] * 6), {0: "normal", 1: "f"})
    table = fragile(shard(dense, 20), LABELS, Rule("majority"), 10, None)
    assert table.filter(pl.col("start") == 10).row(0, named=True)["becomes"] == "mixed", "by -2: 4 of 10 are the fault"
    assert fragile(shard(Evidence.native("f", 12), 12), LABELS, Rule("native"), None, None).is_empty()


def test_a_window_across_two_units_has_no_class() -> None:
    dense = Evidence.dense(np.zeros(20, int), {0: "normal"})
    spans = UnitSpans((0, 8), ("a", "b"))
    found = {v.setting: v for v in sweep(shard(dense, 20, spans), LABELS, Rule("majority"), 10, None)}
    # [0, 10) crosses at 8; at half the length [2, 7) does not.
    assert changes(found["length 5 (half)"]) == {"dropped to class": 1}


def test_units_that_meet_under_one_name_are_not_crossed() -> None:
    """As in the index: a unit is known by its name, not by where its spans meet."""
    dense = Evidence.dense(np.zeros(20, int), {0: "normal"})
    spans = UnitSpans((0, 8), ("a", "a"))
    found = {v.setting: v for v in sweep(shard(dense, 20, spans), LABELS, Rule("majority"), 10, None)}
    assert all(variant.changed == 0 for variant in found.values())


def test_windows_of_the_source_have_nothing_to_vary() -> None:
    assert swept(Evidence.native("f", 12), 12, Rule("native"), None, None) == {}
