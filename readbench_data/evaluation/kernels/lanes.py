"""Corpus windows side by side, one a SIMD lane: how the DTW kernels lay out their memory.

The inner loop of a kernel runs over the lanes, so the compiler turns it into vector instructions; a dynamic
program over one pair is a chain of dependent scalars and cannot be. The lane count is part of the compiled code.
Measured: float32 with 64 and float64 with 32 lanes are fastest, 16 lanes are 8 to 10 times slower (the compiler
then picks another loop to vectorise). ``benchmarks/evaluation_speed.py`` shows it.
"""

from __future__ import annotations

import numpy as np

LANES = {np.dtype(np.float32): 64, np.dtype(np.float64): 32}
"""Lanes by dtype: a multiple of 256 bytes a row of the dynamic program."""

BIG = 1e30
"""Stands for an unreachable cell; a distance of this size or more is infinite."""

FASTMATH = {"nnan", "nsz", "contract", "reassoc", "arcp"}
"""Not "ninf"; NaN inputs are refused before (see :func:`check_finite`)."""


def blocks(windows: np.ndarray, lanes: int) -> np.ndarray:
    """[n, ...] in blocks of ``lanes`` windows: [n_blocks, lanes, ...]; the last is filled with the last window."""
    n = len(windows)
    count = -(-n // lanes)
    return windows[np.minimum(np.arange(count * lanes), n - 1)].reshape(count, lanes, *windows.shape[1:])


def check_finite(*arrays: np.ndarray) -> None:
    """ValueError if a value is NaN or infinite: libraries return NaN, inf or 0 then, none of them a distance."""
    for array in arrays:
        if not np.isfinite(array).all():
            raise ValueError("DTW needs finite values: fill missing steps first")


def check_channels(x: np.ndarray, y: np.ndarray) -> None:
    """ValueError unless [.., T, C] arrays have the same C (aeon silently compares the first min(C))."""
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"channel counts differ: {x.shape[-1]} and {y.shape[-1]}; align them by name first")


def as_distance(out: np.ndarray) -> np.ndarray:
    """float64, with unreachable ends (a band narrower than the length difference) as inf."""
    result = out.astype(np.float64)
    result[result >= BIG / 2] = np.inf
    return result
