"""A release in use: loaded with ``datasets``, composed from its pool, and published to the local folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml

import sources
from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.errors import ReadbenchError
from readbench_data.release.local import publish_local
from readbench_data.release.reading import read_manifest
from readbench_data.release.receipts import RECEIPTS
from readbench_data.selection.sampling import compose
from readbench_data.store.store import Store
from readbench_data.windows.fingerprint import fingerprint
from tests.support import built

SPLITS = ("queries", "corpus_p00", "corpus_p10", "corpus_p20")


@pytest.mark.parametrize("name", built.THREE)
def test_load_dataset_returns_every_split_offline_and_the_corpora_are_nested(
    lite: built.Built, tmp_path: Path, name: str
) -> None:
    from datasets import load_dataset

    composed = json.loads((lite.release / "composition.json").read_text())["datasets"][name]["built"]
    ids = {}
    for split in SPLITS:
        loaded = load_dataset(str(lite.release), name, split=split, cache_dir=str(tmp_path))
        ids[split] = list(loaded["entry_id"])
        assert set(loaded["dataset"]) == {name}
        assert set(loaded["native_split"]) == {"test" if split == "queries" else "train"}
        first = loaded.with_format("numpy")[0]["ts_values"]
        assert np.isfinite(np.asarray(first, np.float32)).all()
        assert len(first[0]) == len(loaded[0]["channels"])
    assert len(ids["queries"]) == composed["queries"]
    assert [len(ids[s]) for s in SPLITS[1:]] == composed["corpus"]
    assert set(ids["corpus_p00"]) <= set(ids["corpus_p10"]) <= set(ids["corpus_p20"])
    assert len(set(ids["corpus_p20"])) == len(ids["corpus_p20"])
    assert not set(ids["queries"]) & set(ids["corpus_p20"])


def test_the_card_lists_exactly_the_files_of_the_release(lite: built.Built) -> None:
    front = yaml.safe_load((lite.release / "README.md").read_text().split("---\n")[1])
    assert [c["config_name"] for c in front["configs"]] == sorted(built.THREE)
    listed = {p for c in front["configs"] for part in c["data_files"] for p in part["path"]}
    there = {p.relative_to(lite.release).as_posix() for p in (lite.release / "data").rglob("*.parquet")}
    assert listed == there
    ctsr = next(c for c in front["configs"] if c["config_name"] == "ctsr")
    assert [p["path"] for p in ctsr["data_files"][1:]] == [["data/ctsr/corpus-anomalies.parquet"]] * 3


def test_numbers_of_miniatures_are_marked_as_such(lite: built.Built) -> None:
    card = (lite.release / "README.md").read_text()
    assert "Built from miniatures" in card
    assert "MINIATURE" in built.readbench("audit", _some_id(lite), "--data", lite.data).out


def _some_id(lite: built.Built) -> str:
    found: str = pq.read_table(lite.release / "data/ctsr/queries.parquet")["entry_id"][0].as_py()
    return found


@pytest.mark.parametrize("name", built.THREE)
def test_pool_and_config_reproduce_queries_and_corpora(pooled: Path, lite: built.Built, name: str) -> None:
    """From the published folder alone: fingerprints are computed again, units are taken from the audit table."""
    manifest = json.loads((pooled / "manifest.json").read_text())
    config = BenchmarkConfig.from_json(manifest["config"])
    settings = type(sources.get(name).config).model_validate(manifest["datasets"][name]["settings"])
    parts = sorted((pooled / "data" / name / "pool").glob("*.parquet"))
    pool = pl.concat([pl.read_parquet(p) for p in parts])
    assert pool["entry_id"].is_sorted()
    prints = []
    for row in pool.select("ts_values", "channels").iter_rows():
        window = np.array(row[0], np.float32)
        prints += fingerprint(window, row[1], np.array([0]), np.array([len(window)])).content_hash
    audit = pl.read_parquet(pooled / "audit" / f"{name}.parquet")
    kept = audit.filter(pl.col("outcome") != "dropped")
    assert set(kept["entry_id"]) == set(pool["entry_id"])
    windows = pool.select("entry_id", "class_label", content_hash=pl.Series(prints)).join(
        kept.select("entry_id", "unit", "native_split"), on="entry_id"
    )
    again = compose(windows, config, settings).windows
    for file, outcome, level in (
        ("queries", "query", None),
        ("corpus-anomalies", "corpus", 0),
        ("corpus-normals-10", "corpus", 10),
        ("corpus-normals-20", "corpus", 20),
    ):
        path = pooled / "data" / name / f"{file}.parquet"
        drawn = again.filter((pl.col("outcome") == outcome) & pl.col("pollution").eq_missing(level))
        released = pl.read_parquet(path)["entry_id"].to_list() if path.exists() else []
        assert sorted(drawn["entry_id"]) == released
        assert (lite.release / "data" / name / f"{file}.parquet").exists() == path.exists()
        if path.exists():
            assert path.read_bytes() == (lite.release / "data" / name / f"{file}.parquet").read_bytes()


@pytest.fixture
def data(lite: built.Built, tmp_path: Path) -> Path:
    return lite.copy(tmp_path / "data", "release", "published")


def changed(data: Path) -> None:
    """Write another release under the same version."""
    card = data / "release" / built.VERSION / "README.md"
    card.write_text(card.read_text() + "\nmore\n")
    file = data / "release" / built.VERSION / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["files"]["README.md"]["content_sha256"] = "0" * 64
    file.write_text(json.dumps(manifest))


def test_the_build_published_its_release_to_the_local_folder(lite: built.Built) -> None:
    assert built.tree(lite.data / "published" / built.VERSION) == built.tree(lite.release)


def test_publishing_again_does_nothing(data: Path) -> None:
    target = data / "published" / built.VERSION
    before = {p: p.stat().st_mtime_ns for p in target.rglob("*")}
    receipt = publish_local(Store(str(data)), built.VERSION)
    assert receipt.unchanged
    assert receipt.target == str(target)
    assert {p: p.stat().st_mtime_ns for p in target.rglob("*")} == before


def test_an_unpublished_version_is_replaced_as_a_whole(data: Path) -> None:
    changed(data)
    (data / "published" / built.VERSION / "stale").write_text("x")
    assert not publish_local(Store(str(data)), built.VERSION).unchanged
    assert built.tree(data / "published" / built.VERSION) == built.tree(data / "release" / built.VERSION)
    assert built.leftovers(data) == []


def test_a_published_version_is_never_rewritten(data: Path) -> None:
    manifest = read_manifest(data / "release" / built.VERSION)
    receipt = {built.VERSION: {"content": manifest.content, "target": "x"}}
    (data / RECEIPTS).write_text(json.dumps(receipt))
    assert publish_local(Store(str(data)), built.VERSION).unchanged
    before = built.tree(data / "published")
    changed(data)
    with pytest.raises(
        ReadbenchError, match=f"version {built.VERSION} is published with other content".replace(".", r"\.")
    ):
        publish_local(Store(str(data)), built.VERSION)
    assert built.tree(data / "published") == before


def test_publishing_a_version_that_is_not_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadbenchError, match=r"no manifest\.json: build the release first"):
        publish_local(Store(str(tmp_path)), "9.9.9")


def test_a_copy_without_its_manifest_is_written_again(data: Path) -> None:
    shutil.rmtree(data / "published" / built.VERSION)
    (data / "published" / built.VERSION).mkdir()
    assert not publish_local(Store(str(data)), built.VERSION).unchanged
    assert built.tree(data / "published" / built.VERSION) == built.tree(data / "release" / built.VERSION)
