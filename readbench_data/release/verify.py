"""Verification of a release folder: checksums, schema and every invariant the data model promises.

``verify`` never stops at the first breach: it returns one row a file with counts of what is wrong, and the
breaches in words. It needs the folder only, neither sources nor lanes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from readbench_data.entry import ENTRY_SCHEMA, NORMAL
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.card import configs
from readbench_data.release.composition import compose_row
from readbench_data.release.content import ContentHash
from readbench_data.release.parquet import AUDIT_SCHEMA
from readbench_data.sampling import normals_wanted
from readbench_data.store import Store

ERRORS = (
    "schema_error",
    "checksum_error",
    "row_error",
    "order_error",
    "nan_values",
    "shape_error",
    "label_error",
    "unlisted",
    "unresolved",
)


@dataclass
class FileReport:
    """Counts of breaches in one file, by kind."""

    path: str
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class Report:
    """What verification found. ``problems`` is empty for a sound release."""

    version: str
    files: list[FileReport] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems

    def rows(self) -> list[dict[str, Any]]:
        """One plain row a file, for the quality checks."""
        return [{"path": f.path, **{e: f.counts[e] for e in ERRORS}} for f in self.files]


def verify(release: Store) -> Report:
    """Check the release in the root of ``release``. Raises ``ReadbenchError`` where there is no manifest."""
    if not release.exists(layout.MANIFEST):
        raise ReadbenchError(f"{release.url()}: no {layout.MANIFEST}: this is not a finished release")
    try:
        manifest = release.read_json(layout.MANIFEST)
    except ValueError as error:
        raise ReadbenchError(f"{release.url(layout.MANIFEST)}: not JSON ({error})") from error
    if not isinstance(manifest, dict) or not {"version", "datasets", "files", "config"} <= manifest.keys():
        raise ReadbenchError(f"{release.url(layout.MANIFEST)}: not the manifest of a release")
    check = _Check(release, manifest, Report(manifest["version"]))
    check.files()
    for name, dataset in manifest["datasets"].items():
        if dataset["status"] == "ok":
            check.dataset(name, dataset)
    check.card()
    check.croissant()
    return check.report


class _Check:
    def __init__(self, release: Store, manifest: dict[str, Any], report: Report) -> None:
        self.release = release
        self.manifest = manifest
        self.report = report
        self.by_path: dict[str, FileReport] = {}

    @cached_property
    def _composition(self) -> dict[str, Any]:
        """What composition.json says was built, by dataset; nothing where it cannot be read."""
        try:
            stated = self.release.read_json(layout.COMPOSITION)["datasets"]
            return {name: dataset["built"] for name, dataset in stated.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.breach(layout.COMPOSITION, "schema_error", "cannot be read as the composition of a release")
            return {}

    def breach(self, path: str, kind: str, words: str, count: int = 1) -> None:
        self._file(path).counts[kind] += count
        self.report.problems.append(f"{path}: {words}")

    def _file(self, path: str) -> FileReport:
        if path not in self.by_path:
            self.by_path[path] = FileReport(path)
            self.report.files.append(self.by_path[path])
        return self.by_path[path]

    def files(self) -> None:
        """Every listed file is there with its bytes, and nothing else is."""
        present = set(self.release.files("")) - {layout.MANIFEST}
        listed = self.manifest["files"]
        for path, stated in listed.items():
            self._file(path)
            if path not in present:
                self.breach(path, "checksum_error", "listed in the manifest but not there")
            elif _sha256(self.release, path) != stated["sha256"]:
                self.breach(path, "checksum_error", "its sha256 is not the one in the manifest: the file was changed")
        for path in sorted(present - set(listed)):
            self.breach(path, "unlisted", "there but not listed in the manifest")
        built = [name for name, dataset in self.manifest["datasets"].items() if dataset["status"] == "ok"]
        audits, notes = {layout.audit(name) for name in built}, {layout.licence(name) for name in built}
        for path in sorted((audits | notes | {layout.CARD, layout.COMPOSITION}) - set(listed)):
            self.breach(path, "unlisted", "belongs to every release, but the manifest does not list it")
        for path in listed:
            room, _, rest = path.partition("/")
            if (room == "data" and rest.split("/")[0] not in built) or (room == "audit" and path not in audits):
                self.breach(path, "unlisted", "belongs to no dataset that the manifest calls built")

    def dataset(self, name: str, dataset: dict[str, Any]) -> None:
        """Entries, audit table and counts of one dataset."""
        audit_path = layout.audit(name)
        if not self.release.exists(audit_path):
            return
        audit = self._table(audit_path, AUDIT_SCHEMA)
        if audit is None:
            return
        frame = pl.from_arrow(audit)
        assert isinstance(frame, pl.DataFrame)
        self._audit(audit_path, frame)
        shapes: dict[str, pa.Table] = {}
        for file, expected in _expected_sets(frame).items():
            path = layout.data(name, file)
            if path in self.manifest["files"]:
                found = self._entries(path, name, expected)
                if found is not None:
                    shapes[file] = found
            elif expected.height:
                self.breach(path, "unresolved", f"{expected.height} entries of the audit table have no file")
        pools = [p for p in self.manifest["files"] if p.startswith(f"data/{name}/pool/")]
        kept = frame.filter(pl.col("outcome") != "dropped")
        if pools:
            self._pool(pools, name, kept)
        self._sizes(name, dataset, frame, shapes)

    def _table(self, path: str, schema: pa.Schema) -> pa.Table | None:
        try:
            with self.release.open_read(path) as stream:
                table = pq.read_table(stream)
        except (pa.ArrowException, OSError) as error:
            self.breach(path, "schema_error", f"cannot be read as Parquet ({str(error).splitlines()[0]})")
            return None
        if not _same_schema(table.schema, schema):
            self.breach(path, "schema_error", "its columns or types are not those of the fixed schema")
            return None
        self._rows(path, table.num_rows, _content(table, schema))
        return table

    def _rows(self, path: str, rows: int, content: str) -> None:
        stated = self.manifest["files"].get(path)
        if stated is not None and stated["rows"] != rows:
            self.breach(path, "row_error", f"{rows} rows, the manifest says {stated['rows']}")
        if stated is not None and stated["content_sha256"] != content:
            self.breach(path, "checksum_error", "its content is not what the manifest states (content_sha256)")

    def _audit(self, path: str, frame: pl.DataFrame) -> None:
        if frame["entry_id"].n_unique() != frame.height:
            self.breach(path, "label_error", "an entry_id occurs twice")
        drawn = frame.filter(pl.col("outcome").is_in(["query", "corpus"]))
        sides = drawn.group_by("unit").agg(pl.col("outcome").n_unique().alias("n")).filter(pl.col("n") > 1)
        if sides.height:
            units = ", ".join(sides["unit"].sort().head(3))
            self.breach(path, "label_error", f"{sides.height} units on both sides: {units}", sides.height)
        silent = frame.filter(~pl.col("outcome").is_in(["query", "corpus"]) & pl.col("reason").is_null())
        if silent.height:
            self.breach(path, "label_error", f"{silent.height} windows in no set give no reason", silent.height)
        wrong = _wrong_votes(frame)
        if wrong.height:
            one = wrong["entry_id"][0]
            words = f"{wrong.height} windows whose votes do not give their class, such as {one}"
            self.breach(path, "label_error", words, wrong.height)

    def _entries(self, path: str, name: str, expected: pl.DataFrame) -> pa.Table | None:
        """One entry file, row group by row group; its classes and shapes for the composition."""
        parts, ids = [], []
        try:
            with self.release.open_read(path) as stream:
                file = pq.ParquetFile(stream)
                if not _same_schema(file.schema_arrow, ENTRY_SCHEMA):
                    self.breach(path, "schema_error", "its columns or types are not those of the entry schema")
                    return None
                state = ContentHash(ENTRY_SCHEMA)
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group)
                    state.update(table.cast(ENTRY_SCHEMA))
                    parts.append(self._values(path, name, table))
                    ids.extend(table["entry_id"].to_pylist())
        except (pa.ArrowException, OSError) as error:
            self.breach(path, "schema_error", f"cannot be read as Parquet ({str(error).splitlines()[0]})")
            return None
        self._rows(path, len(ids), state.hexdigest())
        if ids != sorted(ids):
            self.breach(path, "order_error", "rows do not stand in the order of entry_id")
        if len(set(ids)) != len(ids):
            self.breach(path, "order_error", "an entry_id occurs twice")
        shapes = pa.concat_tables(parts)
        self._against_audit(path, shapes, expected)
        return shapes

    def _values(self, path: str, name: str, table: pa.Table) -> pa.Table:
        column = table["ts_values"].combine_chunks()
        lengths = np.asarray(pc.fill_null(column.value_lengths(), 0), np.int64)
        steps = column.flatten()
        inner = np.asarray(pc.fill_null(steps.value_lengths(), 0))
        leaf = np.asarray(steps.flatten())
        step_of_bad = np.searchsorted(np.cumsum(inner), np.flatnonzero(~np.isfinite(leaf)), side="right")
        bad = len(set(np.repeat(np.arange(len(lengths)), lengths)[step_of_bad].tolist()))
        if bad:
            self.breach(path, "nan_values", f"{bad} entries hold a value that is not finite", bad)
        widths = [len(c) for c in table["channels"].to_pylist()]
        if column.null_count or steps.null_count or (inner != np.repeat(widths, lengths)).any():
            self.breach(path, "shape_error", "a step does not hold one value a channel")
        if set(table["dataset"].to_pylist()) - {name}:
            self.breach(path, "label_error", "an entry names another dataset")
        for label, extras in zip(table["class_label"].to_pylist(), table["extras"].to_pylist(), strict=True):
            problem = _extras_problem(label, extras)
            if problem:
                self.breach(path, "label_error", problem)
                break
        keep = ["entry_id", "class_label", "label", "native_split"]
        return table.select(keep).append_column("length", pa.array(lengths)).append_column("width", pa.array(widths))

    def _against_audit(self, path: str, shapes: pa.Table, expected: pl.DataFrame) -> None:
        rows = pl.from_arrow(shapes)
        assert isinstance(rows, pl.DataFrame)
        known = expected.select("entry_id", pl.col("class_label").alias("audited"), "outcome")
        joined = rows.join(known, on="entry_id", how="left")
        lost = joined.filter(pl.col("audited").is_null()).height + max(0, expected.height - rows.height)
        if lost:
            self.breach(path, "unresolved", f"{lost} entries do not match the audit table", lost)
        normal = pl.col("class_label") == NORMAL
        side = pl.when(pl.col("outcome") == "query").then(pl.lit("test")).otherwise(pl.lit("train"))
        wrong = joined.filter(
            (pl.col("class_label") != pl.col("audited"))
            | (pl.when(normal).then(pl.lit("normal")).otherwise(pl.lit("anomaly")) != pl.col("label"))
            | (side != pl.col("native_split"))
            | (normal & (pl.col("outcome") == "query"))
        ).height
        if wrong:
            self.breach(
                path, "label_error", f"{wrong} entries whose label, class or side disagree with the audit", wrong
            )

    def _pool(self, paths: list[str], name: str, kept: pl.DataFrame) -> None:
        ids: set[str] = set()
        for path in paths:
            with self.release.open_read(path) as stream:
                file = pq.ParquetFile(stream)
                state, rows = ContentHash(ENTRY_SCHEMA), 0
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group)
                    state.update(table.cast(ENTRY_SCHEMA))
                    self._values(path, name, table)
                    ids.update(table["entry_id"].to_pylist())
                    rows += table.num_rows
            self._rows(path, rows, state.hexdigest())
        if ids != set(kept["entry_id"]):
            self.breach(paths[0], "unresolved", "the pool does not hold exactly the kept windows of the audit table")

    def _sizes(self, name: str, dataset: dict[str, Any], frame: pl.DataFrame, shapes: dict[str, pa.Table]) -> None:
        path = layout.audit(name)
        corpus = frame.filter(pl.col("outcome") == "corpus")
        anomalies = corpus.filter(pl.col("class_label") != NORMAL).height
        queries = frame.filter(pl.col("outcome") == "query")
        if anomalies > dataset["config"]["corpus_cap"] or queries.height > dataset["config"]["query_cap"]:
            self.breach(path, "label_error", "a cap is exceeded")
        for rho in dataset["config"]["pollution"][1:]:
            normals = corpus.filter((pl.col("class_label") == NORMAL) & (pl.col("pollution") <= rho)).height
            wanted, short = normals_wanted(anomalies, rho), dataset["shortfall"].get(str(rho), 0)
            if normals != wanted - short:
                self.breach(path, "label_error", f"{normals} Normals at {rho} %, not {wanted} less {short}")
        have = Counter(corpus["class_label"].to_list())
        floor = dataset["settings"]["min_same_class"]
        lonely = sorted({c for c in queries["class_label"] if have[c] < floor})
        if lonely:
            self.breach(path, "label_error", f"queries of {lonely[0]} have fewer than {floor} relevant entries")
        stated = self._composition.get(name) or {}
        levels = {rho: corpus.filter(pl.col("pollution") == rho).height for rho in dataset["config"]["pollution"][1:]}
        built = compose_row(shapes.get(layout.QUERIES), shapes.get(layout.ANOMALIES), levels)
        if built != stated:
            fields = [k for k in built if built[k] != stated.get(k)]
            self.breach(layout.COMPOSITION, "label_error", f"{name}: {', '.join(fields)} is not what the files hold")

    def card(self) -> None:
        """The card's configs are exactly the files that are there, and it names this version."""
        if not self.release.exists(layout.CARD):
            return
        text = self.release.read_bytes(layout.CARD).decode("utf-8", errors="replace")
        parts = text.split("---\n", 2)
        try:
            front = yaml.safe_load(parts[1]) if len(parts) == 3 else None
        except yaml.YAMLError:
            front = None
        if not isinstance(front, dict) or front.get("configs") != configs(
            self.manifest["files"], self.manifest["datasets"]
        ):
            self.breach(layout.CARD, "unlisted", "its configs are not the files of this release: the card is stale")
        if f"version {self.manifest['version']}" not in text:
            self.breach(layout.CARD, "unlisted", "it does not name this version: the card is stale")

    def croissant(self) -> None:
        """croissant.json, where there is one, describes exactly the data files that are there, and this version."""
        if layout.CROISSANT not in self.manifest["files"] or not self.release.exists(layout.CROISSANT):
            return
        try:
            told = self.release.read_json(layout.CROISSANT)
            described = {f["contentUrl"] for f in told["distribution"]}
        except (ValueError, KeyError, TypeError, AttributeError):
            self.breach(layout.CROISSANT, "schema_error", "cannot be read as a description of a release")
            return
        data = {path for path in self.manifest["files"] if path.startswith("data/")}
        if described != data or told.get("version") != self.manifest["version"]:
            self.breach(layout.CROISSANT, "unlisted", "it does not describe the files of this release: it is stale")


