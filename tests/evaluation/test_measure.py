"""Cost of a piece of work: time, resident memory, memory of a GPU where one was used, threads."""

from __future__ import annotations

import subprocess
import sys
import time
from types import SimpleNamespace

import numba
import pytest

from readbench_data.evaluation.scoring.measure import measured, pinned_threads


class Cuda:
    """torch.cuda's book-keeping of two devices, as far as it is read."""

    def __init__(self, available: bool = True) -> None:
        self.now, self.peak, self.available, self.used = [0, 0], [0, 0], available, False

    def is_available(self) -> bool:
        return self.available

    def is_initialized(self) -> bool:
        return self.used

    def device_count(self) -> int:
        return len(self.now)

    def reset_peak_memory_stats(self, device: int) -> None:
        self.peak[device] = self.now[device]

    def memory_allocated(self, device: int) -> int:
        return self.now[device]

    def max_memory_allocated(self, device: int) -> int:
        return self.peak[device]

    def put(self, mebibytes: int, device: int = 0) -> None:
        self.used = True
        self.now[device] += mebibytes * 2**20
        self.peak[device] = max(self.peak[device], self.now[device])


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    fake = Cuda()
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=fake))
    return fake


def test_gpu_memory_is_the_most_that_was_held_on_all_devices(cuda: Cuda) -> None:
    with measured() as cost:
        cuda.put(100)
        cuda.put(40, device=1)
        cuda.put(-100)
    assert cost.gpu_memory_mb == 140
    with measured() as cost:  # the mark is reset: 40 MiB of weights stay, 5 come and go
        cuda.put(5, device=1)
        cuda.put(-5, device=1)
    assert cost.gpu_memory_mb == 45


def test_work_that_puts_nothing_on_a_gpu_has_no_gpu_memory(cuda: Cuda) -> None:
    cuda.put(70)  # the weights of a method that ran before
    with measured() as cost:
        sum(range(1000))
    assert cost.gpu_memory_mb is None


def test_without_a_gpu_or_torch_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for torch in (SimpleNamespace(cuda=Cuda(available=False)), SimpleNamespace(), None):
        if torch is None:
            monkeypatch.delitem(sys.modules, "torch", raising=False)
        else:
            monkeypatch.setitem(sys.modules, "torch", torch)
        with measured() as cost:
            sum(range(1000))
        assert cost.gpu_memory_mb is None


SPIKE = """
import time
import numpy as np
from readbench_data.evaluation.scoring import measure

with measure.measured() as cost:
    np.ones(60 * 2**17).sum()  # 60 MiB for some milliseconds
print(cost.memory_source, cost.peak_memory_mb)
measure._gauge = measure._Sampler
with measure.measured() as cost:
    held = np.ones(60 * 2**17)
    time.sleep(3 * measure.SAMPLE_S)
    del held
print(cost.memory_source, cost.peak_memory_mb)
"""


def test_the_kernels_mark_sees_a_spike_shorter_than_the_samplers_interval() -> None:
    """In a process of its own: one that held more before may give some of it back meanwhile."""
    shown = subprocess.run([sys.executable, "-c", SPIKE], capture_output=True, text=True, check=True).stdout
    mark, sampler = (line.split() for line in shown.splitlines())
    if mark[0] == "VmHWM":
        assert float(mark[1]) == pytest.approx(60, abs=8)
    assert sampler[0] == "sampler"
    assert float(sampler[1]) == pytest.approx(60, abs=8)


def test_cpu_time_is_that_of_all_threads_and_sleep_is_none() -> None:
    with measured() as cost:
        time.sleep(0.1)
    assert cost.wall_s == pytest.approx(0.1, abs=0.08)
    assert cost.cpu_s < 0.05


def test_the_cost_of_what_fails_is_kept() -> None:
    def work() -> None:
        time.sleep(0.02)
        raise RuntimeError

    with pytest.raises(RuntimeError), measured() as cost:
        work()
    assert cost.wall_s >= 0.02


def test_threads_are_held_and_given_back() -> None:
    before = numba.get_num_threads()
    with pinned_threads(1) as count:
        assert count == numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
