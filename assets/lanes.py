"""The lane of one source: raw, recordings, windows, benchmark.

Belongs here: the factory that makes a lane from a declaration, and what the lineage view shows of it. Does not:
the work of a stage (``readbench_data.lane``) or anything special to one dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pyarrow.parquet as pq

import expectations
from assets import checks, figures
from assets.columns import table_schema
from assets.resources import Workspace, stage_version
from expectations import projections
from readbench_data import lane as stages
from readbench_data.audit.facts import from_lane
from readbench_data.entry import unnest
from readbench_data.errors import NoData
from readbench_data.index import INDEX_SCHEMA
from readbench_data.leaks import find_leaks
from readbench_data.release import layout
from readbench_data.release.build import set_lane_status
from readbench_data.release.parquet import AUDIT_SCHEMA
from readbench_data.shortcuts import find_shortcuts
from readbench_data.source import Source

Events = Iterator[dg.MaterializeResult | dg.AssetCheckResult]


def build_lane(source: Source) -> list[dg.AssetsDefinition]:
    """The four assets of a source, with key prefix and group = dataset."""
    return [_raw(source), _recordings(source), _windows(source), _benchmark(source)]


def _key(source: Source, name: str) -> dg.AssetKey:
    return dg.AssetKey([source.name, name])


def _asset(
    source: Source, name: str, upstream: str | None, description: str, kinds: set[str]
) -> Callable[[Callable[..., Events]], dg.AssetsDefinition]:
    key = _key(source, name)
    return dg.asset(
        key=key,
        deps=[_key(source, upstream)] if upstream else [],
        group_name=source.name,
        description=description,
        kinds=kinds,
        code_version=stage_version(source, name),
        check_specs=[
            *(checks.raw_specs(key) if upstream is None else []),
            *checks.specs(key, *SUITES.get(name, (name,))),
        ],
        output_required=False,
    )


def _raw(source: Source) -> dg.AssetsDefinition:
    key = _key(source, "raw")
    description = f"Original files of {source.title}, found, hashed and checked. {source.homepage}"

    @_asset(source, "raw", None, description, {"file"})
    def raw(workspace: Workspace) -> Events:
        try:
            lane = workspace.lane(source)
            record = stages.raw(lane)
        except NoData as absent:
            set_lane_status(workspace.store, source.name, {"status": "no_data", "reason": str(absent)})
            yield from checks.raw_results(key, str(absent), [])
            empty = expectations.run("raw", projections.raw([], (), ()))
            yield from checks.results([{**vars(o), "blocking": False} for o in empty], key)
            return
        known = () if record["origin"] == "miniature" else source.known_sha256
        frame = projections.raw(record["inputs"], known, set(record["verified"]))
        try:
            seen = expectations.require("raw", source.name, frame)
        except expectations.CheckFailed as failed:
            yield from checks.results([vars(o) for o in failed.outcomes], key)
            raise
        yield dg.MaterializeResult(
            asset_key=key,
            metadata=_raw_metadata(source, record),
            check_results=[*checks.raw_results(key, None, record["missing"]), *checks.results(seen, key)],
            data_version=dg.DataVersion(record["key"][:16]),
        )

    return raw


def _raw_metadata(source: Source, record: stages.Record) -> dict[str, Any]:
    files = [
        dg.TableRecord({"file": i["path"], "bytes": i["bytes"], "sha256": i["sha256"][:16]})
        for i in record["inputs"][:50]
    ]
    ignored = [f"{path}: {why}" for path, why in list(record["ignored"].items())[:50]]
    return {
        "origin": record["origin"],
        "files": len(record["inputs"]),
        "bytes": sum(i["bytes"] for i in record["inputs"]),
        "checksums_verified": len(record["verified"]),
        "checksums": dg.MetadataValue.table(files) if files else "-",
        "ignored": dg.MetadataValue.json(ignored),
        "missing": dg.MetadataValue.json(record["missing"][:50]),
        "licence": dg.MetadataValue.url(source.licence.url),
        "reused": record["reused"],
    }


def _recordings(source: Source) -> dg.AssetsDefinition:
    key = _key(source, "recordings")
    how = (
        "sentinels to missing, dead channels removed, rows that still miss a value dropped, which breaks the recording"
        if source.curation.missing == "drop_rows"
        else "forward fill, back fill of a leading gap, 0 for absent channels"
    )

    @_asset(source, "recordings", "raw", f"Curated recordings: {how}. Paper A.1.1.", {"parquet"})
    def recordings(workspace: Workspace) -> Events:
        lane = workspace.lane(source)
        yield from _gated(
            key,
            lambda: stages.recordings(
                lane, lambda s: expectations.require("recordings", source.name, projections.recordings(s))
            ),
            lambda record: {
                "dagster/row_count": record["counts"]["segments"],
                "data": _told(lane),
                **record["counts"],
            },
        )

    return recordings


SUITES = {"benchmark": ("benchmark", "leaks")}
"""Suites of a stage that has more than its own."""


def _windows(source: Source) -> dg.AssetsDefinition:
    key = _key(source, "windows")
    cut = (
        "the source's own windows"
        if source.config.length is None
        else f"length {source.config.length}, stride {source.config.stride or source.config.length}"
    )
    description = f"Window index: {cut}; rule {source.rule}; evidence: {source.evidence}. Paper A.1.3."

    @_asset(source, "windows", "recordings", description, {"polars", "parquet"})
    def windows(workspace: Workspace) -> Events:
        lane = workspace.lane(source)

        def metadata(record: stages.Record) -> dict[str, Any]:
            return {
                "dagster/row_count": record["counts"]["windows"],
                "dagster/column_schema": table_schema(INDEX_SCHEMA),
                "data": _told(lane),
                "audit_page": _audit_page(workspace, source),
                "classes": _bars(record["classes"]),
                "classes_picture": dg.MetadataValue.md(figures.histogram(record["classes"], "windows per class")),
                "votes": _vote_table(lane),
                "dropped": _bars(record["dropped"]),
                "segments_shorter_than_a_window": record["counts"]["short_segments"],
            }

        def gate(index: Any) -> stages.Checks:
            frame = projections.windows(index, source, lane.settings, lane.rule)
            return expectations.require("windows", source.name, frame)

        yield from _gated(key, lambda: stages.windows(lane, gate), metadata)

    return windows


def _audit_page(workspace: Workspace, source: Source) -> dg.MetadataValue:
    """Where the dataset's audit page is, or how to get it."""
    page = f"docs/{workspace.release_version}/audit/{source.name}.html"
    if workspace.store.is_local and workspace.store.exists(page):
        return dg.MetadataValue.path(workspace.store.url(page))
    return dg.MetadataValue.text(f"readbench audit --dataset {source.name} --html {source.name}.html")


