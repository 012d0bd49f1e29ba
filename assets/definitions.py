"""The code location. Belongs here: combining assets, jobs and resources. Does not: anything else."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

import sources
from assets.lanes import build_lane
from assets.release import GROUP, build_release_assets
from assets.resources import Workspace

MAIN_JOB = "build"
RELEASE_JOB = "build_release"


def lane_job(name: str) -> str:
    """Return the name of the job that rebuilds one dataset."""
    return f"lane_{name}"


def build_definitions(workspace: Workspace | None = None, datasets: Iterable[str] | None = None) -> dg.Definitions:
    """Return new definitions. ``workspace`` replaces the resource (tests), ``datasets`` limits the lanes that are made.

    The descriptions of the lanes show the settings in force in that workspace.
    """
    workspace = workspace or Workspace.from_environment()
    config = workspace.config()
    names = list(sources.all_sources()) if datasets is None else list(datasets)
    lanes = [asset for name in names for asset in build_lane(sources.get(name), config)]
    in_process = dg.in_process_executor
    jobs = [
        dg.define_asset_job(
            lane_job(name),
            selection=dg.AssetSelection.groups(name),
            executor_def=in_process,
            description=f"Rebuild {name} alone.",
        )
        for name in names
    ]
    jobs.append(
        dg.define_asset_job(
            RELEASE_JOB,
            selection=dg.AssetSelection.groups(GROUP),
            executor_def=in_process,
            description="Release, local publish, evaluation and leaderboard from the current results of the lanes.",
        )
    )
    jobs.append(
        dg.define_asset_job(
            MAIN_JOB,
            selection=dg.AssetSelection.all(),
            executor_def=in_process,
            description="All datasets, release and evaluation in one run.",
        )
    )
    return dg.Definitions(
        assets=[*lanes, *build_release_assets()],
        jobs=jobs,
        resources={"workspace": workspace},
        executor=in_process,
    )


defs = build_definitions()
