"""The stages of one dataset's lane: raw, recordings, windows, benchmark.

Each stage has a key made of its inputs, settings and code version; where that key is done it does no work.
A stage reads and writes only through the store. What a stage returns is the record it keeps in ``done.json``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.codeversion import code_version
from readbench_data.config import BenchmarkConfig, DatasetConfig
from readbench_data.curation import CurationReport, curate
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, ReadbenchError
from readbench_data.files import FileSet, Located
from readbench_data.index import INDEX_SCHEMA, index_segment
from readbench_data.labeling import LabelMap, Rule
from readbench_data.recording import Evidence, Recording
from readbench_data.release import layout
from readbench_data.release.parquet import AUDIT_SCHEMA, Entry, Written, write_entries, write_table
from readbench_data.release.pool import write_pool
from readbench_data.sampling import compose
from readbench_data.shards import SUMMARY_SCHEMA, SegmentWriter, iter_segments, read_segments, summarise
from readbench_data.source import Source
from readbench_data.store import Stage, Store, digest
from readbench_data.windowing import WindowPlan

Progress = Callable[[str], None]
Record = dict[str, Any]
Checks = list[Record]
Gate = Callable[[pa.Table], Checks]
AuditGate = Callable[[pl.DataFrame], Checks]
"""A gate looks at a stage's result before it is promoted: it returns what it saw, or raises."""

STAGES = ("raw", "recordings", "windows", "benchmark")
SHARD = "recordings.parquet"
SUMMARY = "summary.parquet"
INDEX = "index.parquet"
_INDEX_ROWS = 20_000


def quiet(_: str) -> None:
    """Progress that nobody reads."""


@dataclass(frozen=True)
class Lane:
    """One dataset's way through the stages.

    ``files`` the original files; ``config`` the settings shared by all datasets; ``verify`` whether published
    checksums must hold; ``pool`` whether every kept window is written beside the drawn ones.
    """

    source: Source
    module: str
    store: Store
    files: FileSet
    config: BenchmarkConfig
    verify: bool = True
    pool: bool = False
    progress: Progress = quiet

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def settings(self) -> DatasetConfig:
        """This dataset's settings in force."""
        return self.config.for_dataset(self.name, self.source.config)

    @property
    def rule(self) -> Rule:
        return Rule(self.source.rule, self.config.coverage, self.config.normal_purity)

    def stage(self, name: str) -> Stage:
        return Stage(self.store, self.name, name)

    def version(self, *modules: str) -> str:
        """Code version of a stage that uses this source and the given modules."""
        return code_version(self.module, "readbench_data.lane", *modules)


def raw(lane: Lane) -> Record:
    """Find, hash and check the original files. Raises ``NoData`` where nothing usable is there."""
    located = lane.source.locate(lane.files, lane.settings.options)
    lane.progress(f"checking {len(located.inputs)} files")
    hashes = lane.files.hash_all(located.inputs)
    published = _published(lane, located) if lane.files.origin != "miniature" else {}
    if lane.verify:
        for name, expected in published.items():
            text = any(name.endswith(p.lstrip("*")) for p in lane.source.text_files)
            lane.files.check(name, expected, text=text)
    record = {
        "origin": lane.files.origin,
        "inputs": [
            {"path": name, "sha256": hashes[name], "bytes": lane.files.path(name).stat().st_size}
            for name in located.inputs
        ],
        "ignored": dict(located.ignored),
        "missing": list(located.missing),
        "verified": sorted(published) if lane.verify else [],
    }
    key = digest({**record, "code": lane.version()})
    stage = lane.stage("raw")
    if (done := stage.done(key)) is not None:
        stage.point(key)
        return {**done, "reused": True}
    return {**stage.finish(key, record), "reused": False}


def _published(lane: Lane, located: Located) -> dict[str, str]:
    """Published checksums of the files that are there, by file; matched on the end of the path."""
    found = {}
    for name in located.inputs:
        parts = name.split("/")
        for depth in range(len(parts)):
            tail = "/".join(parts[depth:])
            if tail in lane.source.known_sha256:
                found[name] = lane.source.known_sha256[tail]
                break
    return found


