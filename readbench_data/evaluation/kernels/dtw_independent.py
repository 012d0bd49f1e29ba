"""DTW-I: every channel warped on its own, the squared costs summed (Shokoohi-Yekta et al.).

Why two kernels: the default one uses the vector instructions of ``simd.py`` and has to keep track of which columns
each of two rows reaches. ``dtw_independent_plain.py`` does the same row by row in plain numba, with equal bits. Read
that one first; change both together (``tests/evaluation/test_plain_kernels.py`` compares them).
"""

from __future__ import annotations

import numpy as np
from numba import prange

from readbench_data.evaluation.kernels.compiled import compiled
from readbench_data.evaluation.kernels.dtw_independent_plain import distances_plain
from readbench_data.evaluation.kernels.lanes import (
    BIG,
    block_places,
    check_channels,
    check_finite,
    lane_count,
    lanes_of,
    plain_kernels,
)
from readbench_data.evaluation.kernels.simd import sweep

both, upper, lower, single = (sweep[reach] for reach in ("both", "upper", "lower", "single"))


def dtw_independent(
    x: np.ndarray,
    y: np.ndarray,
    radius: int | None = None,
    dtype: type = np.float32,
    x_present: np.ndarray | None = None,
    y_present: np.ndarray | None = None,
    plain: bool | None = None,
) -> np.ndarray:
    """Return the sum over channels of squared-cost DTW between every pair of windows.

    No square root is taken, neither of a channel nor of the sum.

    Parameters
    ----------
    x : array [nq, Tx, C]
        Queries.
    y : array [n, Ty, C]
        Corpus windows.
    radius : int, optional
        Sakoe-Chiba band: steps i and j are compared only if ``|i - j| <= radius``. None: no band.
    dtype : type
        Precision of the computation. float32 differs from float64 by about 1e-6 relative.
    x_present, y_present : bool array [nq, C] and [n, C], optional
        The channels of each window. Channels that either side lacks are left out of the sum. None: all.
    plain : bool, optional
        Whether to run the plain numba reference, which returns equal bits. None: as ``READBENCH_PLAIN_KERNELS`` says.

    Returns
    -------
    float64 array [nq, n]
        inf where the band does not reach the last cell.

    Raises
    ------
    ValueError
        The channel counts differ, or a value is NaN or infinite.

    Examples
    --------
    A step that comes one time step later costs nothing inside the band, and 1 without warping:

    >>> import numpy as np
    >>> query = np.array([[[0.0], [1.0], [1.0], [1.0]]])
    >>> corpus = np.array([[[0.0], [0.0], [1.0], [1.0]], [[2.0], [1.0], [1.0], [1.0]]])
    >>> dtw_independent(query, corpus, radius=1)
    array([[0., 4.]])
    >>> dtw_independent(query, corpus, radius=0)
    array([[1., 4.]])
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, channels = x.shape
    n, ty, _ = y.shape
    lanes = lane_count(dtype)
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
    present = np.ascontiguousarray(yp[places].transpose(2, 0, 1))
    out = np.empty((nq, packed.shape[1] * lanes), dtype)
    kernel = distances_plain if (plain_kernels() if plain is None else plain) else distances
    kernel(queries, packed, xp, present, r, out)
    return out[:, :n].astype(np.float64)


@compiled(parallel=True, boundscheck=False)
def distances(x, y, x_present, y_present, r, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` [nq, blocks * lanes].

    ``x`` [nq, C, Tx], ``y`` [C, blocks, Ty, lanes], ``x_present`` [nq, C], ``y_present`` [C, blocks, lanes], band r.
    """
    nq, channels, tx = x.shape
    ty = y.shape[2]
    lanes = lanes_of(y)
    for k in prange(y.shape[1] * nq):
        b, q = k // nq, k % nq
        row = np.empty((ty, lanes), y.dtype)
        state = np.empty((3, lanes), y.dtype)
        total = np.zeros(lanes, y.dtype)
        for c in range(channels):
            if not x_present[q, c]:
                continue
            block, series = y[c, b], x[q, c]
            reached = 0
            for i in range(0, tx, 2):
                lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
                lo2, hi2 = min(ty, max(0, i + 1 - r)), min(ty, i + r + 2)
                row[reached:hi2] = BIG
                reached = hi2
                state[:] = BIG
                if lo > 0:
                    state[0] = row[lo - 1]
                elif i == 0:
                    state[0] = 0.0
                if i + 1 < tx:
                    x0, x1 = series[i], series[i + 1]
                    upper(row, block, state, lo, min(lo2, hi), x0, x1)
                    both(row, block, state, lo2, hi, x0, x1)
                    lower(row, block, state, max(lo2, hi), hi2, x0, x1)
                else:
                    single(row, block, state, lo, hi, series[i], series[i])
            for lane in range(lanes):
                if y_present[c, b, lane]:
                    total[lane] += row[ty - 1, lane]
        out[q, b * lanes : (b + 1) * lanes] = total
