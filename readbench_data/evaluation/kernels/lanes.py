"""Memory layout of the DTW kernels: corpus windows side by side, one per SIMD lane.

Why: a dynamic program over one pair of windows is a chain in which every step waits for the one before it. Over many
pairs side by side every step is a vector instruction instead. One column holds 256 bytes, four vectors of 64 bytes:
enough independent work to hide the latency of the chain. The lane count is a constant in the compiled code, so loops
over lanes need no remainder.

Set ``READBENCH_PLAIN_KERNELS=1`` to run the plain reference of every kernel that has one (see
:func:`plain_kernels`).
"""

from __future__ import annotations

import os

import numpy as np
from numba.extending import overload
from numba.np.numpy_support import as_dtype

COLUMN_BYTES = 256
"""Bytes per column of the dynamic program."""

BIG = 1e30
"""Cost of an unreachable cell."""

FLOAT_FLAGS = {"nnan", "nsz", "contract"}
"""What the compiler may assume or do: no NaN, the sign of zero does not matter, a product and a sum may become one
multiply-add. It may not reorder sums, so every kernel and its reference return equal bits."""

SWITCH = "READBENCH_PLAIN_KERNELS"


def plain_kernels() -> bool:
    """Return whether ``READBENCH_PLAIN_KERNELS`` asks for the plain references (set, not empty and not ``0``)."""
    return os.environ.get(SWITCH, "") not in ("", "0")


def lane_count(dtype: type) -> int:
    """Return how many windows one block holds: 64 for float32, 32 for float64."""
    return COLUMN_BYTES // np.dtype(dtype).itemsize


def lanes_of(array: np.ndarray) -> int:
    """Return ``lane_count(array.dtype)``; in compiled code a constant, which ``array.itemsize`` is not."""
    return lane_count(array.dtype.type)


@overload(lanes_of)
def _lanes_of(array):  # type: ignore[no-untyped-def]
    lanes = lane_count(as_dtype(array.dtype).type)
    return lambda array: lanes


def block_places(n: int, lanes: int) -> np.ndarray:
    """Return which of ``n`` windows is in which lane: int [n_blocks, lanes]; the last window fills the last block."""
    count = -(-n // lanes)
    return np.minimum(np.arange(count * lanes), n - 1).reshape(count, lanes)


def check_finite(*arrays: np.ndarray) -> None:
    """Raise ValueError if a value is NaN or infinite: libraries return NaN, inf or 0 then, none of them a distance."""
    for array in arrays:
        if not np.isfinite(array).all():
            raise ValueError("DTW needs finite values: fill missing steps first")


def check_channels(x: np.ndarray, y: np.ndarray) -> None:
    """Raise ValueError unless [.., T, C] arrays have the same C (aeon silently compares the first min(C))."""
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"channel counts differ: {x.shape[-1]} and {y.shape[-1]}; align them by name first")
