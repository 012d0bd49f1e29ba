"""``python -m tests.support.crash DATA HOME``: runs ``readbench build`` repeatedly, each run killed (-9) a little
later, until one ends by itself; after each run, searches for partial files under a final name. Prints one line of JSON
per run.

Every final name appears by a rename, so the runs are killed right before and right after a rename: of a file (in every
stage), then of a folder (the new release replaces the earlier one; its publication). If two folders cannot be exchanged
atomically, a rename moves the earlier one away first. Each run resumes where the previous one was killed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from readbench_data.store import store
from readbench_data.store.exchange import exchange
from tests.support import built

FILES = [("file", place, place % 2 == 0) for place in (1, 2, 3, 4, 5, 6, 8, 13)]
EXCHANGED = [("folder", 1, False), ("folder", 1, True), ("folder", 2, False), ("folder", 2, True)]
RENAMED = [("folder", 1, False), ("folder", 1, True), ("folder", 1, True), ("folder", 2, False), ("folder", 2, True)]
METHODS = ["Random", "ED"]


def spare() -> None:
    """Leave out slow parts that do not affect how files get their names: figures, suites, all lanes but one, and all
    methods but two."""
    import assets.definitions as definitions
    import expectations
    from assets import figures
    from readbench_data.evaluation.run import protocol

    score, define = protocol.evaluate, definitions.build_definitions
    protocol.evaluate = lambda release, out, methods=None, **rest: score(release, out, METHODS, **rest)  # type: ignore
    definitions.build_definitions = lambda workspace: define(workspace, ["ctsr"])  # type: ignore
    figures.histogram = figures.windows_by_class = lambda *_: "-"
    expectations.run = lambda stage, _: [  # type: ignore
        expectations.CheckResult(check=check, description=why, passed=True, blocking=blocks, observed={})
        for check, why, blocks in expectations.checks(stage)
    ]


def build(data: str, home: str) -> int:
    """Run the command in this process and return its exit code."""
    os.environ["READBENCH_HOME"] = home
    ran = built.readbench("build", "--data", data, "--version", built.VERSION, "--dataset", "ctsr")
    sys.stderr.write(ran.err)
    return ran.code


def kill_at(kind: str, place: int, after: bool) -> None:
    """Kill this process before or after its n-th rename of a file or folder."""
    seen = 0

    def watched(move: Callable[..., Any]) -> Callable[..., Any]:
        def moved(*names: Any, **options: Any) -> Any:
            nonlocal seen
            counted = os.path.isdir(names[0]) == (kind == "folder") and (move is not exchange or can_exchange())
            seen += counted
            if counted and seen == place and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = move(*names, **options)
            if counted and seen == place:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return moved

    os.replace, os.rename = watched(os.replace), watched(os.rename)
    store.exchange = watched(store.exchange)


@cache
def can_exchange() -> bool:
    """Return whether two folders can be exchanged atomically here."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        for name in ("one", "other"):
            os.mkdir(os.path.join(folder, name))
        return exchange(os.path.join(folder, "one"), os.path.join(folder, "other"))


def partial_files(data: Path) -> list[str]:
    """Return files under a final name that cannot be read completely, and records that name missing files."""
    problems = []
    for path in sorted(data.rglob("*")):
        inside = path.relative_to(data)
        temporary = path.name.endswith((".part", ".tmp")) or any(p.startswith(".") for p in inside.parts)
        if temporary or not path.is_file() or inside.parts[0] == "cache":
            continue
        try:
            if path.suffix == ".json":
                record = json.loads(path.read_text())
                if path.name == "done.json" and "files" in record:
                    for name in record["files"]:
                        file_name = "audit.parquet" if name.startswith("audit/") else name.split("/", 2)[2]
                        pq.ParquetFile(path.parent / file_name)
            elif path.suffix == ".parquet":
                for group in range((file := pq.ParquetFile(path)).num_row_groups):
                    file.read_row_group(group)
            elif path.stat().st_size == 0:
                problems.append(f"{inside}: empty")
        except Exception as error:
            problems.append(f"{inside}: {error}")
    return problems


def main(data: str, home: str) -> None:
    """Run the builds; see the module."""
    from assets.instance import open_instance

    os.environ["READBENCH_HOME"] = home
    importlib.import_module("readbench_data.cli.build")
    spare()
    with open_instance(data):
        pass  # import its modules once, before the forks

    for moment in [*FILES, *(EXCHANGED if can_exchange() else RENAMED), ("never", 0, False)]:
        child = os.fork()
        if child == 0:
            kill_at(*moment)
            code = 99
            try:
                code = build(data, home)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        versions = {}
        for part in ("release", "published"):
            folder = Path(data) / part / built.VERSION
            versions[part] = built.tree(folder) if folder.exists() else None
        result = {
            "moment": moment,
            "one_step": can_exchange(),
            "killed": killed,
            "code": None if killed else os.WEXITSTATUS(status),
            **versions,
        }
        result |= {"partial": partial_files(Path(data)), "left": built.leftovers(Path(data))}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
