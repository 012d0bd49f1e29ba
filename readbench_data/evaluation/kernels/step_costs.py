"""Squared distances over channels between a few query steps and all lanes of many corpus steps.

Why blocks of four query steps and two channels: a corpus vector that is loaded serves four steps, and a sum is loaded
and stored once per two channels, so arithmetic sets the pace and not memory. numba turns the loop over lanes into
vector instructions; four sums and two corpus vectors fit in the registers of every machine.

The differences are squared as they are, channel after channel. Nothing cancels as it does in |x|^2 + |y|^2 - 2xy:
equal windows are at exactly 0, and equal pairs have equal bits.
"""

from __future__ import annotations

from readbench_data.evaluation.kernels.compiled import compiled
from readbench_data.evaluation.kernels.lanes import COLUMN_BYTES, FLOAT_FLAGS, lanes_of

ROWS = 4
"""Query steps processed at once. The number of query steps must be a multiple (pad with any value)."""

CHANNELS = 2
"""Channels summed at once. The number of channels must be a multiple (pad both sides with zeros)."""

PASS = 4 * ROWS
"""Query steps whose costs are held at once."""

CHUNK_BYTES = 1 << 17
"""Corpus steps that all query steps of a pass process before the next: they stay in the second-level cache."""


@compiled(boundscheck=False, fastmath=FLOAT_FLAGS)
def step_costs(x, y, costs, i, lo, hi, k, j0, zero):  # type: ignore[no-untyped-def]
    """Fill ``costs[k + row, j - j0, lane]`` with the sum over c of ``(x[i + row, c] - y[j, c, lane])**2``.

    For ``row < ROWS`` and ``lo <= j < hi``; ``x`` [Tx, C], ``y`` [Ty, C, lanes]. ``zero`` is 0 in the type of the
    arrays, passed as an argument so that the compiler does not know it: then the first square is added to it by one
    multiply-add, as every other square is, and the sum does not depend on where the compiler starts.
    """
    lanes = lanes_of(y)
    for j in range(lo, hi):
        m = j - j0
        sum0, sum1, sum2, sum3 = costs[k, m], costs[k + 1, m], costs[k + 2, m], costs[k + 3, m]
        u, v = y[j, 0], y[j, 1]
        u0, u1, u2, u3 = x[i, 0], x[i + 1, 0], x[i + 2, 0], x[i + 3, 0]
        v0, v1, v2, v3 = x[i, 1], x[i + 1, 1], x[i + 2, 1], x[i + 3, 1]
        for lane in range(lanes):
            sum0[lane] = zero + (u0 - u[lane]) ** 2 + (v0 - v[lane]) ** 2
            sum1[lane] = zero + (u1 - u[lane]) ** 2 + (v1 - v[lane]) ** 2
            sum2[lane] = zero + (u2 - u[lane]) ** 2 + (v2 - v[lane]) ** 2
            sum3[lane] = zero + (u3 - u[lane]) ** 2 + (v3 - v[lane]) ** 2
        for c in range(CHANNELS, x.shape[1], CHANNELS):
            u, v = y[j, c], y[j, c + 1]
            u0, u1, u2, u3 = x[i, c], x[i + 1, c], x[i + 2, c], x[i + 3, c]
            v0, v1, v2, v3 = x[i, c + 1], x[i + 1, c + 1], x[i + 2, c + 1], x[i + 3, c + 1]
            for lane in range(lanes):
                sum0[lane] = sum0[lane] + (u0 - u[lane]) ** 2 + (v0 - v[lane]) ** 2
                sum1[lane] = sum1[lane] + (u1 - u[lane]) ** 2 + (v1 - v[lane]) ** 2
                sum2[lane] = sum2[lane] + (u2 - u[lane]) ** 2 + (v2 - v[lane]) ** 2
                sum3[lane] = sum3[lane] + (u3 - u[lane]) ** 2 + (v3 - v[lane]) ** 2


@compiled(boundscheck=False)
def pass_costs(x, y, costs, i0, r, zero):  # type: ignore[no-untyped-def]
    """Fill ``costs[i - i0, j - j0, lane]`` for the query steps of a pass and all columns in their band; return j0.

    ``x`` [Tx padded to ROWS, C padded to CHANNELS], ``y`` [Ty, C padded, lanes], ``costs`` [PASS, columns, lanes],
    r is the radius of the band. For ``zero`` see :func:`step_costs`.
    """
    steps, channels = x.shape
    ty = len(y)
    j0, j1 = min(ty, max(0, i0 - r)), min(ty, i0 + PASS + r)
    chunk = max(1, CHUNK_BYTES // (COLUMN_BYTES * channels))
    for start in range(j0, j1, chunk):
        for i in range(i0, min(steps, i0 + PASS), ROWS):
            lo, hi = max(start, i - r), min(start + chunk, j1, i + ROWS + r)
            step_costs(x, y, costs, i, lo, hi, i - i0, j0, zero)
    return j0
