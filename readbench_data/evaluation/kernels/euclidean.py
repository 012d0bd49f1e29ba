"""Euclidean distance between all pairs of windows.

Why compiled: numpy would need an array of all differences, or norms and a product, which is not exactly 0 for equal
windows.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from readbench_data.evaluation.kernels.compiled import compiled


@compiled(parallel=True, fastmath={"reassoc", "contract"})
def root_mean_distances(x, y, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` float64 [nq, n] for ``x`` float32 [nq, C, T] and ``y`` float32 [n, C, T].

    A distance is the root of the mean over channels of the squared differences summed over time, in float64.
    """
    nq, channels, steps = x.shape
    for n in prange(len(y)):
        for q in range(nq):
            total = 0.0
            for c in range(channels):
                for t in range(steps):
                    d = np.float64(x[q, c, t]) - np.float64(y[n, c, t])
                    total += d * d
            out[q, n] = np.sqrt(total / max(channels, 1))
