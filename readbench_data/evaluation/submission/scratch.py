"""Temporary folders that are locked while their harness runs, so that the next harness can identify leftover ones.

A killed harness cannot clean up, but the kernel releases its locks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".readbench-sandbox-"
NEW_S = 60
"""Seconds. A folder younger than this is left alone, because its lock may not have been acquired yet (ours)."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new empty folder and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # on a file system without locks, remove_abandoned() cannot lock and leaves it too
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(held)


def remove_abandoned() -> None:
    """Remove the folders of harnesses that have ended; folders of other users and of running harnesses stay."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            facts = folder.lstat()
            if facts.st_uid != os.getuid() or time.time() - facts.st_mtime < NEW_S:
                continue
            held = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(held)
