"""The resource of a run. Belongs here: what Dagster adds to a workspace. Does not: the workspace itself."""

from __future__ import annotations

import dagster as dg

import sources
from assets.workspace import PlainWorkspace
from readbench_data.dataset.source import Source
from readbench_data.dataset.stage_code import stage_code, stage_codes


class Workspace(PlainWorkspace, dg.ConfigurableResource):
    """The data root, the origin of the data and the settings of a run; see
    :class:`~assets.workspace.PlainWorkspace`."""


def stage_version(source: Source, stage: str) -> str:
    """Return the code version of one stage of a lane, for the lineage view."""
    return stage_code(source, sources.module_names(source.name)[0], stage)


def stage_versions(name: str) -> dict[str, str]:
    """Return the code versions of all stages of a dataset's lane."""
    return stage_codes(sources.get(name), sources.module_names(name)[0])
