"""Enforces the limits of time, memory and processes on a worker, and ends it with every process it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INTERVAL_S = 0.1
PROCESSES = 200
"""Maximum number of processes and threads of a method (ours: enough for a pool of workers, too few for a fork bomb)."""

LEAVE_S = 2.0
"""Seconds that a worker has to end by itself after its last answer."""


@dataclass(frozen=True)
class Limits:
    """Limits for one dataset at one level: wall-clock seconds for all queries, and memory in GiB (the address space of
    each process, and the resident memory of all processes together)."""

    seconds: float = 600.0
    memory_gib: float = 8.0


@dataclass(frozen=True)
class Spent:
    """CPU seconds and peak resident MiB of a worker, including its interpreter; None if it had to be killed."""

    cpu_s: float | None
    peak_memory_mb: float | None


class Guard:
    """A thread that watches a running process. ``verdict``: the limit that the process exceeded, or None."""

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.process, self.limits = process, limits
        self.verdict: str | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Guard:
        self._until = time.monotonic() + self.limits.seconds
        self._thread.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._over.set()
        self._thread.join()
        kill(self.process)
        if self.process.stdin is not None:
            with suppress(BrokenPipeError):
                self.process.stdin.close()

    def peak_memory_mb(self) -> float | None:
        """Return the peak resident MiB, summed over the processes that are running now; None without /proc."""
        marks = [_mark(pid) for pid in family(self.process.pid)]
        return sum(marks) / 2**20 if any(marks) else None

    def leave(self) -> float | None:
        """Wait for a worker to end and return the CPU seconds of all its processes; None if it does not end in time."""
        deadline = time.monotonic() + LEAVE_S
        while time.monotonic() < deadline:
            try:
                pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            except ChildProcessError:
                break
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                return usage.ru_utime + usage.ru_stime
            time.sleep(0.005)
        return None

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL_S):
            self.verdict = self._broken()
            if self.verdict is not None:
                kill(self.process)
                return

    def _broken(self) -> str | None:
        if time.monotonic() > self._until:
            return f"time limit of {self.limits.seconds:g} s exceeded"
        members = family(self.process.pid)
        if sum(threads for threads, _ in members.values()) > PROCESSES:
            return f"more than {PROCESSES} processes and threads"
        if sum(held for _, held in members.values()) > self.limits.memory_gib * 2**30:
            return f"its processes use more than {self.limits.memory_gib:g} GiB"
        return None


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, its group and all its descendants, including those that left the group; then reap it."""
    if process.returncode is None:
        members = family(process.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def family(pid: int) -> dict[int, tuple[int, int]]:
    """Return threads and resident bytes (without files) of a process and its descendants; empty without /proc."""
    parent: dict[int, int] = {}
    threads: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = entry.read_text(errors="replace").rpartition(")")[2].split()
            parent[int(entry.parent.name)] = int(fields[1])
            threads[int(entry.parent.name)] = int(fields[17])
    members, found = {}, {pid}
    while found:
        members.update({p: (threads.get(p, 0), _held(p)) for p in found if p in parent})
        found = {p for p, above in parent.items() if above in found and p not in members}
    return members


def _held(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text().split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _mark(pid: int) -> int:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    return 0
