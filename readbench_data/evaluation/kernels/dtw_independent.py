"""DTW-I: every channel warped on its own, the squared costs summed (Shokoohi-Yekta et al.)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit, prange

from readbench_data.evaluation.kernels.lanes import BIG, LANES, block_places, check_channels, check_finite
from readbench_data.evaluation.kernels.simd import sweep_squares

both, upper, lower, single = (sweep_squares[r] for r in ("both", "upper", "lower", "single"))


def dtw_independent(
    x: np.ndarray,
    y: np.ndarray,
    radius: int | None = None,
    dtype: type = np.float32,
    x_present: np.ndarray | None = None,
    y_present: np.ndarray | None = None,
) -> np.ndarray:
    """Sum over channels of squared-cost DTW between every x [nq, Tx, C] and y [n, Ty, C]: float64 [nq, n].

    ``radius`` r is a Sakoe-Chiba band |i - j| <= r; None: no band. No square root is taken, of a channel or of
    the sum. ``x_present`` [nq, C] and ``y_present`` [n, C] leave out the channels that either side lacks.
    inf where the band does not reach the end. ``dtype`` float32 differs from float64 by about 1e-6 relative.
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, channels = x.shape
    n, ty, _ = y.shape
    lanes = LANES[np.dtype(dtype)]
    r = max(tx, ty) if radius is None else radius
    if abs(tx - ty) > r:
        return np.full((nq, n), np.inf)
    queries: np.ndarray = np.ascontiguousarray(x.transpose(0, 2, 1), dtype)
    places = block_places(n, lanes)
    packed: np.ndarray = np.empty((channels, len(places), ty, lanes), dtype)
    for b, place in enumerate(places):
        packed[:, b] = y[place].transpose(2, 1, 0)
    xp = np.ones((nq, channels), bool) if x_present is None else np.ascontiguousarray(x_present)
    yp = np.ones((n, channels), bool) if y_present is None else y_present
    weights: np.ndarray = np.ascontiguousarray(yp[places].transpose(2, 0, 1), dtype)
    out = np.empty((nq, packed.shape[1] * lanes), dtype)
    _kernel(np.dtype(dtype).name)(queries, packed, xp, weights, r, out)
    return out[:, :n].astype(np.float64)


@cache
def _kernel(dtype: str) -> Callable[..., Any]:
    real = np.float32 if dtype == "float32" else np.float64
    lanes = LANES[np.dtype(dtype)]
    big, zero = real(BIG), real(0)

    @njit(parallel=True, boundscheck=False, cache=True)
    def dtw(x, y, x_present, y_weight, r, out):  # type: ignore[no-untyped-def]
        # x [nq, C, Tx]; y [C, blocks, Ty, lanes]; y_weight [C, blocks, lanes], 1 where the channel is present
        nq, channels, tx = x.shape
        ty = y.shape[2]
        for k in prange(y.shape[1] * nq):
            b, q = k // nq, k % nq
            row = np.empty((ty, lanes), real)
            state = np.empty((3, lanes), real)
            total = np.zeros(lanes, real)
            for c in range(channels):
                if not x_present[q, c]:
                    continue
                block, series = y[c, b], x[q, c]
                reached = 0
                for i in range(0, tx, 2):
                    lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
                    lo2, hi2 = min(ty, max(0, i + 1 - r)), min(ty, i + r + 2)
                    row[reached:hi2] = big
                    reached = hi2
                    state[:] = big
                    if lo > 0:
                        state[0] = row[lo - 1]
                    elif i == 0:
                        state[0] = zero
                    if i + 1 < tx:
                        x0, x1 = series[i], series[i + 1]
                        upper(row, block, block, state, lo, min(lo2, hi), 0, x0, x1)
                        both(row, block, block, state, lo2, hi, 0, x0, x1)
                        lower(row, block, block, state, max(lo2, hi), hi2, 0, x0, x1)
                    else:
                        single(row, block, block, state, lo, hi, 0, series[i], series[i])
                for lane in range(lanes):
                    if y_weight[c, b, lane] > zero:
                        total[lane] += row[ty - 1, lane]
            out[q, b * lanes : (b + 1) * lanes] = total

    return dtw