def recordings(lane: Lane, gate: Gate | None = None) -> Record:
    """Read and curate every recording; one Parquet file of curated segments, and one of their summaries.

    ``gate`` sees the summaries (``SUMMARY_SCHEMA``) and may raise: then nothing is promoted.
    """
    before = _require(lane, "raw")
    key = digest(
        {
            "raw": before["key"],
            "options": dict(lane.settings.options),
            "code": lane.version("readbench_data.curation", "readbench_data.shards"),
        }
    )
    return _stage(lane, "recordings", key, lambda place: _write_recordings(lane, before, place, gate))


def _write_recordings(lane: Lane, before: Record, place: str, gate: Gate | None) -> Record:
    inputs = tuple(entry["path"] for entry in before["inputs"])
    located = Located(inputs, before["ignored"], tuple(before["missing"]))
    report = CurationReport()
    seen: set[str] = set()
    summaries: list[Record] = []
    with lane.store.open_write(f"{place}/{SHARD}") as stream, SegmentWriter(stream) as writer:
        for recording in lane.source.read(lane.files, located, lane.settings.options):
            if recording.recording_id in seen:
                raise BadInput(lane.files.path(recording.source_file), f"a second recording {recording.recording_id}")
            seen.add(recording.recording_id)
            _check_vocabulary(lane, recording)
            for segment in curate(recording, lane.source.curation, report):
                writer.write(segment)
                summaries.append(summarise(segment, lane.source.curation))
            if len(seen) % 10 == 0 or len(seen) < 10:
                lane.progress(f"read {len(seen)} recordings, {report.steps:,} steps")
    if report.segments == 0:
        raise ReadbenchError(f"{lane.name}: nothing usable is left of {len(seen)} recordings after curation")
    lane.progress(f"read {len(seen)} recordings, {report.steps:,} steps")
    summary = pa.Table.from_pylist(summaries, schema=SUMMARY_SCHEMA)
    checks = gate(summary) if gate is not None else []
    with lane.store.open_write(f"{place}/{SUMMARY}") as stream:
        pq.write_table(summary, stream)
    return {"counts": asdict(report), "checks": checks}


def _check_vocabulary(lane: Lane, recording: Recording) -> None:
    labels: LabelMap = lane.source.labels
    evidence: Evidence = recording.evidence
    for code in sorted({s.code for s in evidence.spans}):
        try:
            labels.label(code)
        except KeyError:
            step = next(s.start for s in evidence.spans if s.code == code)
            step = min(max(step, 0), recording.steps - 1)
            row = recording.first_row + step if recording.rows is None else int(recording.rows[step])
            raise BadInput(
                lane.files.path(recording.source_file),
                f"class code {code!r} is not in the vocabulary ({', '.join(sorted(labels.classes))})",
                row=f"{lane.source.row_unit} {row}",
            ) from None


def windows(lane: Lane, gate: Gate | None = None) -> Record:
    """Cut and label every window; the index with the proof of each label.

    ``gate`` sees the finished index and may raise: then nothing is promoted.
    """
    before = _require(lane, "recordings")
    settings = lane.settings
    key = digest(
        {
            "recordings": before["key"],
            "length": settings.length,
            "stride": settings.stride,
            "rule": asdict(lane.rule),
            "code": lane.version("readbench_data.index"),
        }
    )
    shard = f"{lane.stage('recordings').place(before['key'])}/{SHARD}"
    return _stage(lane, "windows", key, lambda place: _write_index(lane, shard, place, gate))


