"""``python -m crash DATA HOME``: run ``readbench build`` again and again, each killed (-9) a little later, until one
ends by itself; after each, look for anything half-made under a final name. One line of JSON a run on stdout.

Every final name appears by a rename, so the n-th run is killed right before or right after its n-th rename: all
moments between two steps are met, and each run goes on where the one before it was killed.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import built
import pyarrow.parquet as pq

MOST = 60
METHODS = ["Random", "ED"]


def build(data: str, home: str) -> int:
    """The command in this process, with two quick methods."""
    import readbench_data.evaluation as evaluation

    full = evaluation.evaluate
    evaluation.evaluate = lambda release, out, methods=None, **rest: full(release, out, METHODS, **rest)  # type: ignore
    os.environ["READBENCH_HOME"] = home
    ran = built.readbench("build", "--data", data, "--version", built.VERSION, "--dataset", "ctsr")
    sys.stderr.write(ran.err)
    return ran.code


def kill_at(rename: int) -> None:
    """Let this process be killed at its n-th rename: before it where n is odd, after it where n is even."""
    seen = 0

    def watched(move: Callable[..., Any]) -> Callable[..., Any]:
        def moved(*names: Any, **options: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == rename and rename % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done = move(*names, **options)
            if seen == rename:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return moved

    os.replace, os.rename = watched(os.replace), watched(os.rename)  # type: ignore[assignment]


def half_made(data: Path) -> list[str]:
    """Files under a final name that cannot be read to their end, and records that name files which are not there."""
    problems = []
    for path in sorted(data.rglob("*")):
        inside = path.relative_to(data)
        passing = path.name.endswith((".part", ".tmp")) or any(p.startswith(".") for p in inside.parts)
        if passing or not path.is_file() or inside.parts[0] == "cache":
            continue
        try:
            if path.suffix == ".json":
                record = json.loads(path.read_text())
                if path.name == "done.json" and "files" in record:
                    for name in record["files"]:
                        kept = "audit.parquet" if name.startswith("audit/") else name.split("/", 2)[2]
                        pq.ParquetFile(path.parent / kept)
            elif path.suffix == ".parquet":
                for group in range((file := pq.ParquetFile(path)).num_row_groups):
                    file.read_row_group(group)
            elif path.stat().st_size == 0:
                problems.append(f"{inside}: empty")
        except Exception as error:
            problems.append(f"{inside}: {error}")
    return problems


def main(data: str, home: str) -> None:
    """See the module."""
    for module in ("assets.definitions", "readbench_data.cli.build"):
        importlib.import_module(module)  # once, and not in every run

    for number in range(1, MOST + 1):
        child = os.fork()
        if child == 0:
            kill_at(number)
            code = 99
            try:
                code = build(data, home)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        versions = {}
        for room in ("release", "published"):
            folder = Path(data) / room / built.VERSION
            versions[room] = built.tree(folder) if folder.exists() else None
        seen = {"killed": killed, "code": None if killed else os.WEXITSTATUS(status), **versions}
        print(json.dumps({**seen, "half_made": half_made(Path(data)), "left": built.leftovers(Path(data))}), flush=True)
        if not killed:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
