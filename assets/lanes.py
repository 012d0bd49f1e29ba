"""The lane of one source: raw, recordings, windows, benchmark.

Belongs here: the factory that creates a lane from a source's declaration, and its metadata in the lineage view. Does
not: the work of a stage (``readbench_data.lane``) or anything specific to one dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import dagster as dg
import polars as pl

import expectations
from assets import checks, metadata
from assets.resources import Workspace, stage_version
from expectations import projections
from readbench_data import lane as stages
from readbench_data.dataset.allowed import shown
from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import NoData, UsageError
from readbench_data.leakage.facts import from_lane
from readbench_data.leakage.leaks import find_leaks
from readbench_data.leakage.shortcuts import find_shortcuts
from readbench_data.release.lane_records import (
    BenchmarkRecord,
    LaneState,
    RecordingsRecord,
    WindowsRecord,
    set_lane_failed,
    set_lane_state,
)
from readbench_data.store.records import JsonObject
from readbench_data.store.store import Store

R = TypeVar("R", RecordingsRecord, WindowsRecord, BenchmarkRecord)
Events = Iterator[dg.MaterializeResult | dg.AssetCheckResult]


def build_lane(source: Source, config: BenchmarkConfig) -> list[dg.AssetsDefinition]:
    """Return the four assets of a source, described with the settings in force; key prefix and group are its name."""
    settings = config.for_dataset(source.name, source.config)
    return [
        _raw(source),
        _recordings(source, settings),
        _windows(source, settings, config),
        _benchmark(source, settings, config),
    ]


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
            with _failure_recorded(workspace.store, key):
                lane = workspace.lane(source)
                record = stages.raw(lane)
        except NoData as absent:
            absence = LaneState(status=LaneStatus.NO_DATA, reason=str(absent))
            set_lane_state(workspace.store, source.name, absence)
            yield from checks.raw_results(key, str(absent), [])
            empty = expectations.run("raw", projections.raw([], (), ()))
            yield from checks.results([found.changed(blocking=False) for found in empty], key)
            return
        known = () if record.origin == OriginKind.MINIATURE else source.known_sha256
        frame = projections.raw(record.inputs, known, set(record.verified))
        with _failure_recorded(workspace.store, key):
            try:
                seen = expectations.require("raw", source.name, frame)
            except expectations.CheckFailed as failed:
                yield from checks.results(failed.results, key)
                raise
        yield dg.MaterializeResult(
            asset_key=key,
            metadata=metadata.raw(source, record),
            check_results=[*checks.raw_results(key, None, record.missing), *checks.results(seen, key)],
            data_version=dg.DataVersion(record.key[:16]),
        )

    return raw


def _recordings(source: Source, settings: DatasetConfig[Any]) -> dg.AssetsDefinition:
    key = _key(source, "recordings")
    how = (
        "sentinels set to missing, constant channels removed, rows with a missing value dropped, which splits the "
        "recording"
        if source.curation.missing == "drop_rows"
        else "forward fill, back fill of a leading gap, 0 for absent channels"
    )

    options = ", ".join(f"{name} = {shown(value)}" for name, value in settings.options.for_reader().items())
    description = f"Curated recordings: {how}{f'; {options}' if options else ''}. Paper A.1.1."

    @_asset(source, "recordings", "raw", description, {"parquet"})
    def recordings(workspace: Workspace) -> Events:
        lane = workspace.lane(source)
        yield from _gated(
            workspace.store,
            key,
            lambda: stages.recordings(
                lane, lambda s: expectations.require("recordings", source.name, projections.recordings(s))
            ),
            lambda record: metadata.recordings(lane, record),
        )

    return recordings


SUITES = {"benchmark": ("benchmark", "leaks")}
"""Stages with more than one suite."""


def _windows(source: Source, settings: DatasetConfig[Any], config: BenchmarkConfig) -> dg.AssetsDefinition:
    key = _key(source, "windows")
    cut = (
        "the source's own windows"
        if settings.length is None
        else f"length {settings.length}, stride {settings.stride or settings.length}"
    )
    coverage = f" with a coverage of more than {config.coverage:g}" if source.rule == "short_fault" else ""
    rule = f"rule {source.rule}{coverage}, normal purity {config.normal_purity:g}"
    description = f"Window index: {cut}; {rule}; evidence: {source.evidence}. Paper A.1.3."

    @_asset(source, "windows", "recordings", description, {"polars", "parquet"})
    def windows(workspace: Workspace) -> Events:
        lane = workspace.lane(source)

        def gate(index: Any) -> stages.Checks:
            frame = projections.windows(index, source, lane.settings, lane.rule)
            return expectations.require("windows", source.name, frame)

        yield from _gated(
            workspace.store,
            key,
            lambda: stages.windows(lane, gate),
            lambda record: metadata.windows(workspace, lane, record),
        )

    return windows


def _benchmark(source: Source, settings: DatasetConfig[Any], config: BenchmarkConfig) -> dg.AssetsDefinition:
    key = _key(source, "benchmark")
    split = (
        "the source's own split where possible"
        if settings.native_split
        else f"{settings.test_fraction:.3g} of each class on the query side"
    )
    description = (
        f"Queries (at most {config.query_cap}) and the nested corpora at 0, 10 and 20 % Normal (at most "
        f"{config.corpus_cap} anomalies), selected by seed {config.seed}; {split}. Split unit: {source.unit}."
    )

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

        def work() -> BenchmarkRecord:
            record = stages.benchmark(lane, gate)
            set_lane_state(workspace.store, source.name, lane.state())
            return record

        yield from _gated(workspace.store, key, work, lambda record: metadata.benchmark(lane, record))

    return benchmark


@contextmanager
def _failure_recorded(store: Store, key: dg.AssetKey) -> Iterator[None]:
    """Record a lane as failed if its work raises, so that no release takes its earlier data unnoticed. Settings that
    no build can use are refused before any work: they say nothing about the lane."""
    try:
        yield
    except (NoData, UsageError):
        raise
    except Exception as error:
        set_lane_failed(store, key.path[0], str(error) or type(error).__name__)
        raise


def _gated(store: Store, key: dg.AssetKey, work: Callable[[], R], shown: Callable[[R], JsonObject]) -> Events:
    """Run a stage and show its checks, also if a blocking check fails; then the earlier result stays current."""
    with _failure_recorded(store, key):
        try:
            record = work()
        except expectations.CheckFailed as failed:
            yield from checks.results(failed.results, key)
            raise
    yield dg.MaterializeResult(
        asset_key=key,
        metadata={**shown(record), "reused": record.reused},
        check_results=list(checks.results(record.checks, key)),
        data_version=dg.DataVersion(record.key[:16]),
    )