def _write_index(lane: Lane, shard: str, place: str, gate: Gate | None) -> Record:
    plan = WindowPlan(lane.settings.length, lane.settings.stride)
    tables: list[pa.Table] = []
    counts = {"windows": 0, "short_segments": 0}

    with lane.store.open_read(shard) as stream:
        for segment in iter_segments(stream):
            rows = index_segment(lane.name, segment, plan, lane.rule, lane.source.labels)
            counts["short_segments"] += rows.num_rows == 0
            counts["windows"] += rows.num_rows
            tables.append(rows)
            if len(tables) % 500 == 0:
                lane.progress(f"labelled {counts['windows']:,} windows")
    index = pa.concat_tables(tables) if tables else INDEX_SCHEMA.empty_table()
    lane.progress(f"labelled {index.num_rows:,} windows")
    if index.num_rows != len(set(index["entry_id"].to_pylist())):
        raise ReadbenchError(f"{lane.name}: two windows have the same place in the same recording")
    checks = gate(index) if gate is not None else []
    with lane.store.open_write(f"{place}/{INDEX}") as stream:
        pq.write_table(index, stream, row_group_size=_INDEX_ROWS, compression="zstd", compression_level=1)
    labelled = pl.from_arrow(index.select(["class_label", "reason"]))
    assert isinstance(labelled, pl.DataFrame)
    return {
        "counts": counts,
        "classes": _histogram(labelled["class_label"]),
        "dropped": _histogram(labelled["reason"]),
        "checks": checks,
    }


def _histogram(column: pl.Series) -> dict[str, int]:
    counts = column.drop_nulls().value_counts().sort(column.name)
    return dict(counts.iter_rows())


def benchmark(lane: Lane, gate: AuditGate | None = None) -> Record:
    """Split, draw, cut: queries, corpora and the audit table of every window.

    ``gate`` sees the audit table (as polars) and may raise: then nothing is promoted.
    """
    before = _require(lane, "windows")
    settings = lane.settings
    shared = {k: v for k, v in lane.config.to_json().items() if k != "datasets"}
    key = digest(
        {
            "windows": before["key"],
            "config": shared,
            "settings": {**asdict(settings), "options": dict(settings.options)},
            "pool": lane.pool,
            "code": lane.version("readbench_data.sampling", "readbench_data.release.parquet"),
        }
    )
    return _stage(lane, "benchmark", key, lambda place: _write_benchmark(lane, before, place, gate))


def _write_benchmark(lane: Lane, before: Record, place: str, gate: AuditGate | None) -> Record:
    index = load_index(lane)
    composition = compose(index.filter(pl.col("class_label").is_not_null()), lane.config, lane.settings)
    audit = _audit_frame(index, composition.windows)
    checks = gate(audit) if gate is not None else []
    written: dict[str, Written] = {}
    drawn = audit.filter(pl.col("outcome").is_in(["query", "corpus"]))
    cut = _cut(lane, index, drawn)
    sets = {layout.QUERIES: drawn.filter(pl.col("outcome") == "query")}
    sets[layout.ANOMALIES] = drawn.filter((pl.col("outcome") == "corpus") & (pl.col("pollution") == 0))
    for rho in lane.config.pollution[1:]:
        sets[layout.normals(rho)] = drawn.filter((pl.col("outcome") == "corpus") & (pl.col("pollution") == rho))
    for file, rows in sets.items():
        if rows.height:
            ids = sorted(rows["entry_id"])
            with lane.store.open_write(f"{place}/{file}") as stream:
                written[layout.data(lane.name, file)] = write_entries(stream, lane.name, (cut[i] for i in ids))
    if lane.pool:
        lane.progress("writing the pool")
        kept = audit.filter(pl.col("outcome") != "dropped")
        entries = _stream_entries(lane, index, kept)
        parts = write_pool(lane.store, f"{place}/pool", lane.name, entries, _value_bytes(index, kept))
        written |= {layout.data(lane.name, f"pool/{name}"): part for name, part in parts.items()}
    table = audit.to_arrow().cast(AUDIT_SCHEMA)
    with lane.store.open_write(f"{place}/audit.parquet") as stream:
        written[layout.audit(lane.name)] = write_table(stream, table)
    return {
        "raw": _require(lane, "raw"),
        "settings": {**asdict(lane.settings), "options": dict(lane.settings.options)},
        "config": {k: v for k, v in lane.config.to_json().items() if k != "datasets"},
        "rule": asdict(lane.rule),
        "files": {path: asdict(w) for path, w in written.items()},
        "wanted_normals": {str(k): v for k, v in composition.wanted.items()},
        "shortfall": {str(k): v for k, v in composition.shortfall.items()},
        "without_query": composition.without_query,
        "outcomes": _histogram(audit["outcome"]),
        "reasons": _histogram(audit["reason"]),
        "checks": checks,
    }


