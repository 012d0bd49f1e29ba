"""The Dagster instance. Belongs here: where it is stored. Does not: what runs on it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dagster as dg
from filelock import FileLock

from assets.home import TEMPLATE, lacking_settings
from assets.workspace import readbench_home


def prepare_home(data: str) -> Path:
    """Create READBENCH_HOME with this project's ``dagster.yaml``, set the environment to it, and return it.

    A ``dagster.yaml`` that is there already belongs to the user and is never changed; one line on stderr says if it
    lacks a setting of this project.
    """
    home = readbench_home(data)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "dagster.yaml"
    if not settings.is_file():
        settings.write_bytes(TEMPLATE.read_bytes())
    elif lacking := lacking_settings(home):
        names = ", ".join(lacking)
        print(f"readbench: {settings} lacks {names}: `readbench doctor` prints what to add", file=sys.stderr)
    os.environ["READBENCH_HOME"] = os.environ["DAGSTER_HOME"] = str(home)
    os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")
    return home


@contextmanager
def open_instance(data: str) -> Iterator[dg.DagsterInstance]:
    """Open the instance in READBENCH_HOME, which ``make ui`` shows as well."""
    home = prepare_home(data)
    # A lane without data skips its stages; Dagster would warn once per check that it does not run.
    # The logger is named in full, because every run resets the level of its parent.
    logging.getLogger("dagster._core.execution.plan.active").setLevel(logging.ERROR)
    with ExitStack() as stack:
        with FileLock(home / ".opening.lock"):  # two processes must not create the same databases
            instance = stack.enter_context(dg.DagsterInstance.get())
        yield instance
