"""Time and peak memory of a piece of work, and the threads it may use.

GPU memory is reported only if the work used some: torch's own peak counter, summed over all GPUs.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
from threadpoolctl import threadpool_limits

from readbench_data.evaluation.scoring.cores import available_cores

SAMPLE_S = 0.02
"""Interval of the fallback sampler; a spike shorter than this can be missed."""

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """What a piece of work cost.

    Attributes
    ----------
    wall_s, cpu_s : float
        Wall time, and CPU time over all threads of this process, in seconds.
    peak_memory_mb : float, optional
        How far resident memory rose, in MiB.
    memory_source : str, optional
        ``VmHWM``: the kernel's own peak counter, exact. ``sampler``: read every 20 ms. None: not measured.
    gpu_memory_mb : float, optional
        Most memory that torch held on its GPUs at once, weights included, in MiB. None: the work used none.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_memory_mb: float | None = None
    memory_source: str | None = None
    gpu_memory_mb: float | None = None


@contextmanager
def pinned_threads(threads: int | None = None) -> Iterator[int]:
    """Limit numba and OpenMP to ``threads`` (default: all available cores) and yield that number.

    BLAS is limited to one thread: kernels distribute their work themselves and the matrix products here are small. A
    second BLAS thread doubles their CPU time and makes them wait (up to a hundred times their own time) where a core is
    busy.
    """
    count = min(threads or available_cores(), numba.config.NUMBA_NUM_THREADS)
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        with threadpool_limits(limits={"blas": 1, "openmp": count}):
            yield count
    finally:
        numba.set_num_threads(before)


@contextmanager
def measured(memory: bool = True) -> Iterator[Cost]:
    """Yield a :class:`Cost` that is filled in when the block ends, also if it ends with an exception.

    Examples
    --------
    >>> with measured(memory=False) as cost:
    ...     total = sum(range(1000))
    >>> cost.wall_s > 0, cost.peak_memory_mb
    (True, None)
    """
    cost = Cost()
    gauge = _gauge() if memory else None
    if gauge is not None:
        gauge.start()
    held = _reset_gpu()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield cost
    finally:
        cost.wall_s = time.perf_counter() - wall
        cost.cpu_s = time.process_time() - cpu
        if gauge is not None:
            cost.peak_memory_mb = gauge.stop() / 2**20
            cost.memory_source = gauge.source
        cost.gpu_memory_mb = _gpu_peak_mb(held)


def _status_bytes(key: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {key}")


class _HighWater:
    """Exact: the kernel's peak counter, reset before the work."""

    source = "VmHWM"

    def start(self) -> None:
        _CLEAR.write_text("5")
        self._before = _status_bytes("VmRSS:")

    def stop(self) -> int:
        return max(0, _status_bytes("VmHWM:") - self._before)


class _Sampler:
    """For systems where the counter cannot be reset: a thread reads resident memory every 20 ms."""

    source = "sampler"

    def start(self) -> None:
        self._before = self._peak = _status_bytes("VmRSS:")
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._end.wait(SAMPLE_S):
            self._peak = max(self._peak, _status_bytes("VmRSS:"))

    def stop(self) -> int:
        self._end.set()
        self._thread.join()
        return max(0, max(self._peak, _status_bytes("VmRSS:")) - self._before)


def _gauge() -> _HighWater | _Sampler | None:
    if not _STATUS.exists():
        return None
    try:
        _CLEAR.write_text("5")
        _status_bytes("VmHWM:")
    except OSError:
        return _Sampler()
    return _HighWater()


def _cuda() -> Any:
    """Return torch.cuda if torch is imported and has used a GPU, otherwise None. Imports nothing itself."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    return cuda if cuda is not None and cuda.is_available() and cuda.is_initialized() else None


def _reset_gpu() -> int:
    """Reset the peak marks of all GPUs; return the bytes held on them now."""
    cuda = _cuda()
    if cuda is None:
        return 0
    for device in range(cuda.device_count()):
        cuda.reset_peak_memory_stats(device)
    return sum(cuda.memory_allocated(device) for device in range(cuda.device_count()))


def _gpu_peak_mb(held: int) -> float | None:
    cuda = _cuda()
    if cuda is None:
        return None
    peak = sum(cuda.max_memory_allocated(device) for device in range(cuda.device_count()))
    return peak / 2**20 if peak > held else None
