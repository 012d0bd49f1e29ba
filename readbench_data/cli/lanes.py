"""Runs the lanes of ``readbench build`` that are not finished: in this process, or several at once in others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from readbench_data.cli.shown import ended, shown, up_to_date
from readbench_data.errors import ReadbenchError

if TYPE_CHECKING:
    from assets.finished import Finished
    from readbench_data.cli.runner import Runner
    from readbench_data.release.lane_records import LaneState


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_lanes(finished: Finished, runner: Runner, names: list[str], jobs: int | None, keep_going: bool) -> None:
    """Run the lanes that are not finished, at most ``jobs`` at once; a finished one gives no run in Dagster's history.

    ``jobs`` None: as many as there are cores, but no process for less than two lanes, as it takes seconds to load.

    Raises the error of the first lane that fails, unless ``keep_going``; and ``ReadbenchError`` if no lane has data.
    """
    states: dict[str, LaneState] = {}
    titles = {name: f"[{number}/{len(names)}] {name}" for number, name in enumerate(names, 1)}
    for name in names:
        if (state := finished.lane(name)) is not None:
            states[name] = state
            why = f"no_data: {state.reason}" if state.benchmark is None else f"key {state.benchmark[:12]}"
            up_to_date(titles[name], f"{why}; original files, settings and code are unchanged")
    todo = {name: titles[name] for name in names if name not in states}
    processes = min(jobs or min(cores(), len(todo) // 2), len(todo))
    run = _in_processes if processes > 1 else _here
    states |= dict(run(finished, runner, todo, processes, keep_going))
    if not any(state.ok for state in states.values()):
        reasons = "; ".join(f"{name}: {states[name].reason}" for name in names)
        raise ReadbenchError(
            f"none of the selected datasets has data ({reasons}): `readbench sources` shows how to get them"
        )


Ended = Iterator[tuple[str, "LaneState"]]


def _here(finished: Finished, runner: Runner, todo: dict[str, str], processes: int, keep_going: bool) -> Ended:
    from readbench_data.cli.runner import run_lane

    for name, title in todo.items():
        with shown(title) as done:
            state = run_lane(finished, runner, name, keep_going)
            done(_outcome(state))
        yield name, state


def _in_processes(finished: Finished, runner: Runner, todo: dict[str, str], processes: int, keep_going: bool) -> Ended:
    from readbench_data.cli.pool import Pool

    with Pool(finished.workspace, processes, todo, keep_going) as pool:
        runner.load()  # while the lanes run
        for name, state, seconds in pool.ended():
            ended(todo[name], _outcome(state), seconds)
            yield name, state


def _outcome(state: LaneState) -> str:
    return str(state.status) if state.ok else f"{state.status}: {state.reason}"
