"""Starts a worker in its sandbox, sends it one query at a time and reads its answers.

The worker is not trusted: every line it writes is checked again.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

import numpy as np

from readbench_data.evaluation.submission.contract import submitted_files
from readbench_data.evaluation.submission.guard import Guard, Limits, Spent
from readbench_data.evaluation.submission.masking import EntryFields
from readbench_data.evaluation.submission.metadata import Arrays
from readbench_data.evaluation.submission.scratch import remove_abandoned, scratch
from readbench_data.store.records import JsonObject

HERE = Path(__file__).parent
DIE_WITH_HARNESS = ("setpriv", "--pdeathsig", "KILL")
"""The kernel ends the outer ``unshare`` when the thread of the harness that started it ends."""

ENTER = (
    *DIE_WITH_HARNESS,
    *("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child"),
    *("sh", "-c", '"$@"; exit $?', "first"),
    *("unshare", "--mount", "--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child"),
)
"""Two nested process namespaces. The first process of the outer one is ours: a method can clear its own death signal,
but when our process ends, the kernel ends every process in the namespace. The shell reports a signal as 128 + its
number."""

SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
LONGEST_LINE = 1 << 24
LONGEST_REASON = 300
SCRATCH_BYTES = 1 << 30
"""Maximum bytes that a method can write to /tmp, which is in memory and is removed with the sandbox."""

CPU_MARGIN_S, LONGEST_CPU_S = 60, 1 << 31
"""The kernel ends each process after the time limit on every core plus this margin (ours: the guard acts earlier)."""


class MethodFailed(Exception):
    """The method gave no valid answer; the message is one line with the reason."""


@dataclass(frozen=True)
class Ranked:
    """``orders``: int32 [nq, n], the corpus order per query; ``spent``: their cost; ``isolated``: whether in a
    sandbox."""

    orders: np.ndarray
    spent: Spent
    isolated: bool


@cache
def can_isolate() -> bool:
    """Return whether this machine allows namespaces; tried once, with a sandbox that does nothing."""
    if any(shutil.which(program) is None for program in ("setpriv", "unshare")):
        return False
    with scratch() as root, scratch() as folder:
        job = _job([sys.executable, "-I", "-c", "pass"], folder, Limits(), root)
        done = subprocess.run(_command(job, True), capture_output=True, timeout=60, check=False)
        return done.returncode == 0


def rank_all(
    folder: Path,
    queries: list[EntryFields],
    corpus: list[EntryFields],
    limits: Limits,
    arrays: Arrays = Arrays.LISTS,
) -> Ranked:
    """Rank ``corpus`` for each query with the method in ``folder``, one query after the other.

    The method gets ``ts_values`` in the form ``arrays``.

    Raises MethodFailed with the problem of the method in one line.
    """
    remove_abandoned()
    isolated = can_isolate()
    with scratch() as copied, scratch() as root:
        inside = copied / "submission"
        for file in submitted_files(folder):
            target = inside / file.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target, follow_symlinks=False)
        shutil.copyfile(HERE / "worker.py", copied / "worker.py")
        receive, send = os.pipe()
        command = [sys.executable, "-I", f"{copied}/worker.py", str(send)]
        job = _job(command, copied, limits, root if isolated else None)
        process = subprocess.Popen(
            _command(job, isolated),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(send,),
            start_new_session=True,
        )
        os.close(send)
        with os.fdopen(receive, "rb") as answers, Guard(process, limits) as guard:
            connection = _Connection(answers, guard, len(corpus), len(queries))
            connection.begin(inside, corpus, arrays)
            orders = [connection.rank(query) for query in queries]
            peak = guard.peak_memory_mb()
            connection.end()
            shape = (len(queries), len(corpus))
            return Ranked(np.array(orders, np.int32).reshape(shape), Spent(guard.leave(), peak), isolated)


class _Connection:
    """The connection to a worker; raises MethodFailed as soon as the worker breaks a rule."""

    def __init__(self, answers: IO[bytes], guard: Guard, n: int, n_queries: int) -> None:
        self.answers, self.guard = answers, guard
        self.n, self.n_queries, self.number = n, n_queries, 0
        self.started = time.monotonic()

    def begin(self, folder: Path, corpus: list[EntryFields], arrays: Arrays) -> None:
        """Send the corpus and wait until method.py is imported."""
        self._send({"folder": str(folder), "items": len(corpus), "arrays": arrays}, corpus)
        self._answer()

    def rank(self, query: EntryFields) -> list[int]:
        """Return the order of the corpus for one query; the worker sees the next query only after its answer."""
        self.number += 1
        self._send({}, [query])
        order = self._answer().get("order")
        if not isinstance(order, list) or any(type(i) is not int for i in order) or sorted(order) != [*range(self.n)]:
            raise MethodFailed(f"{self._place()}: the answer is not a permutation of the corpus")
        return order

    def end(self) -> None:
        """Signal that there are no more queries."""
        with suppress(BrokenPipeError):
            self._requests.close()

    @property
    def _requests(self) -> IO[bytes]:
        assert self.guard.process.stdin is not None
        return self.guard.process.stdin

    def _send(self, header: JsonObject, entries: list[EntryFields]) -> None:
        with suppress(BrokenPipeError):  # the worker has ended: _answer reports why
            self._requests.write(json.dumps(header).encode() + b"\n")
            for entry in entries:
                rest = {k: v for k, v in entry.items() if k != "ts_values"}
                values = np.ascontiguousarray(entry["ts_values"], np.float32)
                self._requests.write(json.dumps([rest, values.shape]).encode() + b"\n")
                self._requests.write(values.tobytes())
            self._requests.flush()

    def _answer(self) -> JsonObject:
        line = self.answers.readline(LONGEST_LINE)
        if not line:
            raise MethodFailed(f"{self._place()}: {self.guard.verdict or f'the process died ({self._death()})'}")
        answer = _parsed(line)
        if "error" in answer:
            text = one_line(str(answer["error"]))
            memory = f" (limit {self.guard.limits.memory_gib:g} GiB)" if "Memory" in text else ""
            raise MethodFailed(f"{self._place()}: {text}{memory}")
        return answer

    def _place(self) -> str:
        return f"query {self.number} of {self.n_queries}" if self.number else "importing method.py"

    def _death(self) -> str:
        process = self.guard.process
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        code = process.returncode
        code = 128 - code if code is not None and code > 128 else code
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return f"{how} after {time.monotonic() - self.started:.1f} s"


def one_line(text: str) -> str:
    """Return untrusted text as one printable line of limited length without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in text[: 4 * LONGEST_REASON])
    return " ".join(plain.split())[:LONGEST_REASON]


