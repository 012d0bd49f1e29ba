"""The diff of two releases reports changes by entry, class and cause."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from readbench_data.audit.diff_page import diff_page
from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.entry import nest, unnest
from readbench_data.errors import ReadbenchError
from readbench_data.release.content import content_sha256
from readbench_data.release.diff import diff_releases
from readbench_data.release.diff_report import KINDS
from tests.support import built

ANOMALIES, QUERIES = "data/mit_bih/corpus-anomalies.parquet", "data/mit_bih/queries.parquet"
AUDIT = "audit/mit_bih.parquet"


class After:
    """A changed copy of a release with a matching manifest."""

    def __init__(self, before: Path, folder: Path) -> None:
        self.before, self.folder = before, folder
        shutil.copytree(before, folder)

    def state(self, change: Callable[[dict[str, Any]], object]) -> None:
        manifest = json.loads((self.folder / "manifest.json").read_text())
        change(manifest)
        (self.folder / "manifest.json").write_text(json.dumps(manifest))

    def table(self, path: str, change: Callable[[pa.Table], pa.Table]) -> None:
        table = change(pq.read_table(self.folder / path))
        pq.write_table(table, self.folder / path)
        self.state(lambda m: m["files"][path].update(content_sha256=content_sha256(table), rows=table.num_rows))

    def audit(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        schema = pq.read_schema(self.folder / AUDIT)
        self.table(AUDIT, lambda t: change(pl.DataFrame(t)).to_arrow().cast(schema))

    def diff(self) -> Any:
        return diff_releases(self.before, self.folder)


@pytest.fixture
def after(lite: built.Built, tmp_path: Path) -> After:
    return After(lite.release, tmp_path / "after")


def some(after: After, outcome: str) -> dict[str, Any]:
    return pl.read_parquet(after.before / AUDIT).filter(pl.col("outcome") == outcome).row(0, named=True)


def only(kind: str, n: int = 1) -> dict[str, int]:
    return {k: n if k == kind else 0 for k in KINDS}


def test_a_release_and_its_copy_have_no_differences(after: After) -> None:
    found = after.diff()
    assert (found.total, found.proposed_bump(), found.causes, found.files) == (only(""), None, (), ())
    assert found.words().endswith("the two releases are identical")


def test_a_relabelled_entry(after: After) -> None:
    entry = some(after, "corpus")
    wrong = "V" if entry["class_label"] != "V" else "S"
    chosen = pl.col("entry_id") == entry["entry_id"]
    after.audit(lambda a: a.with_columns(class_label=pl.when(chosen).then(pl.lit(wrong)).otherwise("class_label")))
    found = after.diff()
    assert found.total == only("relabelled")
    dataset = next(d for d in found.datasets if d.dataset == "mit_bih")
    assert dataset.by_class() == [("relabelled", f"{entry['class_label']} -> {wrong}", 1)]
    assert found.proposed_bump() == "major"


def test_a_relabelled_window_that_is_not_published(after: After) -> None:
    window = some(after, "pool")
    chosen = pl.col("entry_id") == window["entry_id"]
    after.audit(lambda a: a.with_columns(class_label=pl.when(chosen).then(pl.lit("S")).otherwise("class_label")))
    found = after.diff()
    assert found.total == only("")
    assert [d.relabelled_unpublished for d in found.changed()] == [1]
    assert found.proposed_bump() == "major"


def test_a_value_that_differs_in_the_last_bit(after: After) -> None:
    def nudge(table: pa.Table) -> pa.Table:
        windows = [w.copy() for w in unnest(table["ts_values"])]
        windows[3].view("uint32")[10, 0] ^= 1
        column = table.schema.get_field_index("ts_values")
        return table.set_column(column, table.schema.field(column), nest(windows).cast(table.schema.field(column).type))

    after.table(ANOMALIES, nudge)
    found = after.diff()
    assert found.total == only("revalued")
    entry = pq.read_table(after.before / ANOMALIES)["entry_id"][3].as_py()
    assert found.changed()[0].changes["entry_id"].to_list() == [entry]


def test_changed_extras(after: After) -> None:
    def add_note(table: pa.Table) -> pa.Table:
        extras = pc.replace_substring(table["extras"], "}", ', "note": 1}')
        column = table.schema.get_field_index("extras")
        return table.set_column(column, table.schema.field(column), extras)

    after.table(QUERIES, add_note)
    found = after.diff()
    assert found.total == only("redescribed", 20)
    assert found.proposed_bump() == "patch"


def test_an_entry_that_changed_sides_and_an_added_entry(after: After) -> None:
    query, waiting = some(after, "query"), some(after, "pool")
    moved, come = pl.col("entry_id") == query["entry_id"], pl.col("entry_id") == waiting["entry_id"]
    after.audit(
        lambda a: a.with_columns(
            outcome=pl.when(moved | come).then(pl.lit("corpus")).otherwise("outcome"),
            pollution=pl.when(moved | come).then(0).otherwise("pollution"),
        )
    )
    found = after.diff()
    assert found.total == {**only("moved"), "added": 1}
    dataset = found.changed()[0]
    assert ("moved", f"{query['class_label']} (queries -> anomalies)", 1) in dataset.by_class()
    assert dataset.whys() == {f"added: pool, {waiting['reason']}": 1}


def test_added_entries_need_a_minor_step(after: After) -> None:
    waiting = some(after, "pool")
    come = pl.col("entry_id") == waiting["entry_id"]
    after.audit(
        lambda a: a.with_columns(
            outcome=pl.when(come).then(pl.lit("corpus")).otherwise("outcome"),
            pollution=pl.when(come).then(20).otherwise("pollution"),
        )
    )
    assert after.diff().proposed_bump() == "minor"


def test_a_removed_and_an_added_dataset(after: After) -> None:
    def lose(manifest: dict[str, Any]) -> None:
        manifest["datasets"]["ctsr"] = {"status": "no_data", "reason": "the mirror has no folder ctsr"}
        manifest["files"] = {p: f for p, f in manifest["files"].items() if "/ctsr" not in p}

    after.state(lose)
    entries = sum(pq.read_metadata(p).num_rows for p in (after.before / "data" / "ctsr").glob("*.parquet"))
    gone, back = after.diff(), diff_releases(after.folder, after.before)
    assert gone.total == only("removed", entries)
    assert back.total == only("added", entries)
    assert (gone.proposed_bump(), back.proposed_bump()) == ("major", "minor")
    assert gone.changed()[0].causes == ("status ok -> no_data (the mirror has no folder ctsr)",)
    line = f"ctsr: only in A ({entries} entries); no data in B (the mirror has no folder ctsr)"
    text = gone.words()
    assert [row for row in text.splitlines() if "ctsr" in row] == [line]
    assert "(A) to " in text
    assert "no longer" not in text, "the dataset was removed, not its windows"
    assert f"ctsr: only in B ({entries} entries); no data in A (the mirror has no folder ctsr)" in back.words()
    shown = json.loads(json.dumps(gone.to_json()))["datasets"]["ctsr"]
    assert (shown["only_in"], shown["reason"]) == ("A", "the mirror has no folder ctsr")
    assert (shown["counts"]["removed"], shown["by_class"], shown["why"]) == (entries, [], {})
    assert len(shown["entries"]) == entries
    page = diff_page(gone)
    assert f'<td>ctsr</td><td class="n">{entries}</td>' in page
    assert 'id="ctsr"' not in page, "there is no section with tables of its classes"
    assert gone.datasets[0].only_in is None


def test_a_dataset_that_one_release_does_not_name(after: After) -> None:
    after.state(lambda m: m["datasets"].pop("mit_bih"))
    assert re.search(r"^mit_bih: only in A \([\d,]+ entries\); absent in B$", after.diff().words(), re.MULTILINE)


def test_a_count_of_one_is_reported_in_the_singular(after: After) -> None:
    window = some(after, "pool")
    chosen = pl.col("entry_id") == window["entry_id"]
    after.audit(lambda a: a.with_columns(class_label=pl.when(chosen).then(pl.lit("S")).otherwise("class_label")))
    found = after.diff()
    assert re.search(r"relabelled +1  window published in neither", found.words())
    assert "1 window that neither release publishes has another class" in diff_page(found)


def test_causes_name_settings_sources_and_code(after: After) -> None:
    def change(manifest: dict[str, Any]) -> None:
        dataset = manifest["datasets"]["mit_bih"]
        dataset["settings"]["stride"] = 128
        dataset["rule"]["coverage"] = 0.7
        first, second, *_ = sorted(dataset["source_files"])
        dataset["source_files"][first]["sha256"] = "0" * 64
        del dataset["source_files"][second]
        manifest["code_version"] = "f" * 64

    after.state(change)
    found = after.diff()
    causes = " | ".join(found.changed()[0].causes)
    for words in ("settings stride", "-> 128", "rule coverage 0.5 -> 0.7", "files changed: ", "files gone: "):
        assert words in causes
    assert found.causes[0].endswith("-> ffffffffffff")
    assert found.proposed_bump() == "patch"


def test_another_seed_selects_other_entries_and_changes_no_label(lite: built.Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data")
    other = BenchmarkConfig(seed=7, corpus_cap=LITE.corpus_cap, query_cap=LITE.query_cap)
    for name in built.THREE:
        built.run_lane(built.lane(name, data, config=other))
    built.gather(data, "0.9.1-lite", other)
    found = diff_releases(lite.release, data / "release" / "0.9.1-lite")
    assert found.total["relabelled"] == found.total["revalued"] == 0
    assert found.total["added"] > 20
    assert "seed 42 -> 7" in found.causes
    assert {d.dataset for d in found.changed()} == set(built.THREE)
    page = diff_page(found)
    assert "<script" not in page
    assert "http" not in page
    assert "pool, over_cap" in page
    assert json.loads(json.dumps(found.to_json()))["total"] == found.total


def test_a_folder_that_is_not_a_release_is_refused(lite: built.Built, tmp_path: Path) -> None:
    with pytest.raises(ReadbenchError, match="not a finished release"):
        diff_releases(lite.release, tmp_path)
    (tmp_path / "manifest.json").write_text("[1]")
    with pytest.raises(ReadbenchError, match="not the manifest of a release"):
        diff_releases(tmp_path, lite.release)
