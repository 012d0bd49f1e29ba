"""The metadata of each stage of a lane in the lineage view, from the stage's record and files.

Belongs here: the translation into Dagster's metadata. Does not: running a stage, or plotting (``assets.figures``).
"""

from __future__ import annotations

import dagster as dg
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from assets import figures
from assets.columns import table_schema
from assets.workspace import PlainWorkspace
from readbench_data import lane as stages
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.entry import unnest
from readbench_data.release import layout
from readbench_data.release.lane_records import BenchmarkRecord, RawRecord, RecordingsRecord, WindowsRecord
from readbench_data.store.records import JsonObject
from readbench_data.windows.columns import AUDIT_COLUMNS, INDEX_COLUMNS


def raw(source: Source, record: RawRecord) -> JsonObject:
    """Return the metadata of stage raw: files, checksums, ignored and missing files."""
    files = [dg.TableRecord({"file": i.path, "bytes": i.bytes, "sha256": i.sha256[:16]}) for i in record.inputs[:50]]
    ignored = [f"{path}: {why}" for path, why in list(record.ignored.items())[:50]]
    return {
        "origin": str(record.origin),
        "files": len(record.inputs),
        "bytes": sum(i.bytes for i in record.inputs),
        "checksums_verified": len(record.verified),
        "checksums": dg.MetadataValue.table(files) if files else "-",
        "ignored": dg.MetadataValue.json(ignored),
        "missing": dg.MetadataValue.json(list(record.missing[:50])),
        "licence": dg.MetadataValue.url(source.licence.url),
        "reused": record.reused,
    }


def recordings(lane: stages.Lane, record: RecordingsRecord) -> JsonObject:
    """Return the metadata of stage recordings: the counts of curation."""
    return {
        "dagster/row_count": record.counts["segments"],
        "data": _origin_note(lane),
        "settings": _settings(lane),
        **record.counts,
    }


def windows(workspace: PlainWorkspace, lane: stages.Lane, record: WindowsRecord) -> JsonObject:
    """Return the metadata of stage windows: classes, votes, reasons for dropped windows, and the audit page."""
    return {
        "dagster/row_count": record.counts.windows,
        "dagster/column_schema": table_schema(INDEX_COLUMNS),
        "data": _origin_note(lane),
        "settings": _settings(lane),
        "audit_page": _audit_page(workspace, lane.source),
        "classes": _bars(record.classes),
        "classes_picture": dg.MetadataValue.md(figures.histogram(record.classes, "windows per class")),
        "votes": _vote_table(lane),
        "dropped": _bars(record.dropped),
        "segments_shorter_than_a_window": record.counts.short_segments,
    }


def benchmark(lane: stages.Lane, record: BenchmarkRecord) -> JsonObject:
    """Return the metadata of stage benchmark: classes of corpus and queries, examples, outcomes and shortfalls."""
    tables = {file: _read(lane, record, file) for file in (layout.QUERIES, layout.ANOMALIES)}
    counts = {file: dict(t["class_label"].value_counts().sort("class_label").iter_rows()) for file, t in tables.items()}
    return {
        "dagster/row_count": sum(f.rows for p, f in record.files.items() if p.startswith("data/")),
        "dagster/column_schema": table_schema(AUDIT_COLUMNS),
        "data": _origin_note(lane),
        "settings": _settings(lane),
        "corpus": _bars(counts[layout.ANOMALIES]),
        "queries": _bars(counts[layout.QUERIES]),
        "corpus_picture": dg.MetadataValue.md(figures.histogram(counts[layout.ANOMALIES], "corpus anomalies")),
        "queries_picture": dg.MetadataValue.md(figures.histogram(counts[layout.QUERIES], "queries")),
        "one_window_per_class": dg.MetadataValue.md(
            figures.windows_by_class(_examples(lane, record), "one window per class")
        ),
        "outcomes": _bars(record.outcomes),
        "reasons": _bars(record.reasons),
        "shortfall_of_normals": dg.MetadataValue.json(record.shortfall),
        "classes_without_query": dg.MetadataValue.json(record.without_query),
    }


def _audit_page(workspace: PlainWorkspace, source: Source) -> dg.MetadataValue:
    """Return the path of the dataset's audit page, or the command that writes it."""
    page = f"docs/{workspace.release_version}/audit/{source.name}.html"
    if workspace.store.is_local and workspace.store.exists(page):
        return dg.MetadataValue.path(workspace.store.url(page))
    return dg.MetadataValue.text(f"readbench audit --dataset {source.name} --html {source.name}.html")


def _origin_note(lane: stages.Lane) -> str:
    """Return where the data come from, as shown next to numbers."""
    miniature = lane.files.origin == OriginKind.MINIATURE
    return "miniature: generated data, not READ-Bench" if miniature else str(lane.files.origin)


def _settings(lane: stages.Lane) -> dg.MetadataValue:
    """The settings in force: the shared ones, and the dataset's own."""
    shared = {name: value for name, value in lane.config.to_json().items() if name != "datasets"}
    return dg.MetadataValue.json({**shared, **lane.settings.to_json()})


def _bars(counts: dict[str, int]) -> dg.MetadataValue:
    """Return counts by name with one text bar each, largest first, as a table that is shown inline."""
    if not counts:
        return dg.MetadataValue.text("none")
    most = max(counts.values())
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:40]
    return dg.MetadataValue.table(
        [dg.TableRecord({"name": n, "windows": c, "": "█" * max(1, round(20 * c / most))}) for n, c in rows]
    )


def _vote_table(lane: stages.Lane) -> dg.MetadataValue:
    """Return the votes per raw code, by the class of the window."""
    index = stages.load_index(lane).select("class_label", "votes")
    table = (
        index.explode("votes", empty_as_null=True)
        .select(
            window=pl.col("class_label").fill_null("(dropped)"),
            code=pl.col("votes").struct.field("code"),
            counts=pl.col("votes").struct.field("class_label"),
            votes=pl.col("votes").struct.field("count"),
        )
        .drop_nulls("code")
        .group_by("window", "code", "counts")
        .agg(pl.col("votes").sum())
        .sort("votes", "window", "code", descending=[True, False, False])
        .head(60)
    )
    records = [
        dg.TableRecord({"window": r[0], "code": r[1], "counts_as": r[2], "votes": r[3]}) for r in table.iter_rows()
    ]
    return dg.MetadataValue.table(records) if records else dg.MetadataValue.text("-")


def _read(lane: stages.Lane, record: BenchmarkRecord, file: str) -> pl.DataFrame:
    path = f"{lane.stage('benchmark').place(record.key)}/{file}"
    if not lane.store.exists(path):
        return pl.DataFrame(schema={"class_label": pl.String})
    with lane.store.open_read(path) as stream:
        return pl.DataFrame(pq.read_table(stream, columns=["class_label"]))


def _examples(lane: stages.Lane, record: BenchmarkRecord) -> dict[str, np.ndarray]:
    """Return one corpus window per class, from the first row group."""
    path = f"{lane.stage('benchmark').place(record.key)}/{layout.ANOMALIES}"
    if not lane.store.exists(path):
        return {}
    with lane.store.open_read(path) as stream:
        table = pq.ParquetFile(stream).read_row_group(0, columns=["class_label", "ts_values"])
    found: dict[str, np.ndarray] = {}
    labels = table["class_label"].to_pylist()
    for row, label in enumerate(labels):
        if label not in found:
            found[label] = unnest(table["ts_values"].slice(row, 1).combine_chunks())[0]
    return found
