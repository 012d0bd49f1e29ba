"""Runs one stage of a lane with its checks, and reports both to Dagster.

Belongs here: joining a stage, its suites and its metadata; imported when a stage runs, so that loading the definitions
loads none of them. Does not: the work of a stage (``readbench_data.lane``), or rules (``expectations``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import dagster as dg
import polars as pl

import expectations
from assets import checks, metadata
from assets.lanes import Events
from assets.locks import hold
from assets.resources import Workspace
from expectations import projections
from readbench_data import lane as stages
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
    RawRecord,
    RecordingsRecord,
    WindowsRecord,
    set_lane_failed,
    set_lane_state,
)
from readbench_data.store.records import JsonObject
from readbench_data.store.store import Store

R = TypeVar("R", RawRecord, RecordingsRecord, WindowsRecord, BenchmarkRecord)


def run_raw(key: dg.AssetKey, workspace: Workspace, source: Source) -> Events:
    """Run stage raw. Without original files nothing is materialized and the checks report why."""

    def gate(record: RawRecord) -> stages.Checks:
        known = () if record.origin == OriginKind.MINIATURE else source.known_sha256
        frame = projections.raw(record.inputs, known, set(record.verified))
        return expectations.require("raw", source.name, frame)

    hold(workspace, source.name)
    try:
        with _failure_recorded(workspace.store, key):
            lane = workspace.lane(source)
            record = stages.raw(lane, gate, expectations.version("raw"))
    except NoData as absent:
        set_lane_state(workspace.store, source.name, LaneState(status=LaneStatus.NO_DATA, reason=str(absent)))
        yield from checks.raw_results(key, str(absent), [])
        empty = expectations.run("raw", projections.raw([], (), ()))
        yield from checks.results([found.changed(blocking=False) for found in empty], key)
        return
    except expectations.CheckFailed as failed:
        yield from checks.results(failed.results, key)
        raise
    yield dg.MaterializeResult(
        asset_key=key,
        metadata=metadata.raw(source, record),
        check_results=[*checks.raw_results(key, None, record.missing), *checks.results(record.checks, key)],
        data_version=dg.DataVersion(record.key[:16]),
    )


def run_recordings(key: dg.AssetKey, workspace: Workspace, source: Source) -> Events:
    """Run stage recordings."""
    hold(workspace, source.name)
    lane = workspace.lane(source)
    yield from _gated(
        workspace.store,
        key,
        lambda: stages.recordings(
            lane, lambda s: expectations.require("recordings", source.name, projections.recordings(s))
        ),
        lambda record: metadata.recordings(lane, record),
    )


def run_windows(key: dg.AssetKey, workspace: Workspace, source: Source) -> Events:
    """Run stage windows."""
    hold(workspace, source.name)
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


def run_benchmark(key: dg.AssetKey, workspace: Workspace, source: Source) -> Events:
    """Run stage benchmark, with the search for leaks, and store that the lane is finished."""
    hold(workspace, source.name)
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
    """Run a stage and show its checks, also if a blocking check fails; then the earlier result stays."""
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
