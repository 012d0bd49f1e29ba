"""Temporary folders that are held by a lock while their harness lives, so that the next one can tell what is left over.

A harness that is killed cannot tidy up; the kernel gives up its locks.
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
"""A folder younger than this is left alone: it may not be locked yet (ours)."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A new empty folder, gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    held = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: then sweep() cannot lock it either, and leaves it
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(held)


def remove_abandoned() -> None:
    """Remove the folders of harnesses that are dead; those of other users and of living harnesses stay."""
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
