"""Verification finds every planted problem and reports where it is. The checksums and counts in the manifest are
changed to match the planted problem, unless the test is about them.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readbench_data.entry import nest, unnest
from readbench_data.errors import ReadbenchError
from readbench_data.release.content import content_sha256
from readbench_data.release.verify import ERRORS, verify_release
from readbench_data.store.store import Store
from tests.support import built

ANOMALIES = "data/mit_bih/corpus-anomalies.parquet"
QUERIES = "data/mit_bih/queries.parquet"
AUDIT = "audit/mit_bih.parquet"


class Tampered:
    """A copy of a release whose manifest is updated after every change, so that checksums and counts match."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "manifest.json").read_text())
        return found

    def state(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the manifest."""
        manifest = self.manifest
        change(manifest)
        (self.folder / "manifest.json").write_text(json.dumps(manifest))

    def table(self, path: str, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
        """Change a Parquet file, and the manifest with it."""
        table = change(pq.read_table(self.folder / path))
        pq.write_table(table, self.folder / path, **options)
        self.fit(path, rows=table.num_rows, content_sha256=content_sha256(table))

    def fit(self, path: str, **stated: Any) -> None:
        data = (self.folder / path).read_bytes()
        sha = hashlib.sha256(data).hexdigest()
        plain = {"content_sha256": sha} if not path.endswith(".parquet") else {}
        self.state(lambda m: m["files"][path].update({"sha256": sha, "bytes": len(data)} | plain | stated))

    def problems(self) -> list[str]:
        report = verify_release(Store(str(self.folder)))
        counted = sum(report.rows()[i][e] for i in range(len(report.files)) for e in ERRORS)
        assert (counted > 0) == (not report.ok), "counts and words disagree"
        return report.problems


@pytest.fixture
def tampered(lite: built.Built, tmp_path: Path) -> Tampered:
    return Tampered(Path(shutil.copytree(lite.release, tmp_path / "release")))


def column(name: str, change: Callable[[list[Any]], list[Any]]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        values = pa.array(change(table[name].to_pylist()), table.schema.field(place).type)
        return table.set_column(place, table.schema.field(place), values)

    return changed


def first(value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda values: [value, *values[1:]]


def values(change: Callable[[list[np.ndarray]], None]) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        windows = [w.copy() for w in unnest(table["ts_values"])]
        change(windows)
        place = table.schema.get_field_index("ts_values")
        return table.set_column(place, table.schema.field(place), nest(windows).cast(table.schema.field(place).type))

    return changed


def test_a_release_as_built_has_no_problems(tampered: Tampered) -> None:
    assert tampered.problems() == []


def test_a_rewritten_file_with_the_same_content_needs_only_its_checksum(tampered: Tampered) -> None:
    before = tampered.manifest["files"][ANOMALIES]
    tampered.table(ANOMALIES, lambda t: t, row_group_size=7, compression="gzip")
    after = tampered.manifest["files"][ANOMALIES]
    assert before["sha256"] != after["sha256"]
    assert before["content_sha256"] == after["content_sha256"]
    assert tampered.problems() == []


@pytest.mark.parametrize("path", [ANOMALIES, AUDIT, "README.md", "composition.json", "licenses/ctsr.md"])
@pytest.mark.parametrize("place", [0.1, 0.5, 0.999])
def test_a_flipped_byte_in_any_file(tampered: Tampered, path: str, place: float) -> None:
    data = bytearray((tampered.folder / path).read_bytes())
    data[int(len(data) * place)] ^= 0x20
    (tampered.folder / path).write_bytes(bytes(data))
    assert f"{path}: its sha256 is not the one in the manifest: the file was changed" in tampered.problems()


def test_a_missing_file(tampered: Tampered) -> None:
    for path in (QUERIES, "composition.json", "README.md"):
        (tampered.folder / path).unlink()
        assert f"{path}: listed in the manifest but missing" in tampered.problems()


def test_a_file_that_is_not_listed(tampered: Tampered) -> None:
    (tampered.folder / "data/mit_bih/more.parquet").write_bytes(b"x")
    assert tampered.problems() == ["data/mit_bih/more.parquet: present but not listed in the manifest"]


@pytest.mark.parametrize("path", [AUDIT, "licenses/mit_bih.md", "README.md", "composition.json"])
def test_a_file_that_is_also_missing_from_the_manifest(tampered: Tampered, path: str) -> None:
    (tampered.folder / path).unlink()
    tampered.state(lambda m: m["files"].pop(path))
    assert f"{path}: required in every release, but not listed in the manifest" in tampered.problems()


def test_data_of_a_dataset_that_is_not_built_in_the_manifest(tampered: Tampered) -> None:
    tampered.state(lambda m: m["datasets"]["mit_bih"].update(status="not_selected"))
    assert f"{ANOMALIES}: does not belong to a dataset with status ok in the manifest" in tampered.problems()


def test_a_queries_file_dropped_together_with_its_line(tampered: Tampered) -> None:
    (tampered.folder / QUERIES).unlink()
    tampered.state(lambda m: m["files"].pop(QUERIES))
    found = tampered.problems()
    assert f"{QUERIES}: 20 entries of the audit table have no file" in found
    assert any("the card is stale" in p for p in found)


def test_a_card_of_another_release(tampered: Tampered) -> None:
    card = tampered.folder / "README.md"
    card.write_text(card.read_text().replace(f"version {built.VERSION}", "version 0.0.1"))
    tampered.fit("README.md")
    assert tampered.problems() == ["README.md: it does not name this version: the card is stale"]
    card.write_text(card.read_text().replace("split: corpus_p10", "split: corpus_p11"))
    tampered.fit("README.md")
    assert "README.md: its configs are not the files of this release: the card is stale" in tampered.problems()


def test_a_composition_that_does_not_fit_the_files(tampered: Tampered) -> None:
    file = tampered.folder / "composition.json"
    composition = json.loads(file.read_text())
    composition["datasets"]["mit_bih"]["built"]["relevant_per_query"] += 1
    file.write_text(json.dumps(composition))
    tampered.fit("composition.json")
    stale = "README.md: its composition table does not match composition.json: the card is stale"
    assert tampered.problems() == ["composition.json: mit_bih: relevant_per_query does not match the files", stale]


def test_votes_that_do_not_give_the_class(tampered: Tampered) -> None:
    def wrong(votes: list[Any]) -> list[Any]:
        for place, row in enumerate(votes):
            faults = [v for v in row or [] if v["class_label"] != "Normal"]
            if faults:
                return [*votes[:place], [{"code": "N", "class_label": "Normal", "count": 3}], *votes[place + 1 :]]
        raise AssertionError("no window with a fault")

    tampered.table(AUDIT, column("votes", wrong))
    assert any("windows whose class does not follow from their votes, such as " in p for p in tampered.problems())


def test_a_class_that_differs_from_the_audit_table(tampered: Tampered) -> None:
    tampered.table(ANOMALIES, column("class_label", lambda old: ["V" if old[0] != "V" else "S", *old[1:]]))
    assert f"{ANOMALIES}: 1 entries whose label, class or side does not match the audit table" in tampered.problems()


@pytest.mark.parametrize(("name", "value"), [("label", "normal"), ("native_split", "test")])
def test_a_label_or_side_that_does_not_fit(tampered: Tampered, name: str, value: str) -> None:
    tampered.table(ANOMALIES, column(name, first(value)))
    assert tampered.problems() == [f"{ANOMALIES}: 1 entries whose label, class or side does not match the audit table"]


def test_a_unit_on_both_sides(tampered: Tampered) -> None:
    frame = pl.DataFrame(pq.read_table(tampered.folder / AUDIT))
    query = frame.filter(pl.col("outcome") == "query")["unit"][0]
    corpus = frame.filter(pl.col("outcome") == "corpus")["unit"][0]
    tampered.table(AUDIT, column("unit", lambda units: [query if u == corpus else u for u in units]))
    assert f"{AUDIT}: 1 units on both sides: {query}" in tampered.problems()


def test_rows_sorted_by_class(tampered: Tampered) -> None:
    tampered.table(ANOMALIES, lambda t: t.sort_by([("class_label", "ascending"), ("entry_id", "ascending")]))
    assert tampered.problems() == [f"{ANOMALIES}: rows are not sorted by entry_id"]


def test_an_entry_twice(tampered: Tampered) -> None:
    tampered.table(ANOMALIES, lambda t: pa.concat_tables([t.slice(0, 1), t.slice(0, t.num_rows - 1)]))
    assert f"{ANOMALIES}: an entry_id occurs twice" in tampered.problems()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite(tampered: Tampered, bad: float) -> None:
    def spoil(windows: list[np.ndarray]) -> None:
        windows[3][100, 1] = bad

    tampered.table(QUERIES, values(spoil))
    assert tampered.problems() == [f"{QUERIES}: 1 entries have a value that is not finite"]


def test_a_step_with_a_value_too_few(tampered: Tampered) -> None:
    def ragged(rows: list[Any]) -> list[Any]:
        return [[*rows[0][:7], rows[0][7][:1], *rows[0][8:]], *rows[1:]]

    tampered.table(QUERIES, column("ts_values", ragged))
    assert f"{QUERIES}: a step does not have one value per channel" in tampered.problems()


def test_channels_that_do_not_fit_the_values(tampered: Tampered) -> None:
    tampered.table(QUERIES, column("channels", first(["MLII", "V1", "V5"])))
    assert f"{QUERIES}: a step does not have one value per channel" in tampered.problems()


@pytest.mark.parametrize(
    "extras", ['{"class": "V"}', '{"note": {"why": ["V"]}}', '{"V": 1}'], ids=["value", "deep inside", "key"]
)
def test_extras_that_name_the_class(tampered: Tampered, extras: str) -> None:
    def name_the_class(table: pa.Table) -> pa.Table:
        row = table["class_label"].to_pylist().index("V")
        return column("extras", lambda old: [*old[:row], extras, *old[row + 1 :]])(table)

    tampered.table(ANOMALIES, name_the_class)
    assert tampered.problems() == [f"{ANOMALIES}: extras names the class 'V'"]


def test_extras_that_name_a_long_class_within_a_text(tampered: Tampered) -> None:
    path = "data/petrobras_3w/corpus-anomalies.parquet"
    label = pq.read_table(tampered.folder / path)["class_label"][0].as_py()
    tampered.table(path, column("extras", first(json.dumps({"file": f"raw/{label}/WELL.parquet"}))))
    assert tampered.problems() == [f"{path}: extras names the class {label!r}"]


@pytest.mark.parametrize("extras", ["{", "[1]", "null"])
def test_extras_that_are_not_an_object(tampered: Tampered, extras: str) -> None:
    tampered.table(ANOMALIES, column("extras", first(extras)))
    assert any("extras is not" in p for p in tampered.problems())


def test_an_entry_that_is_not_in_the_audit_table(tampered: Tampered) -> None:
    tampered.table(AUDIT, lambda t: t.filter(pa.array([True] * (t.num_rows - 1) + [False])))
    frame = pl.DataFrame(pq.read_table(tampered.folder / AUDIT))
    drawn = frame.with_row_index().filter(pl.col("outcome") == "query")["index"][0]
    tampered.table(AUDIT, lambda t: pa.concat_tables([t.slice(0, drawn), t.slice(drawn + 1)]))
    assert f"{QUERIES}: 1 entries do not match the audit table" in tampered.problems()


def test_another_schema(tampered: Tampered) -> None:
    tampered.table(QUERIES, lambda t: t.append_column("hint", pa.array(["x"] * t.num_rows)))
    assert f"{QUERIES}: its columns or types are not those of the entry schema" in tampered.problems()
    tampered.table(AUDIT, lambda t: t.drop_columns(["votes"]))
    assert f"{AUDIT}: its columns or types are not those of the fixed schema" in tampered.problems()


def test_a_file_that_is_not_parquet(tampered: Tampered) -> None:
    for path in (QUERIES, AUDIT):
        (tampered.folder / path).write_bytes(b"PAR1 not really PAR1")
        tampered.fit(path)
    found = tampered.problems()
    assert any(p.startswith(f"{AUDIT}: cannot be read as Parquet") for p in found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(datasets=[]), "datasets is missing or of another kind"),
        (lambda m: m.pop("version"), "version is missing or of another kind"),
        (lambda m: m["files"].update({QUERIES: "x"}), f"files.{QUERIES} is not an object"),
        (lambda m: m["files"][QUERIES].pop("sha256"), f"files.{QUERIES}.sha256 is missing"),
        (lambda m: m["datasets"].update(mit_bih=None), "datasets.mit_bih is not an object"),
        (lambda m: m["datasets"]["mit_bih"].pop("config"), "datasets.mit_bih.config is missing"),
        (lambda m: m["datasets"]["mit_bih"]["config"].update(pollution=10), "datasets.mit_bih.config.pollution is"),
        (lambda m: m["datasets"]["mit_bih"]["settings"].clear(), "datasets.mit_bih.settings.min_same_class is"),
        (lambda m: m["files"].update({"../x": m["files"][QUERIES]}), "it lists a file outside the release"),
    ],
)
def test_a_manifest_without_the_keys_that_verification_needs(
    tampered: Tampered, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    tampered.state(change)
    with pytest.raises(ReadbenchError, match=re.escape(message)):
        tampered.problems()


def test_wrong_counts_in_the_manifest(tampered: Tampered) -> None:
    tampered.state(lambda m: m["files"][QUERIES].update(rows=19))
    assert tampered.problems() == [f"{QUERIES}: 20 rows, but 19 in the manifest"]


def test_a_missing_normal_window(tampered: Tampered) -> None:
    """A Normal window is removed from the data, the audit table and the counts."""
    path = "data/mit_bih/corpus-normals-20.parquet"
    gone = pq.read_table(tampered.folder / path)["entry_id"][0].as_py()
    tampered.table(path, lambda t: t.slice(1))

    def not_drawn(table: pa.Table) -> pa.Table:
        frame = pl.DataFrame(table)
        it = pl.col("entry_id") == gone
        return frame.with_columns(
            outcome=pl.when(it).then(pl.lit("pool")).otherwise("outcome"),
            reason=pl.when(it).then(pl.lit("normal_not_drawn")).otherwise("reason"),
            pollution=pl.when(it).then(None).otherwise("pollution"),
        ).to_arrow().cast(table.schema)  # fmt: skip

    tampered.table(AUDIT, not_drawn)
    assert f"{AUDIT}: 29 Normal windows at 20 %, expected 30 - 0" in tampered.problems()


def test_caps_and_relevant_entries(tampered: Tampered) -> None:
    tampered.state(lambda m: m["datasets"]["mit_bih"]["config"].update(query_cap=19))
    tampered.state(lambda m: m["datasets"]["ctsr"]["settings"].update(min_same_class=11))
    found = tampered.problems()
    assert f"{AUDIT}: a cap is exceeded" in found
    assert any("have fewer than 11 relevant entries" in p for p in found)


def test_the_pool_contains_the_retained_windows(pooled: Path, tmp_path: Path) -> None:
    tampered = Tampered(Path(shutil.copytree(pooled, tmp_path / "release")))
    assert tampered.problems() == []
    path = next(p for p in tampered.manifest["files"] if p.startswith("data/mit_bih/pool/"))
    tampered.table(path, lambda t: t.slice(1))
    assert f"{path}: the pool does not contain exactly the retained windows of the audit table" in tampered.problems()
    tampered.table(path, lambda t: pa.concat_tables([t.slice(1), t.slice(0, 1)]))
    assert f"{path}: rows are not sorted by entry_id" in tampered.problems()
    (tampered.folder / path).write_bytes(b"PAR1 not really PAR1")
    tampered.fit(path)
    assert any(p.startswith(f"{path}: cannot be read as Parquet") for p in tampered.problems())
    (tampered.folder / path).unlink()
    assert f"{path}: listed in the manifest but missing" in tampered.problems()


@pytest.mark.parametrize("size", [1, 7, 64])
def test_the_content_hash_does_not_depend_on_chunks_or_row_groups(lite: built.Built, size: int) -> None:
    for path in (ANOMALIES, AUDIT, "data/petrobras_3w/queries.parquet", "audit/ctsr.parquet"):
        table = pq.read_table(lite.release / path)
        stated = json.loads((lite.release / "manifest.json").read_text())["files"][path]["content_sha256"]
        pieces = [table.slice(at, size) for at in range(0, min(table.num_rows, 40 * size), size)]
        rest = table.slice(min(table.num_rows, 40 * size))
        assert content_sha256(pa.concat_tables([*pieces, rest])) == stated
        buffer = io.BytesIO()
        pq.write_table(table, buffer, row_group_size=size * 3, compression="none", use_dictionary=False)
        assert content_sha256(pq.read_table(buffer)) == stated
        assert content_sha256(table.slice(1)) != stated
        assert content_sha256(pa.concat_tables([table.slice(1), table.slice(0, 1)])) != stated