def _expected_sets(audit: pl.DataFrame) -> dict[str, pl.DataFrame]:
    corpus = audit.filter(pl.col("outcome") == "corpus")
    sets = {
        layout.QUERIES: audit.filter(pl.col("outcome") == "query"),
        layout.ANOMALIES: corpus.filter(pl.col("pollution") == 0),
    }
    for rho in (10, 20):
        sets[layout.normals(rho)] = corpus.filter(pl.col("pollution") == rho)
    return sets


def _wrong_votes(audit: pl.DataFrame) -> pl.DataFrame:
    """Labelled windows whose votes do not support their class under their rule."""
    labelled = audit.filter(pl.col("class_label").is_not_null() & (pl.col("outcome") != "dropped"))
    votes = (
        labelled.select("entry_id", "votes")
        .explode("votes", empty_as_null=True)
        .unnest("votes")
        .rename({"class_label": "voted"})
        .group_by("entry_id", "voted")
        .agg(pl.col("count").sum())
    )
    joined = labelled.select("entry_id", "class_label", "rule", "event_coverage").join(votes, on="entry_id", how="left")
    fault = pl.col("voted") != NORMAL
    sums = joined.group_by("entry_id", "class_label", "rule", "event_coverage").agg(
        own=pl.col("count").filter(pl.col("voted") == pl.col("class_label")).sum(),
        other=pl.col("count").filter(fault & (pl.col("voted") != pl.col("class_label"))).max().fill_null(0),
        normal=pl.col("count").filter(~fault).sum(),
    )
    is_normal = pl.col("class_label") == NORMAL
    wins = (
        pl.when(is_normal)
        .then(pl.col("own") > pl.col("other"))
        .otherwise((pl.col("own") > pl.col("other")) & (pl.col("own") >= pl.col("normal")))
    )
    short = (pl.col("rule") == "short_fault") & ~is_normal & (pl.col("event_coverage") > 0) & (pl.col("own") > 0)
    return sums.filter((pl.col("own") <= 0) | ~(wins | short))


def _extras_problem(label: str, extras: str) -> str | None:
    try:
        plain = json.loads(extras)
    except ValueError:
        return "extras is not JSON"
    if not isinstance(plain, dict):
        return "extras is not a JSON object"
    for told in _texts(plain):
        if told == label or (label != NORMAL and len(label) > 2 and label in told):
            return f"extras names the class {label!r}"
    return None


def _texts(plain: object) -> Iterator[str]:
    """Every key and value of plain data as text."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from _texts(value)
    else:
        yield str(plain)


def _content(table: pa.Table, schema: pa.Schema) -> str:
    state = ContentHash(schema)
    state.update(table.cast(schema))
    return state.hexdigest()


def _same_schema(found: pa.Schema, fixed: pa.Schema) -> bool:
    return found.names == fixed.names and all(
        _plain(a.type) == _plain(b.type) for a, b in zip(found, fixed, strict=True)
    )


def _plain(kind: pa.DataType) -> str:
    return str(kind).replace("item:", "element:").replace(" not null", "")


def _sha256(release: Store, path: str) -> str:
    state = hashlib.sha256()
    with release.open_read(path) as stream:
        while block := stream.read(1 << 22):
            state.update(block)
    return state.hexdigest()
