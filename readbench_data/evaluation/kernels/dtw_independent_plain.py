"""The DTW-I kernel in plain numba: the reference to read, test against and fall back to.

It computes what the kernel of ``dtw_independent.py`` computes, from the same arrays, with equal bits: the textbook
dynamic program with two rows, each cell holding all lanes of a block. ``READBENCH_PLAIN_KERNELS=1`` or
``dtw_independent(..., plain=True)`` selects it.

Rows are shifted by one column: ``row[j + 1]`` is D[i, j], and ``row[0]`` is the cell before the first one.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from readbench_data.evaluation.kernels.compiled import compiled
from readbench_data.evaluation.kernels.lanes import BIG, FLOAT_FLAGS, lanes_of


@compiled(parallel=True, boundscheck=False, fastmath=FLOAT_FLAGS)
def distances_plain(x, y, x_present, y_present, r, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` [nq, blocks * lanes]; arguments as for ``dtw_independent.distances``."""
    nq, channels = x.shape[:2]
    ty = y.shape[2]
    lanes = lanes_of(y)
    for k in prange(y.shape[1] * nq):
        b, q = k // nq, k % nq
        rows = np.empty((2, ty + 1, lanes), y.dtype)
        total = np.zeros(lanes, y.dtype)
        for c in range(channels):
            if not x_present[q, c]:
                continue
            last = _last_row(x[q, c], y[c, b], r, rows[0], rows[1])
            for lane in range(lanes):
                if y_present[c, b, lane]:
                    total[lane] += last[ty, lane]
        out[q, b * lanes : (b + 1) * lanes] = total


@compiled(boundscheck=False, fastmath=FLOAT_FLAGS)
def _last_row(series, block, r, previous, current):  # type: ignore[no-untyped-def]
    """Return the last row of the dynamic program of ``series`` [Tx] against ``block`` [Ty, lanes]."""
    ty = len(block)
    lanes = lanes_of(block)
    previous[:] = BIG
    previous[0] = 0.0
    for i, step in enumerate(series):
        lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
        current[lo] = BIG
        for j in range(lo, hi):
            for lane in range(lanes):
                difference = step - block[j, lane]
                nearest = min(min(previous[j, lane], previous[j + 1, lane]), current[j, lane])
                current[j + 1, lane] = difference * difference + nearest
        current[hi + 1 : hi + 2] = BIG  # the next row reads one column more
        previous, current = current, previous
    return previous
