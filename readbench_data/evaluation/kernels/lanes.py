"""Corpus windows side by side, one a SIMD lane: how the DTW kernels lay out their memory.

A dynamic program over one pair is a chain of dependent scalars; over many pairs side by side every step is a vector
instruction. Four vectors of 64 bytes are worked on at once, enough to hide the latency of the chain. The lane count
is part of the compiled code. ``benchmarks/evaluation_speed.py`` shows what it brings.
"""

from __future__ import annotations

import numpy as np

LANES = {np.dtype(np.float32): 64, np.dtype(np.float64): 32}
"""Lanes by dtype: 256 bytes a column of the dynamic program."""

BIG = 1e30
"""Stands for an unreachable cell."""


def block_places(n: int, lanes: int) -> np.ndarray:
    """Index of the window in each lane: [n_blocks, lanes]; the last block is filled with the last window."""
    count = -(-n // lanes)
    return np.minimum(np.arange(count * lanes), n - 1).reshape(count, lanes)


def check_finite(*arrays: np.ndarray) -> None:
    """ValueError if a value is NaN or infinite: libraries return NaN, inf or 0 then, none of them a distance."""
    for array in arrays:
        if not np.isfinite(array).all():
            raise ValueError("DTW needs finite values: fill missing steps first")


def check_channels(x: np.ndarray, y: np.ndarray) -> None:
    """ValueError unless [.., T, C] arrays have the same C (aeon silently compares the first min(C))."""
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"channel counts differ: {x.shape[-1]} and {y.shape[-1]}; align them by name first")