def load_index(lane: Lane) -> pl.DataFrame:
    """The current window index of a lane, without the sketches."""
    before = _require(lane, "windows")
    columns = [name for name in INDEX_SCHEMA.names if name not in ("sketch", "shape_hash", "constant_mask")]
    with lane.store.open_read(f"{lane.stage('windows').place(before['key'])}/{INDEX}") as stream:
        frame = pl.from_arrow(pq.read_table(stream, columns=columns))
    assert isinstance(frame, pl.DataFrame)
    return frame


def _audit_frame(index: pl.DataFrame, drawn: pl.DataFrame) -> pl.DataFrame:
    """One row for every window considered, in the order of the index."""
    joined = index.rename({"reason": "label_reason"}).join(
        drawn.rename({"unit": "joined_unit"}), on="entry_id", how="left", maintain_order="left"
    )
    return joined.with_columns(
        unit=pl.coalesce("joined_unit", "unit"),
        outcome=pl.col("outcome").fill_null("dropped"),
        reason=pl.coalesce("label_reason", "reason"),
    ).select(AUDIT_SCHEMA.names)


def _value_bytes(index: pl.DataFrame, rows: pl.DataFrame) -> int:
    """Bytes of the values of the given windows."""
    cells = (pl.col("stop") - pl.col("start")) * pl.col("channels").list.len()
    return 4 * int(index.join(rows.select("entry_id"), on="entry_id", how="semi").select(cells.sum()).item())


def _cut(lane: Lane, index: pl.DataFrame, rows: pl.DataFrame) -> dict[str, Entry]:
    return {entry.entry_id: entry for entry in _stream_entries(lane, index, rows)}


def _stream_entries(lane: Lane, index: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Entry]:
    """Entries of the given audit rows, recording by recording, in the order of the curated recordings."""
    places = index.select("entry_id", "segment", "start", "stop", "channels", "rca_target", "rca_affected", "extras")
    wanted = rows.select("entry_id", "recording_id", "class_label", "side").join(places, on="entry_id", how="left")
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in wanted.iter_rows(named=True):
        groups.setdefault((row["recording_id"], row["segment"]), []).append(row)
    shard = f"{lane.stage('recordings').place(_require(lane, 'recordings')['key'])}/{SHARD}"
    with lane.store.open_read(shard) as stream:
        for segment in read_segments(stream, set(groups)):
            for row in sorted(groups[segment.recording_id, segment.number], key=lambda r: r["start"]):
                normal = row["class_label"] == NORMAL
                yield Entry(
                    entry_id=row["entry_id"],
                    values=segment.values[row["start"] : row["stop"]].copy(),
                    channels=tuple(row["channels"]),
                    label="normal" if normal else "anomaly",
                    class_label=row["class_label"],
                    rca_target=None if normal else row["rca_target"],
                    rca_affected=() if normal else tuple(row["rca_affected"] or ()),
                    native_split="test" if row["side"] == "query" else "train",
                    extras=_extras(lane, row["extras"]),
                )


def _extras(lane: Lane, text: str) -> str:
    extras = json.loads(text)
    if lane.source.sampling_rate_hz is not None:
        extras.setdefault("sampling_rate_hz", lane.source.sampling_rate_hz)
    extras["origin"] = lane.files.origin
    return json.dumps(extras, sort_keys=True, ensure_ascii=False)


def _require(lane: Lane, name: str) -> Record:
    record = lane.stage(name).current()
    if record is None:
        raise ReadbenchError(f"{lane.name}: {name} is not built yet: run `readbench build --dataset {lane.name}`")
    return record


def _stage(lane: Lane, name: str, key: str, work: Callable[[str], Record]) -> Record:
    """Do a stage's work unless its key is done; what it writes counts only once ``done.json`` is there."""
    stage = lane.stage(name)
    if (done := stage.done(key)) is not None:
        stage.point(key)
        return {**done, "reused": True}
    place = stage.place(key)
    lane.store.remove(place)
    return {**stage.finish(key, work(place)), "reused": False}


def run(lane: Lane) -> Record:
    """All stages of a lane, without gates; for tests and scripts (the pipeline runs them as assets)."""
    raw(lane)
    recordings(lane)
    windows(lane)
    return benchmark(lane)
