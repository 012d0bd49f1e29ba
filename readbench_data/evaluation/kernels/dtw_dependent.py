"""DTW-D: one warping path for all channels, the cost of a cell is the squared distance over channels.

The cost is |x_i|^2 + |y_j|^2 - 2 x_i y_j: the products of a block of query steps with all lanes are one matrix
product over the columns of the band, then the dynamic program runs as in DTW-I.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from readbench_data.evaluation.kernels.lanes import (
    BIG,
    FASTMATH,
    LANES,
    as_distance,
    blocks,
    check_channels,
    check_finite,
)

BLOCK_STEPS = 64
"""Query steps of one matrix product."""


def dtw_dependent(x: np.ndarray, y: np.ndarray, radius: int | None = None, dtype: type = np.float32) -> np.ndarray:
    """Squared-cost DTW-D between every x [nq, Tx, C] and y [n, Ty, C]: float64 [nq, n], no square root.

    Arguments and band as in :func:`dtw_independent`. A distance of 0 comes out within 1e-5 (float32) of the
    squared norm of the windows, since costs are taken through norms.
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, _ = x.shape
    n, ty, channels = y.shape
    lanes = LANES[np.dtype(dtype)]
    r = max(tx, ty) if radius is None else radius
    queries: np.ndarray = np.ascontiguousarray(x, dtype)
    packed: np.ndarray = np.ascontiguousarray(blocks(y, lanes).transpose(0, 2, 1, 3), dtype)  # [blocks, Ty, lanes, C]
    x_norm = (queries.astype(np.float64) ** 2).sum(-1).astype(dtype)
    y_norm = np.einsum("btlc,btlc->btl", packed, packed, dtype=np.float64, casting="same_kind").astype(dtype)
    out: np.ndarray = np.empty((nq, len(packed) * lanes), dtype)
    step = _kernel(np.dtype(dtype).name)

    def one(b: int) -> None:
        rows = np.empty((2, ty + 2, lanes), dtype)
        for q in range(nq):
            rows[:] = BIG
            rows[0, 0] = 0
            p = 0
            for i0 in range(0, tx, BLOCK_STEPS):
                i1 = min(tx, i0 + BLOCK_STEPS)
                j0, j1 = min(ty, max(0, i0 - r)), min(ty, i1 + r)
                product = queries[q, i0:i1] @ packed[b, j0:j1].reshape((j1 - j0) * lanes, channels).T
                cells = product.reshape(i1 - i0, j1 - j0, lanes)
                p = step(cells, x_norm[q], y_norm[b], i0, j0, r, rows, p)
            out[q, b * lanes : (b + 1) * lanes] = rows[p, ty]

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(numba.get_num_threads()) as pool:
        list(pool.map(one, range(len(packed))))
    return as_distance(out[:, :n])


@cache
def _kernel(dtype: str) -> Callable[..., Any]:
    real = np.float32 if dtype == "float32" else np.float64
    lanes = LANES[np.dtype(dtype)]
    big, zero, two = real(BIG), real(0), real(2)

    @njit(fastmath=FASTMATH, boundscheck=False, nogil=True, cache=True)
    def dtw_rows(product, x_norm, y_norm, i0, j0, r, rows, p):  # type: ignore[no-untyped-def]
        # product [steps, columns, lanes] = x_i . y_j from row i0, column j0 on; returns which of rows is current
        ty = y_norm.shape[0]
        for ii in range(product.shape[0]):
            i = i0 + ii
            lo = max(0, i - r)
            hi = min(ty, i + r + 1)
            above = rows[p]
            here = rows[1 - p]
            xi = x_norm[i]
            for lane in range(lanes):
                here[min(lo, ty), lane] = big
            for j in range(lo, hi):
                jj = j - j0
                for lane in range(lanes):
                    best = min(min(above[j, lane], above[j + 1, lane]), here[j, lane])
                    cost = xi + y_norm[j, lane] - two * product[ii, jj, lane]
                    here[j + 1, lane] = max(cost, zero) + best
            p = 1 - p
        return p

    return dtw_rows
