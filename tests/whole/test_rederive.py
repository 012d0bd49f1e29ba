"""Random entries are derived again from the original files by plain code that shares nothing with the pipeline:
``rederive/<dataset>.py``. Add a module there and its dataset is tested here.
"""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.errors import NoData
from tests.support import built

NAMES = sorted(p.stem for p in (Path(__file__).parent / "rederive").glob("[!_]*.py"))
DRAWN = 40
MANY = 200
CODED_BY_NUMBER = ("petrobras_3w", "tennessee_eastman")
"""Datasets for which ``rederive`` returns the number of the steady-state code, not the name of the class."""


def entries_of(place: Path, audit: Path) -> pl.DataFrame:
    """Return every entry in a folder (its pool if it has one), with its row of the audit table."""
    files = sorted((place / "pool").glob("*.parquet"))
    files = files or [p for p in sorted(place.glob("*.parquet")) if p.name.startswith(("queries", "corpus"))]
    assert files
    values = pl.concat([pl.read_parquet(p) for p in files]).select("entry_id", "ts_values", "channels")
    rows = pl.read_parquet(audit)
    assert values["entry_id"].is_in(rows["entry_id"].to_list()).all(), "every entry is in the audit table"
    return values.join(rows, on="entry_id", how="inner").sort("entry_id")


def check(name: str, root: Path, entries: pl.DataFrame, drawn: int) -> None:
    """Derive ``drawn`` entries again, including every class, and compare exactly."""
    rederive = importlib.import_module(f"tests.whole.rederive.{name}").rederive
    chance = random.Random(f"rederive {name}")
    rows = list(range(entries.height))
    chance.shuffle(rows)
    one_per_class = entries.with_row_index().group_by("class_label").agg(pl.col("index").first())["index"].to_list()
    filled = entries.with_row_index().filter(pl.col("filled_fraction") > 0)["index"].to_list()
    for place in dict.fromkeys([*one_per_class, *filled[:10], *rows[:drawn]]):
        row = entries.row(place, named=True)
        values, votes, label = rederive(root, row, row["channels"])
        stored = np.array(row["ts_values"], np.float32)
        offset = row["row_start"] - row["context_start"] if len(values) != len(stored) else 0
        np.testing.assert_array_equal(values[offset : offset + len(stored)], stored, err_msg=row["entry_id"])
        assert {v["code"]: v["count"] for v in row["votes"]} == votes, row["entry_id"]
        if name in CODED_BY_NUMBER:
            assert label is not None
            assert {v["class_label"] for v in row["votes"] if int(v["code"]) % 100 == int(label)} == {
                row["class_label"]
            }
        else:
            assert label == row["class_label"], row["entry_id"]


drawn = pytest.mark.parametrize("drawn", [DRAWN, pytest.param(MANY, marks=pytest.mark.long)])


@drawn
@pytest.mark.parametrize("name", NAMES)
def test_entries_of_the_miniature_are_derived_again_from_its_files(
    name: str, drawn: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if name in built.THREE:
        lite = built.lite(tmp_path_factory)
        place, audit = lite.release / "data" / name, lite.release / "audit" / f"{name}.parquet"
        roots = sorted((lite.data / "cache" / "miniatures" / name).glob(f"*/{name}"))
    else:
        built.miniature(tmp_path_factory, name)
        made = built.lane(name, tmp_path, cache=built.miniatures(tmp_path_factory))
        record = built.run_lane(made)
        place = Path(made.store.url(made.stage("benchmark").place(record.key)))
        audit, roots = place / "audit.parquet", [made.files.root]
    assert len(roots) == 1
    check(name, roots[0], entries_of(place, audit), drawn)


@drawn
@pytest.mark.parametrize("name", NAMES)
def test_entries_of_the_real_files_are_derived_again(
    name: str, drawn: int, tmp_path: Path, realdata: Callable[[str], Path]
) -> None:
    root = realdata(name)
    made = built.lane(name, tmp_path, mirror=root.parent, config=BenchmarkConfig())
    try:
        record = built.run_lane(made)
        if not {"query", "corpus"} & set(record.outcomes):  # Normal windows only, which is possible with few traces
            made = replace(made, pool=True)
            record = built.run_lane(made)
    except NoData as absent:
        pytest.skip(f"the real files of {name} contain no window: {absent}")
    assert record.raw.origin == "mirror"
    place = Path(made.store.url(made.stage("benchmark").place(record.key)))
    check(name, root, entries_of(place, place / "audit.parquet"), drawn)


def test_a_wrong_value_or_vote_would_be_detected(tmp_path_factory: pytest.TempPathFactory) -> None:
    lite = built.lite(tmp_path_factory)
    root = next(iter((lite.data / "cache" / "miniatures" / "ctsr").glob("*/ctsr")))
    entries = entries_of(lite.release / "data" / "ctsr", lite.release / "audit" / "ctsr.parquet").head(1)
    check("ctsr", root, entries, 1)
    values = entries["ts_values"].to_list()
    values[0][3][0] = float(np.nextafter(np.float32(values[0][3][0]), np.float32(9)))
    wrong = entries.with_columns(pl.Series("ts_values", values, dtype=pl.List(pl.List(pl.Float32))))
    with pytest.raises(AssertionError):
        check("ctsr", root, wrong, 1)
    with pytest.raises(AssertionError):
        check("ctsr", root, entries.with_columns(class_label=pl.lit("Another:1")), 1)


def test_the_lite_build_has_the_settings_of_the_lite_profile(tmp_path_factory: pytest.TempPathFactory) -> None:
    manifest = json.loads((built.lite(tmp_path_factory).release / "manifest.json").read_text())
    assert manifest["config"] == LITE.to_json()
