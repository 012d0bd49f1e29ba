"""Runs jobs in Dagster for ``readbench build``; Dagster and the graph are loaded when the first job runs."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import dagster as dg

    from assets.workspace import PlainWorkspace


class Runner:
    """Runs jobs in this process, recorded in the instance that ``make ui`` shows."""

    def __init__(self, workspace: PlainWorkspace) -> None:
        self._workspace = workspace
        self._stack = ExitStack()
        self._loaded: tuple[dg.DagsterInstance, dg.Definitions] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run_lane(self, name: str) -> None:
        """Run the four stages of a dataset; errors are raised unchanged."""
        from assets.definitions import lane_job

        self._execute(lane_job(name))

    def run_release(self) -> None:
        """Run release, local publish, evaluation and leaderboard; errors are raised unchanged."""
        from assets.definitions import RELEASE_JOB

        self._execute(RELEASE_JOB)

    def _load(self) -> tuple[dg.DagsterInstance, dg.Definitions]:
        if self._loaded is None:
            from assets.definitions import build_definitions
            from assets.instance import open_instance
            from assets.resources import Workspace

            instance = self._stack.enter_context(open_instance(self._workspace.data))
            self._loaded = instance, build_definitions(Workspace(**self._workspace.model_dump()))
        return self._loaded

    def _execute(self, job: str) -> None:
        from assets.connections import kept_connections

        instance, definitions = self._load()
        with kept_connections(instance):
            definitions.resolve_job_def(job).execute_in_process(
                instance=instance,
                raise_on_error=True,
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
