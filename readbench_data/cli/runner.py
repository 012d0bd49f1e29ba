"""Runs jobs in Dagster for ``readbench build``; Dagster and the graph are loaded when the first job runs."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from readbench_data.errors import ReadbenchError

if TYPE_CHECKING:
    import dagster as dg

    from assets.finished import Finished
    from assets.workspace import PlainWorkspace
    from readbench_data.release.lane_records import LaneState


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

    def run_release(self) -> str | None:
        """Run release, local publish, evaluation and leaderboard; errors are raised unchanged.

        Returns how the release differs from the one it replaced, in words; None if it does not or replaced none.
        """
        from assets.definitions import RELEASE_JOB

        for shown in self._execute(RELEASE_JOB).asset_materializations_for_node("release"):
            if (changes := shown.metadata.get("changes")) is not None:
                return str(changes.value)
        return None

    def load(self) -> None:
        """Load Dagster and the graph now, not when the first job runs."""
        self._load()

    def _load(self) -> tuple[dg.DagsterInstance, dg.Definitions]:
        if self._loaded is None:
            from assets.definitions import build_definitions
            from assets.instance import open_instance
            from assets.resources import Workspace

            instance = self._stack.enter_context(open_instance(self._workspace.data))
            self._loaded = instance, build_definitions(Workspace(**self._workspace.model_dump()))
        return self._loaded

    def _execute(self, job: str) -> dg.ExecuteInProcessResult:
        from assets.connections import kept_connections
        from assets.evaluation import forget_session
        from assets.locks import release_all

        instance, definitions = self._load()
        try:
            with kept_connections(instance):
                return definitions.resolve_job_def(job).execute_in_process(
                    instance=instance,
                    raise_on_error=True,
                    run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
                )
        finally:
            release_all()
            forget_session()


def run_lane(finished: Finished, runner: Runner, name: str, keep_going: bool) -> LaneState:
    """Run a lane, mark it as finished and return its state; with ``keep_going`` also the state of one that failed."""
    from readbench_data.dataset.status import LaneStatus
    from readbench_data.release.lane_records import LaneState, lane_state, set_lane_failed

    store = finished.workspace.store
    try:
        runner.run_lane(name)
    except ReadbenchError as error:
        if not keep_going:
            raise
        set_lane_failed(store, name, str(error))
    state = lane_state(store, name) or LaneState(status=LaneStatus.FAILED, reason="it did not run")
    finished.mark_lane(name, state)
    return state
