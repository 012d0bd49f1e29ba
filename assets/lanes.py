"""The lane of one source: raw, recordings, windows, benchmark.

Belongs here: the factory that creates a lane from a source's declaration. Does not: running a stage with its checks
(``assets.lane_runs``, imported when a stage runs), or anything specific to one dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from assets import checks
from assets.resources import Workspace, stage_version
from readbench_data.dataset.allowed import shown
from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.source import Source

Events = Iterator[dg.MaterializeResult | dg.AssetCheckResult]
SUITES = {"benchmark": ("benchmark", "leaks")}
"""Stages with more than one suite."""


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
        from assets.lane_runs import run_raw

        yield from run_raw(key, workspace, source)

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
        from assets.lane_runs import run_recordings

        yield from run_recordings(key, workspace, source)

    return recordings


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
        from assets.lane_runs import run_windows

        yield from run_windows(key, workspace, source)

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
        from assets.lane_runs import run_benchmark

        yield from run_benchmark(key, workspace, source)

    return benchmark
