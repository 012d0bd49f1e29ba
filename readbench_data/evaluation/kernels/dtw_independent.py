"""DTW-I: every channel warped on its own, the squared costs summed (Shokoohi-Yekta et al.)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import njit, prange

from readbench_data.evaluation.kernels.lanes import (
    BIG,
    FASTMATH,
    LANES,
    as_distance,
    blocks,
    check_channels,
    check_finite,
)

Kernel = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, np.ndarray], None]


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
    queries: np.ndarray = np.ascontiguousarray(x.transpose(0, 2, 1), dtype)
    packed: np.ndarray = np.ascontiguousarray(blocks(y, lanes).transpose(3, 0, 2, 1), dtype)
    xp = np.ones((nq, channels), bool) if x_present is None else np.ascontiguousarray(x_present)
    yp = np.ones((n, channels), bool) if y_present is None else y_present
    weights: np.ndarray = np.ascontiguousarray(blocks(yp, lanes).transpose(2, 0, 1), dtype)
    out = np.empty((nq, packed.shape[1] * lanes), dtype)
    _kernel(np.dtype(dtype).name)(queries, packed, xp, weights, r, out)
    return as_distance(out[:, :n])


@cache
def _kernel(dtype: str) -> Kernel:
    real = np.float32 if dtype == "float32" else np.float64
    lanes = LANES[np.dtype(dtype)]
    big, zero = real(BIG), real(0)

    @njit(fastmath=FASTMATH, parallel=True, boundscheck=False, cache=True)
    def dtw(x, y, x_present, y_weight, r, out):  # type: ignore[no-untyped-def]
        # x [nq, C, Tx]; y [C, blocks, Ty, lanes]; y_weight [C, blocks, lanes], 1 where the channel is present
        nq, channels, tx = x.shape
        ty = y.shape[2]
        for b in prange(y.shape[1]):
            rows = np.empty((2, ty + 2, lanes), real)
            total = np.zeros((nq, lanes), real)
            for c in range(channels):
                block = y[c, b]
                for q in range(nq):
                    if not x_present[q, c]:
                        continue
                    series = x[q, c]
                    for j in range(ty + 1):
                        for lane in range(lanes):
                            rows[0, j, lane] = big
                            rows[1, j, lane] = big
                    for lane in range(lanes):
                        rows[0, 0, lane] = zero
                    p = 0
                    for i in range(tx):
                        lo = max(0, i - r)
                        hi = min(ty, i + r + 1)
                        above = rows[p]
                        here = rows[1 - p]
                        xi = series[i]
                        for lane in range(lanes):
                            here[min(lo, ty), lane] = big
                        for j in range(lo, hi):
                            for lane in range(lanes):
                                d = xi - block[j, lane]
                                best = min(min(above[j, lane], above[j + 1, lane]), here[j, lane])
                                here[j + 1, lane] = d * d + best
                        p = 1 - p
                    for lane in range(lanes):
                        if y_weight[c, b, lane] > zero:
                            total[q, lane] += rows[p, ty, lane]
            for q in range(nq):
                for lane in range(lanes):
                    out[q, b * lanes + lane] = total[q, lane]

    return dtw
