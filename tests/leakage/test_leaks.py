"""Every leak planted in a release is found and named, from the release alone and by ``readbench verify``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import expectations
from expectations import projections
from readbench_data.entry import nest, unnest
from readbench_data.leakage.facts import Facts, from_lane, from_release
from readbench_data.leakage.leaks import KINDS, LeakReport, find_leaks
from readbench_data.leakage.shortcuts import find_shortcuts
from tests.support import built

QUERIES, CORPUS = "queries.parquet", "corpus-anomalies.parquet"
AUDIT = "audit/mit_bih.parquet"


class Planter:
    """A copy of a release whose entries are changed."""

    def __init__(self, release: Path) -> None:
        self.release = release
        self.folder = release / "data" / "mit_bih"

    def values(self, file: str) -> list[np.ndarray]:
        return [w.copy() for w in unnest(pq.read_table(self.folder / file)["ts_values"])]

    def put(self, file: str, row: int, window: np.ndarray) -> None:
        table = pq.read_table(self.folder / file)
        windows = [w.copy() for w in unnest(table["ts_values"])]
        windows[row] = window.astype(np.float32)
        column = table.schema.get_field_index("ts_values")
        changed = table.set_column(
            column, table.schema.field(column), nest(windows).cast(table.schema.field(column).type)
        )
        pq.write_table(changed, self.folder / file)

    def audit(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        path = self.release / AUDIT
        table = change(pl.read_parquet(path)).to_arrow().cast(pq.read_schema(path))
        pq.write_table(table, path)

    def ids(self, file: str) -> list[str]:
        found: list[str] = pq.read_table(self.folder / file, columns=["entry_id"])["entry_id"].to_pylist()
        return found

    def leaks(self) -> LeakReport:
        return find_leaks(from_release(self.release, "mit_bih"))


@pytest.fixture
def planter(lite: built.Built, tmp_path: Path) -> Planter:
    target = tmp_path / "release"
    shutil.copytree(lite.release, target)
    return Planter(target)


def found_in(report: LeakReport, blocking: bool) -> dict[str, int]:
    return {f.kind: f.count for f in report.findings if f.blocking == blocking and f.count}


def test_a_release_as_built_has_no_blocking_leak(planter: Planter) -> None:
    report = planter.leaks()
    assert found_in(report, blocking=True) == {}
    assert [f.kind for f in report.findings] == list(KINDS)


def test_a_query_copied_into_the_corpus(planter: Planter) -> None:
    planter.put(CORPUS, 4, planter.values(QUERIES)[2])
    report = planter.leaks()
    assert found_in(report, blocking=True) == {"duplicate_across": 1}
    example = report["duplicate_across"].examples[0]
    assert planter.ids(QUERIES)[2] in example
    assert planter.ids(CORPUS)[4] in example
    ran = built.readbench("verify", planter.release)
    assert ran.code == 1
    assert "queries whose values are also in the corpus" in ran.err


def test_a_copy_with_gain_and_offset(planter: Planter) -> None:
    before = found_in(planter.leaks(), blocking=False).get("same_shape_across", 0)
    planter.put(CORPUS, 7, planter.values(QUERIES)[5] * np.array([4.0, 0.5]) + np.array([16.0, -2.0]))
    report = planter.leaks()
    assert report["same_shape_across"].count == before + 1
    pair = (planter.ids(QUERIES)[5], planter.ids(CORPUS)[7])
    assert any(all(name in example for name in pair) for example in report["same_shape_across"].examples)
    assert found_in(report, blocking=True) == {}


def test_a_copy_shifted_by_three_samples(planter: Planter) -> None:
    before = planter.leaks()["near_duplicate_across"].count
    window = planter.values(QUERIES)[3]
    planter.put(CORPUS, 9, np.concatenate([window[3:], window[-1:] + np.cumsum(np.ones((3, 2)), axis=0) * 0.004]))
    found = planter.leaks()["near_duplicate_across"]
    assert found.count == before + 1
    example = next(s for s in found.examples if planter.ids(QUERIES)[3] in s)
    assert planter.ids(CORPUS)[9] in example
    assert example.endswith("at a shift of 3")


def test_an_entry_twice_in_the_corpus(planter: Planter) -> None:
    channels = pq.read_table(planter.folder / CORPUS)["channels"].to_pylist()
    again = channels.index(channels[0], 1)
    planter.put(CORPUS, again, planter.values(CORPUS)[0])
    assert found_in(planter.leaks(), blocking=True) == {"duplicate_within": 1}


def test_a_unit_on_both_sides(planter: Planter) -> None:
    def move(audit: pl.DataFrame) -> pl.DataFrame:
        unit = audit.filter(pl.col("outcome") == "corpus")["unit"][0]
        query = audit.filter(pl.col("outcome") == "query")["entry_id"][0]
        return audit.with_columns(unit=pl.when(pl.col("entry_id") == query).then(pl.lit(unit)).otherwise("unit"))

    planter.audit(move)
    report = planter.leaks()
    assert found_in(report, blocking=True) == {"unit_on_both_sides": 1}
    assert report["unit_on_both_sides"].examples[0].startswith("subject-")


def test_rows_that_a_query_and_a_corpus_entry_share(planter: Planter) -> None:
    def slide(audit: pl.DataFrame) -> pl.DataFrame:
        query = audit.filter(pl.col("outcome") == "query").row(0, named=True)
        entry = audit.filter(pl.col("outcome") == "corpus")["entry_id"][0]
        chosen = pl.col("entry_id") == entry
        return audit.with_columns(
            source_file=pl.when(chosen).then(pl.lit(query["source_file"])).otherwise("source_file"),
            recording_id=pl.when(chosen).then(pl.lit(query["recording_id"])).otherwise("recording_id"),
            row_start=pl.when(chosen).then(query["row_stop"] - 1).otherwise("row_start"),
            row_stop=pl.when(chosen).then(query["row_stop"] + 255).otherwise("row_stop"),
        )

    planter.audit(slide)
    assert found_in(planter.leaks(), blocking=True) == {"overlap_across": 1}


def test_the_lane_and_its_release_have_the_same_findings(lite: built.Built) -> None:
    lane = built.lane("mit_bih", lite.data)
    whole, alone = find_leaks(from_lane(lane)), find_leaks(from_release(lite.release, "mit_bih"))
    drawn = [k for k in KINDS if k.endswith(("_across", "_within", "_sides"))]
    assert {k: whole[k].count for k in drawn} == {k: alone[k].count for k in drawn}


def test_the_same_series_in_sets_of_other_classes_is_reported(lite: built.Built) -> None:
    report = find_leaks(from_lane(built.lane("ctsr", lite.data)))
    assert report["conflicting_duplicate"].count > 0
    pairs = report["shared_between_recordings"].examples
    assert any("_TRAIN.t" in pair and "of different classes" in pair for pair in pairs), pairs


@pytest.mark.parametrize("kind", [k for k, (blocking, _) in KINDS.items() if blocking])
def test_the_suite_stops_a_build_at_every_blocking_leak(lite: built.Built, kind: str) -> None:
    facts = from_release(lite.release, "mit_bih")
    found, shortcuts = find_leaks(facts), find_shortcuts(facts)
    sound = projections.leaks(found, shortcuts)
    expectations.require("leaks", "mit_bih", sound)
    with pytest.raises(expectations.CheckFailed, match=r"mit_bih: check leaks/no_.*such as this"):
        expectations.require("leaks", "mit_bih", sound.assign(**{kind: 2}), {kind: ["such as this"]})


def facts_of(*recordings: tuple[str, str, str, str]) -> Facts:
    """One window that is not selected per (unit, recording, time_start, time_stop)."""
    rows = [
        {
            "entry_id": f"{number:032x}",
            "recording_id": name,
            "unit": unit,
            "own_unit": unit,
            "outcome": "pool",
            "class_label": "x",
            "source_file": f"{name}.csv",
            "row_start": 0,
            "row_stop": 1,
            "time_start": start,
            "time_stop": stop,
        }
        for number, (unit, name, start, stop) in enumerate(recordings)
    ]
    empty = dict.fromkeys(("content_hash", "shape_hash", "constant_mask", "duplicate_of", "reason"), pl.String)
    frame = pl.DataFrame(rows).with_columns(
        *(pl.lit(None, kind).alias(name) for name, kind in empty.items()), channels=pl.lit(None, pl.List(pl.String))
    )
    return Facts("plant", frame, np.zeros((len(rows), 64), np.float32), lambda ids: {})


def test_recordings_that_follow_one_another_do_not_overlap_in_time() -> None:
    """``time_stop`` is exclusive: a recording may start at the time at which the previous one stops."""
    morning = ("well", "a", "2020-01-01T08:00:00", "2020-01-01T09:00:00")
    touching = ("well", "b", "2020-01-01T09:00:00", "2020-01-01T10:00:00")
    earlier = ("well", "b", "2020-01-01T08:59:59.900", "2020-01-01T10:00:00")
    assert find_leaks(facts_of(morning, touching))["overlap_in_time"].count == 0
    found = find_leaks(facts_of(morning, earlier))["overlap_in_time"]
    assert found.examples == (
        "well: b starts at 2020-01-01T08:59:59.900, before the last window of a stops at 2020-01-01T09:00:00",
    )
    other = ("other well", *earlier[1:])
    assert find_leaks(facts_of(morning, other))["overlap_in_time"].count == 0, "another unit"
    assert find_leaks(facts_of(("u", "a", "0s", "9s"), ("u", "b", "1s", "9s")))["overlap_in_time"].count == 0, (
        "seconds of two recordings have no common origin"
    )
