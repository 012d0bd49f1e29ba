"""DTW-D: one warping path for all channels, the cost of a cell is the squared distance over channels.

The costs of a few query steps with all lanes of the columns in their band are made in registers (:mod:`.step_costs`);
then the dynamic program runs over them as in DTW-I.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, prange

from readbench_data.evaluation.kernels.lanes import BIG, LANES, block_places, check_channels, check_finite
from readbench_data.evaluation.kernels.simd import sweep_costs
from readbench_data.evaluation.kernels.step_costs import PARTS, ROWS, step_costs

both, upper, lower, single = (sweep_costs[r] for r in ("both", "upper", "lower", "single"))

PASS = 2 * ROWS
"""Query steps whose costs are held at once."""

CHUNK_BYTES = 1 << 17
"""Corpus steps that all steps of a pass work through before the next: they stay in the second-level cache."""


def dtw_dependent(x: np.ndarray, y: np.ndarray, radius: int | None = None, dtype: type = np.float32) -> np.ndarray:
    """Squared-cost DTW-D between every x [nq, Tx, C] and y [n, Ty, C]: float64 [nq, n], no square root.

    Arguments and band as in :func:`dtw_independent`. Equal windows are at exactly 0. ``dtype`` float32 differs from
    float64 by about 1e-6 relative; float64 differs from aeon only by the order of a sum over channels.
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, channels = x.shape
    n, ty, _ = y.shape
    lanes = LANES[np.dtype(dtype)]
    r = max(tx, ty) if radius is None else radius
    if abs(tx - ty) > r:
        return np.full((nq, n), np.inf)
    if channels == 0:
        return np.zeros((nq, n))
    queries: np.ndarray = np.zeros((nq, -(-tx // ROWS) * ROWS, channels), dtype)
    queries[:, :tx] = x
    packed = _packed(y, lanes, dtype)
    out: np.ndarray = np.empty((nq, len(packed) * lanes), dtype)
    _kernel(np.dtype(dtype).name)(queries, packed, tx, r, out)
    return out[:, :n].astype(np.float64)


def _packed(y: np.ndarray, lanes: int, dtype: type) -> np.ndarray:
    """Windows [n, Ty, C] as [blocks, Ty, PARTS, C, lanes / PARTS]."""
    _, ty, channels = y.shape
    places = block_places(len(y), lanes)
    packed: np.ndarray = np.empty((len(places), ty, PARTS, channels, lanes // PARTS), dtype)
    for block, place in zip(packed, places, strict=True):  # one at a time: what is turned round fits the cache
        block[:] = y[place].reshape(PARTS, lanes // PARTS, ty, channels).transpose(2, 0, 3, 1)
    return packed


@cache
def _kernel(dtype: str) -> Callable[..., Any]:
    real = np.float32 if dtype == "float32" else np.float64
    lanes = LANES[np.dtype(dtype)]
    big, zero = real(BIG), real(0)

    @njit(parallel=True, boundscheck=False, cache=True)
    def dtw(x, y, tx, r, out):  # type: ignore[no-untyped-def]
        # x [nq, Tx padded to ROWS, C]; y [blocks, Ty, PARTS, C, lanes / PARTS]
        nq = len(x)
        ty = y.shape[1]
        step = max(1, CHUNK_BYTES // (x.itemsize * lanes * x.shape[2]))
        for k in prange(len(y) * nq):
            b, q = k // nq, k % nq
            row = np.empty((ty, lanes), real)
            state = np.empty((3, lanes), real)
            costs = np.empty((PASS, min(ty, PASS + 2 * r), lanes), real)
            reached = 0
            for i0 in range(0, tx, PASS):
                j0, j1 = min(ty, max(0, i0 - r)), min(ty, i0 + PASS + r)
                for chunk in range(j0, j1, step):
                    for i in range(i0, min(len(x[q]), i0 + PASS), ROWS):
                        lo, hi = max(chunk, i - r), min(chunk + step, j1, i + ROWS + r)
                        if lo < hi:
                            step_costs(x[q], y[b], costs, i, lo, i - i0, lo - j0, hi - lo)
                for i in range(i0, min(tx, i0 + PASS), 2):
                    lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
                    lo2, hi2 = min(ty, max(0, i + 1 - r)), min(ty, i + r + 2)
                    last = i + 1 == tx
                    row[reached : hi if last else hi2] = big
                    reached = hi if last else hi2
                    state[:] = big
                    if lo > 0:
                        state[0] = row[lo - 1]
                    elif i == 0:
                        state[0] = zero
                    a0, a1 = costs[i - i0], costs[i - i0 + 1]
                    if last:
                        single(row, a0, a0, state, lo, hi, j0, zero, zero)
                    else:
                        upper(row, a0, a1, state, lo, min(lo2, hi), j0, zero, zero)
                        both(row, a0, a1, state, lo2, hi, j0, zero, zero)
                        lower(row, a0, a1, state, max(lo2, hi), hi2, j0, zero, zero)
            out[q, b * lanes : (b + 1) * lanes] = row[ty - 1]

    return dtw
