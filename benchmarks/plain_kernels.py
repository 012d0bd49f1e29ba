"""The kernel in LLVM IR against its plain numba reference: CPU time, and whether the results are equal.

    python -m benchmarks plain_kernels

Both run in the same process and take turns, after a first call of each that is not timed. One line per shape: the
factor by which the plain kernel is slower (medians, and least times), and the seconds of both. The exit code is 1 if
any two results differ in a bit. A median factor under 1.5 at every shape means that the LLVM IR is not worth keeping.
"""

from __future__ import annotations

import sys
from functools import partial
from itertools import product

import numba
import numpy as np

from benchmarks.evaluation_speed import Run, cpu_seconds, walks
from readbench_data.evaluation.kernels.dtw_independent import dtw_independent

STEPS = 256
BAND = 25
SHAPES = ((2, 100, 1000), (52, 10, 1000))
"""Channels, queries, corpus windows."""


def compared(channels: int, nq: int, n: int, dtype: type) -> bool:
    """Time both kernels on one shape and print the line; return whether they return equal bits."""
    rng = np.random.default_rng(0)
    x, y = walks(rng, nq, STEPS, channels), walks(rng, n, STEPS, channels)
    runs: dict[str, Run] = {
        name: partial(dtw_independent, x, y, BAND, dtype, plain=name == "plain") for name in ("LLVM IR", "plain")
    }
    equal = len({run().tobytes() for run in runs.values()}) == 1
    seconds = cpu_seconds(runs)
    median, least = (
        typical(seconds["plain"]) / typical(seconds["LLVM IR"]) for typical in (lambda s: float(np.median(s)), min)
    )
    shape = f"dtw_independent C={channels} {np.dtype(dtype).name}, {nq} x {n}"
    times = ", ".join(f"{name} {float(np.median(s)):.3f} s" for name, s in seconds.items())
    verdict = "equal" if equal else "DIFFERENT"
    print(f"{shape:42} plain takes {median:4.2f}x (least {least:4.2f}x)  {times}  {verdict}", flush=True)
    return equal


def main() -> int:
    print(f"T={STEPS}, band {BAND}; compiled for {numba.config.CPU_NAME or 'this machine'}")
    equal = [compared(*shape, dtype) for dtype, shape in product((np.float32, np.float64), SHAPES)]
    return int(not all(equal))


if __name__ == "__main__":
    sys.exit(main())
