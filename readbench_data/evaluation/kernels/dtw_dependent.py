"""DTW-D: one warping path for all channels, the cost of a cell is the squared distance over channels.

Why two phases: the costs of a few query steps against all columns in their band are computed first, in blocks
(``step_costs.py``); then the textbook dynamic program with two rows runs over them, each cell holding all lanes of a
block. With many channels nearly all time is spent on costs, and there the blocks count. This kernel is plain numba.
Each phase had a version in LLVM IR. Neither was 1.5 times as fast with AVX-512, both were slower without, and both
were deleted; the factors are in docs/evaluation.md.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from readbench_data.evaluation.kernels.compiled import compiled
from readbench_data.evaluation.kernels.lanes import (
    BIG,
    FLOAT_FLAGS,
    block_places,
    check_channels,
    check_finite,
    lane_count,
    lanes_of,
)
from readbench_data.evaluation.kernels.step_costs import CHANNELS, PASS, ROWS, pass_costs


def dtw_dependent(x: np.ndarray, y: np.ndarray, radius: int | None = None, dtype: type = np.float32) -> np.ndarray:
    """Return the squared-cost DTW-D between every pair of windows; no square root is taken.

    Parameters
    ----------
    x : array [nq, Tx, C]
        Queries.
    y : array [n, Ty, C]
        Corpus windows.
    radius : int, optional
        Sakoe-Chiba band: steps i and j are compared only if ``|i - j| <= radius``. None: no band.
    dtype : type
        Precision of the computation. float32 differs from float64 by about 1e-6 relative; float64 differs from aeon
        only by the order of a sum over channels.

    Returns
    -------
    float64 array [nq, n]
        Exactly 0 for equal windows; inf where the band does not reach the last cell.

    Raises
    ------
    ValueError
        The channel counts differ, or a value is NaN or infinite.

    Examples
    --------
    The two channels step up at different times. One path cannot follow both, two paths can:

    >>> import numpy as np
    >>> from readbench_data.evaluation.kernels.dtw_independent import dtw_independent
    >>> query = np.array([[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]])
    >>> corpus = np.array([[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]])
    >>> dtw_dependent(query, corpus), dtw_independent(query, corpus)
    (array([[2.]]), array([[0.]]))
    """
    check_channels(x, y)
    check_finite(x, y)
    nq, tx, channels = x.shape
    n, ty, _ = y.shape
    lanes = lane_count(dtype)
    r = max(tx, ty) if radius is None else radius
    if abs(tx - ty) > r:
        return np.full((nq, n), np.inf)
    if channels == 0:
        return np.zeros((nq, n))
    padded = channels + -channels % CHANNELS
    queries: np.ndarray = np.zeros((nq, tx + -tx % ROWS, padded), dtype)
    queries[:, :tx, :channels] = x
    packed = _packed(y, padded, lanes, dtype)
    out: np.ndarray = np.empty((nq, len(packed) * lanes), dtype)
    _distances(queries, packed, tx, r, queries.dtype.type(0), out)
    return out[:, :n].astype(np.float64)


def _packed(y: np.ndarray, padded: int, lanes: int, dtype: type) -> np.ndarray:
    """Return windows [n, Ty, C] as [blocks, Ty, padded, lanes], channels from C on zero."""
    _, ty, channels = y.shape
    places = block_places(len(y), lanes)
    packed: np.ndarray = np.zeros((len(places), ty, padded, lanes), dtype)
    for block, place in zip(packed, places, strict=True):  # one at a time: what is transposed fits the cache
        block[:, :channels] = y[place].transpose(1, 2, 0)
    return packed


@compiled(parallel=True, boundscheck=False)
def _distances(x, y, tx, r, zero, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` [nq, blocks * lanes].

    ``x`` [nq, Tx padded, C padded], ``y`` [blocks, Ty, C padded, lanes], ``tx`` query steps without padding, band r.
    Rows are shifted by one column: ``row[j + 1]`` is D[i, j], and ``row[0]`` is the cell before the first one.
    """
    nq = len(x)
    ty = y.shape[1]
    lanes = lanes_of(y)
    for task in prange(len(y) * nq):
        b, q = task // nq, task % nq
        costs = np.empty((PASS, min(ty, PASS + 2 * r), lanes), y.dtype)
        previous = np.empty((ty + 1, lanes), y.dtype)
        current = np.empty((ty + 1, lanes), y.dtype)
        previous[:] = BIG
        previous[0] = zero
        for i0 in range(0, tx, PASS):
            j0 = pass_costs(x[q], y[b], costs, i0, r, zero)
            for i in range(i0, min(tx, i0 + PASS)):
                lo, hi = min(ty, max(0, i - r)), min(ty, i + r + 1)
                current[lo] = BIG
                _next_row(previous, current, costs[i - i0], lo, hi, j0)
                current[hi + 1 : hi + 2] = BIG  # the next row reads one column more
                previous, current = current, previous
        out[q, b * lanes : (b + 1) * lanes] = previous[ty]


@compiled(boundscheck=False, fastmath=FLOAT_FLAGS)
def _next_row(previous, current, costs, lo, hi, j0):  # type: ignore[no-untyped-def]
    """Fill columns lo..hi-1 of the current row; ``costs[j - j0]`` is the cost of column j."""
    lanes = lanes_of(costs)
    for j in range(lo, hi):
        for lane in range(lanes):
            nearest = min(min(previous[j, lane], previous[j + 1, lane]), current[j, lane])
            current[j + 1, lane] = costs[j - j0, lane] + nearest
