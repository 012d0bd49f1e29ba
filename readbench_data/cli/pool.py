"""Lanes in several processes at once.

The processes come from a fork server that has loaded Dagster and no data library: those start threads when they are
imported, and a process that is forked beside threads may wait forever. An error comes back as plain data and is raised
again here, so that it is one line as ever. A process ends with the one that started it, also if that is killed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import wait
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from readbench_data.cli.shown import is_moving, moving, wipe
from readbench_data.errors import ReadbenchError, UsageError

if TYPE_CHECKING:
    from assets.finished import Finished
    from assets.workspace import PlainWorkspace
    from readbench_data.cli.runner import Runner
    from readbench_data.release.lane_records import LaneState

PRELOADED = ("dagster", "sqlalchemy", "alembic")
"""What the fork server loads; a test holds that none of them starts a thread."""


@dataclass(frozen=True)
class _Failure:
    """An error of a lane. ``arguments``: those of an ``OSError``."""

    kind: str
    message: str
    trace: str
    arguments: tuple[Any, ...] = ()

    @classmethod
    def of(cls, error: Exception) -> Self:
        kinds = {UsageError: "usage", ReadbenchError: "readbench", OSError: "system"}
        kind = next((name for type_, name in kinds.items() if isinstance(error, type_)), type(error).__name__)
        arguments = (error.errno, error.strerror, error.filename) if isinstance(error, OSError) else ()
        return cls(kind, str(error), "".join(traceback.format_exception(error)), arguments)

    def error(self) -> Exception:
        """Return an error that is shown as the original one would be."""
        if os.environ.get("READBENCH_DEBUG"):
            sys.stderr.write(self.trace)
        if self.kind == "system":
            return OSError(*self.arguments)
        known = {"usage": UsageError, "readbench": ReadbenchError}
        return (known.get(self.kind) or type(self.kind, (Exception,), {}))(self.message)


class Pool:
    """Runs the lanes of a workspace in ``jobs`` processes; leaving the block by an exception stops those that run."""

    def __init__(self, workspace: PlainWorkspace, jobs: int, names: Iterable[str], keep_going: bool) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*PRELOADED])
        self._lines = context.SimpleQueue()
        self._reader = threading.Thread(target=self._show, daemon=True)
        self._before = set(multiprocessing.active_children())
        self._executor = ProcessPoolExecutor(
            jobs, context, _start, (dict(os.environ), os.getcwd(), self._lines if is_moving() else None)
        )
        fields = workspace.model_dump()
        self._futures: dict[str, Future[Any]] = {
            name: self._executor.submit(_run, fields, name, keep_going) for name in names
        }

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown(wait=False, cancel_futures=True)
        if kind is not None and not isinstance(error, Exception):  # stopped by hand
            for process in set(multiprocessing.active_children()) - self._before:
                process.terminate()
        self._executor.shutdown(wait=True)
        self._lines.put(None)
        self._reader.join()
        wipe()

    def ended(self) -> Iterator[tuple[str, LaneState, float]]:
        """Yield the name, the state and the seconds of each lane in the given order.

        Raises the error of the first lane of that order that failed; lanes that run are finished, others not begun.
        """
        for name, future in self._futures.items():
            try:
                found, seconds = future.result()
            except BrokenProcessPool:
                raise ReadbenchError(
                    f"{name}: the process that ran it was stopped, perhaps for want of memory: run the same command "
                    "again to resume, with fewer --jobs"
                ) from None
            if isinstance(found, _Failure):
                raise found.error()
            yield name, found, seconds

    def _show(self) -> None:
        while (line := self._lines.get()) is not None:
            moving(*line.split(": ", 1)) if ": " in line else moving(line, "")


def _start(environment: Mapping[str, str], folder: str, lines: Any) -> None:
    """Prepare a new process: its environment, its folder, its progress, and its end."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if lines is not None:
        from assets import progress

        progress.forward(lines.put)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _run(fields: dict[str, Any], name: str, keep_going: bool) -> tuple[LaneState | _Failure, float]:
    """Run a lane in this process; return its state, or its error as plain data, and the seconds it took."""
    from readbench_data.cli.runner import run_lane

    began = time.monotonic()
    try:
        found: LaneState | _Failure = run_lane(*_tools(json.dumps(fields)), name, keep_going)
    except Exception as error:
        found = _Failure.of(error)
    return found, time.monotonic() - began


@cache
def _tools(fields: str) -> tuple[Finished, Runner]:
    """Return what all lanes of this process run with."""
    from assets.finished import Finished
    from assets.workspace import PlainWorkspace
    from readbench_data.cli.runner import Runner

    workspace = PlainWorkspace(**json.loads(fields))
    return Finished(workspace), Runner(workspace)
