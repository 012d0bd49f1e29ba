"""One lock per lane and per release, taken by whatever runs a stage: the command, its processes, the UI.

Belongs here: taking and releasing the locks. Does not: the lock of a whole build (``readbench_data.cli.build``).
"""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from assets.workspace import PlainWorkspace
from readbench_data.errors import ReadbenchError

_held: dict[Path, FileLock] = {}
"""Held by this process, from the first stage of a run on: a run is executed in one process."""


def hold(workspace: PlainWorkspace, name: str) -> None:
    """Take the lock of a lane or of a release, unless this process has it; it is released with the process.

    The locks are local files: runs on other machines do not see them. Raises ``ReadbenchError`` if another process has
    the lock.
    """
    path = workspace.cache / "locks" / f"{name}.lock"
    if path in _held:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ReadbenchError(f"{name}: another run of it is going on in {workspace.data}: wait for its end") from None
    _held[path] = lock


def release_all() -> None:
    """Release every lock that this process holds, at the end of a run."""
    while _held:
        _held.popitem()[1].release()
