"""Starts a worker in its jail and reads its answers, within limits of time and memory."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np

from readbench_data.evaluation.submission.masking import Entry

HERE = Path(__file__).parent
ENTER = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child")
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
LONGEST_LINE = 1 << 24


class Refused(Exception):
    """The method gave no valid answer; the text is one line that says why."""


@dataclass(frozen=True)
class Limits:
    """Of one dataset at one level: wall seconds for all queries, and address space."""

    seconds: float = 600.0
    memory_gib: float = 8.0


@cache
def can_isolate() -> bool:
    """Whether namespaces can be had here (tried once, with a jail that does nothing)."""
    if shutil.which("unshare") is None:
        return False
    with _root() as root, tempfile.TemporaryDirectory() as folder:
        job = _job([sys.executable, "-I", "-c", "pass"], Path(folder), Limits(), root)
        done = subprocess.run(_command(job, True), capture_output=True, timeout=60, check=False)
        return done.returncode == 0


def rank_all(folder: Path, queries: list[Entry], corpus: list[Entry], limits: Limits) -> tuple[np.ndarray, bool]:
    """Orders int32 [nq, n] of ``corpus`` by the method in ``folder``, and whether it was isolated.

    Refused: what is wrong with the method, in one line.
    """
    isolated = can_isolate()
    with tempfile.TemporaryDirectory(prefix="submission-") as copied, _root() as root:
        inside = Path(copied) / "submission"
        shutil.copytree(folder, inside, ignore=shutil.ignore_patterns("__pycache__", "results.json"))
        shutil.copy(HERE / "worker.py", Path(copied) / "worker.py")
        receive, send = os.pipe()
        command = [sys.executable, "-I", f"{copied}/worker.py", str(send)]
        job = _job(command, Path(copied), limits, root if isolated else None)
        process = subprocess.Popen(
            _command(job, isolated),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(send,),
            start_new_session=True,
        )
        os.close(send)
        feeder = threading.Thread(target=_feed, args=(process.stdin, inside, queries, corpus), daemon=True)
        feeder.start()
        try:
            with os.fdopen(receive, "rb") as answers:
                orders = _collect(answers, process, len(queries), len(corpus), limits)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            feeder.join(timeout=5)
    return orders, isolated


def _collect(answers: IO[bytes], process: Any, n_queries: int, n: int, limits: Limits) -> np.ndarray:
    """Answers of the worker, checked again: it is not trusted."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    clock = threading.Timer(limits.seconds, stop)
    clock.start()
    started = time.monotonic()
    orders = np.empty((n_queries, n), np.int32)
    try:
        for number in range(-1, n_queries):
            line = answers.readline(LONGEST_LINE)
            if late.is_set():
                raise Refused(f"query {max(number, 0) + 1} of {n_queries}: time limit of {limits.seconds:g} s is over")
            if not line:
                raise Refused(
                    f"query {max(number, 0) + 1} of {n_queries}: the process died ({_death(process, started)})"
                )
            answer = _parsed(line)
            if "error" in answer:
                text = str(answer["error"])
                memory = f" (limit {limits.memory_gib:g} GiB)" if "Memory" in text else ""
                raise Refused(text + memory)
            if number >= 0:
                order = np.array(answer.get("order", []))
                if order.shape != (n,) or not (np.sort(order) == np.arange(n)).all():
                    raise Refused(f"query {number + 1} of {n_queries}: the answer is not a permutation of the corpus")
                orders[number] = order
    finally:
        clock.cancel()
    return orders


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(line)
    except ValueError as error:
        raise Refused("the answer channel holds something else than answers") from error
    if not isinstance(answer, dict):
        raise Refused("the answer channel holds something else than answers")
    return answer


def _death(process: Any, started: float) -> str:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=5)
    code = process.returncode
    how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
    return f"{how} after {time.monotonic() - started:.1f} s"


def _feed(stream: IO[bytes] | None, folder: Path, queries: list[Entry], corpus: list[Entry]) -> None:
    """Write the worker's input; a worker that is gone does not matter here."""
    assert stream is not None
    groups = (queries, corpus)
    header = {
        "folder": str(folder),
        "entries": [[{k: v for k, v in e.items() if k != "ts_values"} for e in g] for g in groups],
        "shapes": [[list(e["ts_values"].shape) for e in g] for g in groups],
    }
    with suppress(BrokenPipeError), stream:
        stream.write(json.dumps(header).encode() + b"\n")
        for group in groups:
            for entry in group:
                stream.write(np.ascontiguousarray(entry["ts_values"], np.float32).tobytes())


def _job(command: list[str], folder: Path, limits: Limits, root: str | None) -> dict[str, Any]:
    prefixes = {sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent), sysconfig.get_path("stdlib")}
    prefixes |= {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    shown = sorted({p for p in (*SYSTEM, *prefixes) if os.path.lexists(p)} | {str(folder)}, key=len)
    kept = [
        p for i, p in enumerate(shown) if not any(p.startswith(o + "/") for o in shown[:i] if not os.path.islink(o))
    ]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "NUMBA_CACHE_DIR": "/tmp/numba", "PYTHONHASHSEED": "0"}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "root": root,
        "shown": kept,
        "devices": [d for d in DEVICES if os.path.exists(d)],
        "memory_bytes": int(limits.memory_gib * 2**30),
        "command": command,
        "environment": environment | threads,
    }


def _command(job: dict[str, Any], isolated: bool) -> list[str]:
    start = [sys.executable, "-I", str(HERE / "jail.py"), json.dumps(job)]
    return [*ENTER, *start] if isolated else start


@contextmanager
def _root() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="jail-")
    try:
        yield folder
    finally:
        os.rmdir(folder)