def _parsed(line: bytes) -> JsonObject:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise MethodFailed("the answer channel contains something other than answers") from error
    if not isinstance(answer, dict):
        raise MethodFailed("the answer channel contains something other than answers")
    return answer


def _job(command: list[str], folder: Path, limits: Limits, root: Path | None) -> JsonObject:
    prefixes = {sys.prefix, sys.base_prefix, str(Path(sys.executable).resolve().parent), sysconfig.get_path("stdlib")}
    prefixes |= {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix)}
    shown = sorted({p for p in (*SYSTEM, *prefixes) if os.path.lexists(p)} | {str(folder)}, key=len)
    outermost = [
        p for i, p in enumerate(shown) if not any(p.startswith(o + "/") for o in shown[:i] if not os.path.islink(o))
    ]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "NUMBA_CACHE_DIR": "/tmp/numba", "PYTHONHASHSEED": "0"}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "root": str(root) if root else None,
        "shown": outermost,
        "devices": [d for d in DEVICES if os.path.exists(d)],
        "memory_bytes": int(limits.memory_gib * 2**30),
        "scratch_bytes": SCRATCH_BYTES,
        "cpu_s": int(min(limits.seconds * (os.cpu_count() or 1) + CPU_MARGIN_S, LONGEST_CPU_S)),
        "harness": os.getpid(),
        "command": command,
        "environment": environment | threads,
    }


def _command(job: JsonObject, isolated: bool) -> list[str]:
    start = [sys.executable, "-I", str(HERE / "jail.py"), json.dumps(job)]
    return [*ENTER, *start] if isolated else start
