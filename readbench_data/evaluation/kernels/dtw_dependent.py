"""DTW-D: one warping path for all channels, the cost of a cell is the squared distance over channels.

The costs of a block of query steps with all lanes are one matrix product over the columns of the band. With two more
columns on either side (-2x, 1, |x|^2) . (y, |y|^2, 1) = |x|^2 + |y|^2 - 2xy; then the dynamic program runs as in DTW-I.
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

from readbench_data.evaluation.kernels.lanes import BIG, LANES, blocks, check_channels, check_finite
from readbench_data.evaluation.kernels.simd import sweep_costs

both, upper, lower, single = (sweep_costs[r] for r in ("both", "upper", "lower", "single"))

BLOCK_STEPS = 32
"""Query steps of one matrix product; even, since rows are swept in pairs. More steps waste more outside the band."""


def dtw_dependent(x: np.ndarray, y: np.ndarray, radius: int | None = None, dtype: type = np.float32) -> np.ndarray:
    """Squared-cost DTW-D between every x [nq, Tx, C] and y [n, Ty, C]: float64 [nq, n], no square root.

    Arguments and band as in :func:`dtw_independent`. A distance of 0 comes out within 1e-5 (float32) of the
    squared norm of the windows, since costs are taken through norms.
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, _ = x.shape
    n, ty, _ = y.shape
    lanes = LANES[np.dtype(dtype)]
    r = max(tx, ty) if radius is None else radius
    if abs(tx - ty) > r:
        return np.full((nq, n), np.inf)
    queries = _with_norms(x, -2.0, dtype, norm_last=True)
    corpus = _with_norms(y, 1.0, dtype, norm_last=False)
    packed = np.ascontiguousarray(blocks(corpus, lanes).transpose(0, 2, 1, 3))  # [blocks, Ty, lanes, C + 2]
    out: np.ndarray = np.empty((nq, len(packed) * lanes), dtype)
    sweep = _kernel(np.dtype(dtype).name)

    def one(b: int) -> None:
        row: np.ndarray = np.empty((ty, lanes), dtype)
        state: np.ndarray = np.empty((3, lanes), dtype)
        space: np.ndarray = np.empty(BLOCK_STEPS * min(ty, BLOCK_STEPS + 2 * r) * lanes, dtype)
        for q in range(nq):
            reached = 0
            for i0 in range(0, tx, BLOCK_STEPS):
                i1 = min(tx, i0 + BLOCK_STEPS)
                j0, j1 = min(ty, max(0, i0 - r)), min(ty, i1 + r)
                steps, columns = i1 - i0, j1 - j0
                costs = space[: steps * columns * lanes].reshape(steps, columns * lanes)
                np.matmul(queries[q, i0:i1], packed[b, j0:j1].reshape(columns * lanes, -1).T, out=costs)
                reached = sweep(costs.reshape(steps, columns, lanes), row, state, i0, j0, r, reached)
            out[q, b * lanes : (b + 1) * lanes] = row[ty - 1]

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(numba.get_num_threads()) as pool:
        list(pool.map(one, range(len(packed))))
    return out[:, :n].astype(np.float64)


def _with_norms(windows: np.ndarray, factor: float, dtype: type, norm_last: bool) -> np.ndarray:
    """``factor`` times windows [n, T, C] with two more columns: a one, and the squared norm of each step."""
    n, t, c = windows.shape
    out: np.ndarray = np.empty((n, t, c + 2), dtype)
    np.multiply(windows, factor, out=out[:, :, :c], casting="same_kind")
    one, norm = (c, c + 1) if norm_last else (c + 1, c)
    out[:, :, one] = 1.0
    out[:, :, norm] = np.einsum("ntc,ntc->nt", windows, windows, dtype=np.float64, casting="same_kind")
    return out


@cache
def _kernel(dtype: str) -> Callable[..., Any]:
    real = np.float32 if dtype == "float32" else np.float64
    big, zero = real(BIG), real(0)

    @njit(boundscheck=False, nogil=True, cache=True)
    def dtw_rows(costs, row, state, i0, j0, r, reached):  # type: ignore[no-untyped-def]
        # costs [steps, columns, lanes] from row i0, column j0 on; returns how many columns of row are in use
        ty = row.shape[0]
        steps = costs.shape[0]
        for ii in range(0, steps, 2):
            i = i0 + ii
            lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
            lo2, hi2 = min(ty, max(0, i + 1 - r)), min(ty, i + r + 2)
            last = ii + 1 == steps
            row[reached : hi if last else hi2] = big
            reached = hi if last else hi2
            state[:] = big
            if lo > 0:
                state[0] = row[lo - 1]
            elif i == 0:
                state[0] = zero
            if last:
                single(row, costs[ii], costs[ii], state, lo, hi, j0, zero, zero)
            else:
                a0, a1 = costs[ii], costs[ii + 1]
                upper(row, a0, a1, state, lo, min(lo2, hi), j0, zero, zero)
                both(row, a0, a1, state, lo2, hi, j0, zero, zero)
                lower(row, a0, a1, state, max(lo2, hi), hi2, j0, zero, zero)
        return reached

    return dtw_rows
