"""What the lineage view shows of each stage of a lane, from the stage's record and files.

Belongs here: the translation into Dagster's metadata. Does not: running a stage, or drawing (``assets.figures``).
"""

from __future__ import annotations

import dagster as dg
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from assets import figures
from assets.columns import table_schema
from assets.resources import Workspace
from readbench_data import lane as stages
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.entry import unnest
from readbench_data.release import layout
from readbench_data.release.lane_records import BenchmarkRecord, RawRecord, RecordingsRecord, WindowsRecord
from readbench_data.release.parquet import AUDIT_SCHEMA
from readbench_data.store.records import JsonObject
from readbench_data.windows.index import INDEX_SCHEMA


def raw(source: Source, record: RawRecord) -> JsonObject:
    """Of the stage raw: the files, their checksums, what is ignored and what is missing."""
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
    """Of the stage recordings: how much was curated."""
    return {"dagster/row_count": record.counts["segments"], "data": _told(lane), **record.counts}


def windows(workspace: Workspace, lane: stages.Lane, record: WindowsRecord) -> JsonObject:
    """Of the stage windows: classes, votes, what was dropped, and where the audit page is."""
    return {
        "dagster/row_count": record.counts.windows,
        "dagster/column_schema": table_schema(INDEX_SCHEMA),
        "data": _told(lane),
        "audit_page": _audit_page(workspace, lane.source),
        "classes": _bars(record.classes),
        "classes_picture": dg.MetadataValue.md(figures.histogram(record.classes, "windows per class")),
        "votes": _vote_table(lane),
        "dropped": _bars(record.dropped),
        "segments_shorter_than_a_window": record.counts.short_segments,
    }


def benchmark(lane: stages.Lane, record: BenchmarkRecord) -> JsonObject:
    """Of the stage benchmark: classes of corpus and queries, examples, what was dropped and what is short."""
    tables = {file: _read(lane, record, file) for file in (layout.QUERIES, layout.ANOMALIES)}
    counts = {file: dict(t["class_label"].value_counts().sort("class_label").iter_rows()) for file, t in tables.items()}
    return {
        "dagster/row_count": sum(f.rows for p, f in record.files.items() if p.startswith("data/")),
        "dagster/column_schema": table_schema(AUDIT_SCHEMA),
        "data": _told(lane),
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


def _audit_page(workspace: Workspace, source: Source) -> dg.MetadataValue:
    """Where the dataset's audit page is, or how to get it."""
    page = f"docs/{workspace.release_version}/audit/{source.name}.html"
    if workspace.store.is_local and workspace.store.exists(page):
        return dg.MetadataValue.path(workspace.store.url(page))
    return dg.MetadataValue.text(f"readbench audit --dataset {source.name} --html {source.name}.html")


def _told(lane: stages.Lane) -> str:
    """Where the data come from, in the words a reader must see beside numbers."""
    miniature = lane.files.origin == OriginKind.MINIATURE
    return "miniature: generated stand-ins, not READ-Bench" if miniature else str(lane.files.origin)


def _bars(counts: dict[str, int]) -> dg.MetadataValue:
    """Counts by name with a bar each, shown at once where a picture is one click away; most first."""
    if not counts:
        return dg.MetadataValue.text("none")
    most = max(counts.values())
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:40]
    return dg.MetadataValue.table(
        [dg.TableRecord({"name": n, "windows": c, "": "█" * max(1, round(20 * c / most))}) for n, c in rows]
    )


def _vote_table(lane: stages.Lane) -> dg.MetadataValue:
    """How raw codes voted, by the class the window got."""
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
    """One corpus window of each class, from the first row group."""
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
