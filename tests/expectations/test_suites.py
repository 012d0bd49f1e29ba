"""The suites: each passes on the result of a correct build and fails, naming the check, on a planted fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import expectations
import sources
from expectations import projections
from readbench_data.dataset.config import LITE
from readbench_data.lane import INDEX, SUMMARY
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store
from tests.support import built

STAGES = ("recordings", "windows", "benchmark", "release")


@dataclass(frozen=True)
class Sound:
    """The results of the stages of a correct build, and their projections."""

    summary: Any
    index: Any
    audit: pl.DataFrame
    release: Path

    def project(self, stage: str) -> pd.DataFrame:
        if stage == "recordings":
            return projections.recordings(self.summary)
        if stage == "windows":
            return self.windows(self.index)
        if stage == "benchmark":
            return self.benchmark(self.audit)
        return projections.release(verify_release(Store(str(self.release))).rows())

    def windows(self, index: Any) -> pd.DataFrame:
        made = built.lane("mit_bih", self.release.parents[1])
        return projections.windows(index, made.source, made.settings, made.rule)

    def benchmark(self, audit: pl.DataFrame) -> pd.DataFrame:
        source = sources.get("mit_bih")
        return projections.benchmark(audit, LITE, LITE.for_dataset("mit_bih", source.config))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    lite = built.lite(tmp_path_factory)
    made = built.lane("mit_bih", lite.data)
    places = {}
    for stage in ("recordings", "windows"):
        record = made.stage(stage).current()
        assert record is not None
        places[stage] = lite.data / made.stage(stage).place(record.key)
    return Sound(
        summary=pq.read_table(places["recordings"] / SUMMARY),
        index=pq.read_table(places["windows"] / INDEX),
        audit=pl.read_parquet(lite.release / "audit" / "mit_bih.parquet"),
        release=lite.release,
    )


def failed(outcomes: Sequence[expectations.CheckResult]) -> set[str]:
    return {o.check for o in outcomes if not o.passed}


@pytest.mark.parametrize("stage", STAGES)
def test_a_sound_table_passes_every_check(sound: Sound, stage: str) -> None:
    outcomes = expectations.run(stage, sound.project(stage))
    assert failed(outcomes) == set()
    assert [o.check for o in outcomes] == [name for name, _, _ in expectations.checks(stage)]
    assert len(outcomes) > 8


def cell(column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """One value of a column replaced."""

    def plant(frame: pd.DataFrame) -> pd.DataFrame:
        frame[column] = frame[column].astype(object if isinstance(value, str) or value is None else float)
        frame.loc[2, column] = value
        return frame

    return plant


def twice(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.iloc[[0]]], ignore_index=True)


def none(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.iloc[:0]


FAULTS: dict[str, dict[str, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "recordings": {
        "has_recordings": none,
        "values_finite": cell("non_finite", 1),
        "no_sentinel_left": cell("sentinels_left", 1),
        "within_float32": cell("maximum", 1e38),
        "above_float32_floor": cell("minimum", -1e38),
        "not_empty": cell("steps", 0),
        "channel_names_unique": cell("duplicate_channels", 1),
        "rows_in_order": cell("rows_backwards", 1),
        "time_monotone": cell("time_backwards", 1),
        "segments_unique": twice,
        "has_unit": cell("unit", None),
        "little_filled": cell("filled_share", 0.9),
    },
    "windows": {
        "has_windows": none,
        "id_present": cell("entry_id", None),
        "id_unique": twice,
        "id_opaque": cell("entry_id", "mit_bih/100/0"),
        "labelled_or_dropped": cell("label_xor_reason", 2),
        "class_in_vocabulary": cell("unknown_class", 1),
        "window_length": cell("steps", 0),
        "length_as_declared": cell("length_error", 1),
        "votes_add_up": cell("vote_error", 3),
        "majority_is_one": cell("majority_error", 1),
        "normal_is_pure": cell("normal_with_fault", 1),
        "rows_forward": cell("row_stop", 0),
        "context_holds_window": cell("outside_context", 1),
        "filled_is_fraction": cell("filled_fraction", 1.5),
        "mostly_measured": lambda f: f.assign(filled_fraction=np.where(np.arange(len(f)) % 10 == 0, 0.9, 0.0)),
    },
    "benchmark": {
        "outcome_known": cell("outcome", "perhaps"),
        "queries_are_faults": cell("fault_query", 0),
        "units_disjoint": cell("unit_on_both_sides", 1),
        "no_duplicate_drawn": cell("duplicate_drawn", 1),
        "corpus_within_cap": lambda f: f.assign(over_corpus_cap=1),
        "queries_within_cap": lambda f: f.assign(over_query_cap=1),
        "normals_exact": lambda f: f.assign(normals_error=1),
        "queries_have_relevant": cell("relevant_missing", 1),
        "dropped_not_drawn": cell("dropped_drawn", 1),
        "reason_given": cell("reason_missing", 1),
        "has_queries": lambda f: f.assign(has_queries=0),
    },
    "release": {
        "schema": cell("schema_error", 1),
        "checksums": cell("checksum_error", 1),
        "rows": cell("row_error", 1),
        "order_by_hash": cell("order_error", 1),
        "values_finite": cell("nan_values", 1),
        "shapes": cell("shape_error", 1),
        "labels_agree": cell("label_error", 1),
        "files_listed": cell("unlisted", 1),
        "ids_in_audit": cell("unresolved", 1),
    },
}
WARNINGS = {"little_filled", "mostly_measured", "has_queries"}
ALONG = {"id_opaque": set(), "none": set()}


def test_every_check_has_a_planted_fault() -> None:
    assert {stage: set(faults) for stage, faults in FAULTS.items()} == {
        stage: {name for name, _, _ in expectations.checks(stage)} for stage in STAGES
    }


@pytest.mark.parametrize(("stage", "check"), [(s, c) for s, faults in FAULTS.items() for c in faults])
def test_a_planted_fault_fails_its_check_and_the_error_names_it(sound: Sound, stage: str, check: str) -> None:
    frame = FAULTS[stage][check](sound.project(stage).head(300).copy())
    outcomes = expectations.run(stage, frame)
    assert check in failed(outcomes)
    assert failed(outcomes) <= {check, "filled_is_fraction", "mostly_measured", "id_opaque"}
    found = next(o for o in outcomes if o.check == check)
    assert found.blocking == (check not in WARNINGS)
    if found.blocking:
        with pytest.raises(expectations.CheckFailed, match=rf"^plant: check {stage}/{check} failed") as raised:
            expectations.judge(stage, "plant", outcomes)
        assert "\n" not in str(raised.value)
        assert found.description in str(raised.value)
        assert raised.value.results == outcomes
    else:
        assert [o.check for o in expectations.judge(stage, "plant", outcomes)] == [o.check for o in outcomes]


def test_faults_in_an_index_reach_their_checks(sound: Sound) -> None:
    """Through the projection: a wrong class, an impure Normal, an unknown class, a window cut short."""
    frame = pl.DataFrame(sound.index)
    faults = frame.with_row_index().filter(pl.col("class_label").is_in(["S", "V", "F", "Q"]))["index"]
    normal = frame.with_row_index().filter(pl.col("class_label") == "Normal")["index"]
    mixed = frame.with_row_index().filter(
        pl.col("class_label").is_in(["V"]) & (pl.col("votes").list.len() > 1)
    )["index"]  # fmt: skip

    def set_class(row: int, label: str) -> pl.DataFrame:
        here = pl.int_range(pl.len()) == row
        return frame.with_columns(class_label=pl.when(here).then(pl.lit(label)).otherwise("class_label"))

    planted = {
        "majority_is_one": set_class(normal[0], "V"),
        "normal_is_pure": set_class(mixed[0], "Normal"),
        "class_in_vocabulary": set_class(faults[0], "Z"),
        "length_as_declared": frame.with_columns(
            stop=pl.when(pl.int_range(pl.len()) == 1).then(pl.col("stop") - 1).otherwise("stop")
        ),
    }
    for check, index in planted.items():
        assert check in failed(expectations.run("windows", sound.windows(index.to_arrow().cast(sound.index.schema))))


def test_faults_in_an_audit_table_reach_their_checks(sound: Sound) -> None:
    audit = sound.audit
    query = audit.filter(pl.col("outcome") == "query")
    corpus = audit.filter((pl.col("outcome") == "corpus") & (pl.col("class_label") != "Normal"))

    def where(entry: str, **values: object) -> pl.DataFrame:
        here = pl.col("entry_id") == entry
        return audit.with_columns(
            **{k: pl.when(here).then(pl.lit(v, audit.schema[k])).otherwise(k) for k, v in values.items()}
        )

    normals = audit.filter((pl.col("outcome") == "corpus") & (pl.col("class_label") == "Normal"))
    dropped = audit.filter(pl.col("outcome") == "dropped")
    planted = {
        "units_disjoint": where(query["entry_id"][0], unit=corpus["unit"][0]),
        "queries_are_faults": where(query["entry_id"][0], class_label="Normal"),
        "no_duplicate_drawn": where(corpus["entry_id"][0], duplicate_of=corpus["entry_id"][1]),
        "normals_exact": where(normals["entry_id"][0], outcome="pool", reason="normal_not_drawn", pollution=None),
        "reason_given": where(dropped["entry_id"][0], reason=None),
        "queries_have_relevant": where(query["entry_id"][0], class_label="Z"),
        "outcome_known": where(query["entry_id"][0], outcome="perhaps"),
    }
    for check, table in planted.items():
        assert check in failed(expectations.run("benchmark", sound.benchmark(table))), check


@pytest.mark.parametrize("stage", STAGES)
def test_a_missing_column_fails_loudly(sound: Sound, stage: str) -> None:
    suite = json.loads((expectations.FOLDER / f"{stage}.json").read_text())
    checked = [(e["meta"]["check"], e["kwargs"]["column"]) for e in suite["expectations"] if "column" in e["kwargs"]]
    blocking = {name for name, _, blocks in expectations.checks(stage) if blocks}
    check, column = next((c, k) for c, k in checked if c in blocking and [x for _, x in checked].count(k) == 1)
    outcomes = expectations.run(stage, sound.project(stage).head(50).drop(columns=[column]))
    assert failed(outcomes) == {check}
    observed = next(o for o in outcomes if o.check == check).observed
    assert column in str(observed), "the missing column is named"
    with pytest.raises(expectations.CheckFailed, match=check):
        expectations.judge(stage, "plant", outcomes)


@pytest.mark.parametrize("value", [[1.0], (1, 2), {"a": 1}, np.zeros(3)], ids=["list", "tuple", "dict", "array"])
@pytest.mark.parametrize("row", [0, 3])
def test_a_nested_column_is_refused_before_it_is_checked(sound: Sound, value: object, row: int) -> None:
    frame = sound.project("windows").head(5).copy()
    nested = pd.Series([None] * 5, dtype=object)
    nested[row] = value
    with pytest.raises(ValueError, match="column ts_values is nested: only scalar columns are allowed"):
        expectations.run("windows", frame.assign(ts_values=nested.to_numpy()))


def test_projections_hold_scalars_only(sound: Sound) -> None:
    for stage in STAGES:
        frame = sound.project(stage)
        for column in frame.columns:
            kinds = {type(v) for v in frame[column].head(200)}
            assert not kinds & {list, tuple, dict, np.ndarray}, f"{stage}.{column}"


def test_no_expectation_carries_an_id_or_a_machine(sound: Sound) -> None:
    for stage in STAGES:
        text = (expectations.FOLDER / f"{stage}.json").read_text()
        assert "/tmp" not in text
        for expectation in json.loads(text)["expectations"]:
            assert set(expectation) <= {"type", "kwargs", "severity", "meta"}
            assert set(expectation["meta"]) == {"check", "why"}
            assert len(expectation["meta"]["why"]) > 10
