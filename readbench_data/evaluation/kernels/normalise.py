"""z-normalisation of many series without float64 copies of the whole.

Why compiled: numpy needs a float64 copy for exact sums over float32 values and one pass over memory per operation. Here
each window is read while it is in the cache, and the sums over channels run side by side.
"""

from __future__ import annotations

import numpy as np

from readbench_data.evaluation.kernels.compiled import compiled

FLAT = 1e-7
"""A series whose deviation is at most this share of its mean counts as constant: float32 resolves no more."""


@compiled(nogil=True)
def z_normalised(values):  # type: ignore[no-untyped-def]
    """Return ``values`` [n, T, C] with zero mean and unit variance along T.

    Sums are in float64, the dtype is kept, and a constant series becomes zero.
    """
    n, steps, channels = values.shape
    out = np.empty_like(values)
    mean = np.empty(channels)
    scale = np.empty(channels)
    for i in range(n):
        window = values[i]
        mean[:] = 0.0
        for t in range(steps):
            for c in range(channels):
                mean[c] += window[t, c]
        for c in range(channels):
            mean[c] /= steps
        scale[:] = 0.0
        for t in range(steps):
            for c in range(channels):
                difference = window[t, c] - mean[c]
                scale[c] += difference * difference
        for c in range(channels):
            deviation = np.sqrt(scale[c] / steps)
            scale[c] = 0.0 if deviation <= FLAT * abs(mean[c]) else 1.0 / deviation
        for t in range(steps):
            for c in range(channels):
                out[i, t, c] = (window[t, c] - mean[c]) * scale[c]
    return out