def _told(lane: stages.Lane) -> str:
    """Where the data come from, in the words a reader must see beside numbers."""
    miniature = lane.files.origin == "miniature"
    return "miniature: generated stand-ins, not READ-Bench" if miniature else lane.files.origin


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


def _benchmark(source: Source) -> dg.AssetsDefinition:
    key = _key(source, "benchmark")
    description = f"Queries and the nested corpora at 0, 10 and 20 % Normal, drawn by seed. Split unit: {source.unit}."

    @_asset(source, "benchmark", "windows", description, {"parquet"})
    def benchmark(workspace: Workspace) -> Events:
        lane = workspace.lane(source)

        def gate(audit: pl.DataFrame) -> stages.Checks:
            frame = projections.benchmark(audit, lane.config, lane.settings)
            seen = expectations.require("benchmark", source.name, frame)
            facts = from_lane(lane, audit)
            found, shortcuts = find_leaks(facts), find_shortcuts(facts)
            examples = projections.leak_examples(found, shortcuts)
            return seen + expectations.require("leaks", source.name, projections.leaks(found, shortcuts), examples)

        def metadata(record: stages.Record) -> dict[str, Any]:
            tables = {file: _read(lane, record, file) for file in (layout.QUERIES, layout.ANOMALIES)}
            counts = {
                file: dict(t["class_label"].value_counts().sort("class_label").iter_rows())
                for file, t in tables.items()
            }
            return {
                "dagster/row_count": sum(f["rows"] for p, f in record["files"].items() if p.startswith("data/")),
                "dagster/column_schema": table_schema(AUDIT_SCHEMA),
                "data": _told(lane),
                "corpus": _bars(counts[layout.ANOMALIES]),
                "queries": _bars(counts[layout.QUERIES]),
                "corpus_picture": dg.MetadataValue.md(figures.histogram(counts[layout.ANOMALIES], "corpus anomalies")),
                "queries_picture": dg.MetadataValue.md(figures.histogram(counts[layout.QUERIES], "queries")),
                "one_window_per_class": dg.MetadataValue.md(
                    figures.windows_by_class(_examples(lane, record), "one window per class")
                ),
                "outcomes": _bars(record["outcomes"]),
                "reasons": _bars(record["reasons"]),
                "shortfall_of_normals": dg.MetadataValue.json(record["shortfall"]),
                "classes_without_query": dg.MetadataValue.json(record["without_query"]),
            }

        def work() -> stages.Record:
            record = stages.benchmark(lane, gate)
            done = {name: _current(lane, name)["key"] for name in stages.STAGES}
            set_lane_status(workspace.store, source.name, {"status": "ok", "reason": None, **done})
            return record

        yield from _gated(key, work, metadata)

    return benchmark


def _current(lane: stages.Lane, name: str) -> stages.Record:
    record = lane.stage(name).current()
    assert record is not None
    return record


def _read(lane: stages.Lane, record: stages.Record, file: str) -> pl.DataFrame:
    path = f"{lane.stage('benchmark').place(record['key'])}/{file}"
    if not lane.store.exists(path):
        return pl.DataFrame(schema={"class_label": pl.String})
    with lane.store.open_read(path) as stream:
        return pl.DataFrame(pq.read_table(stream, columns=["class_label"]))


def _examples(lane: stages.Lane, record: stages.Record) -> dict[str, np.ndarray]:
    """One corpus window of each class, from the first row group."""
    path = f"{lane.stage('benchmark').place(record['key'])}/{layout.ANOMALIES}"
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


def _gated(
    key: dg.AssetKey, work: Callable[[], stages.Record], metadata: Callable[[stages.Record], dict[str, Any]]
) -> Events:
    """Run a stage; its checks are shown whether they let it pass or not, and nothing is promoted if not."""
    try:
        record = work()
    except expectations.CheckFailed as failed:
        yield from checks.results([vars(o) for o in failed.outcomes], key)
        raise
    yield dg.MaterializeResult(
        asset_key=key,
        metadata={**metadata(record), "reused": record["reused"]},
        check_results=list(checks.results(record["checks"], key)),
        data_version=dg.DataVersion(record["key"][:16]),
    )
