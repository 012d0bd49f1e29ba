"""Intervals for a mean over datasets: studentised bootstrap, shown only where simulation says it holds.

A nominal 95 % interval from a handful of datasets can hold far less than it promises. Three choices, all ours, each
made by the simulation ``python -m benchmarks interval_coverage`` (its table is in docs/evaluation.md):

- A resample without spread has t = plus or minus infinity and counts as such. Dropping these resamples, as this module
  once did, cuts the tails off: with 80 % exact ties a 95 % interval then held 71 %.
- The interval uses the 1.5 % and 98.5 % quantiles of t (:data:`NOMINAL`), because 2.5 % and 97.5 % held only 91 % for
  lognormal values.
- No interval for fewer than :data:`FEWEST` datasets, nor where one value makes up more than :data:`MOST_TIES` of them.
  The rule uses only the number of values and their ties, never the result.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

NOMINAL = 0.97
"""Nominal level of the quantiles of t; what is promised is :data:`PROMISED`."""

PROMISED = 0.95
"""Level the interval is shown as; simulated coverage is at least 93 % wherever one is shown."""

RESAMPLES = 9_999
SEED = 0
FEWEST = 8
MOST_TIES = 1 / 3
NO_SPREAD = 1e-6
"""A resample whose deviation is below this share of the sample's counts as one without spread."""

Interval = tuple[float, float]


def is_shown(values: np.ndarray) -> bool:
    """Whether an interval is given for ``values`` [n]: by n and the share of exact ties only.

    Examples
    --------
    >>> is_shown(np.arange(8) / 10), is_shown(np.arange(7) / 10), is_shown(np.repeat([0.0, 0.1, 0.2], 4))
    (True, False, True)
    >>> is_shown(np.append(np.zeros(5), np.arange(1, 8) / 10))
    False
    """
    values = np.asarray(values, np.float64)
    if len(values) < FEWEST:
        return False
    return bool(np.unique(values, return_counts=True)[1].max() <= MOST_TIES * len(values))


def mean_interval(values: np.ndarray, low: float = -math.inf, high: float = math.inf) -> Interval | None:
    """Interval of the mean of ``values`` [n], cut to [low, high]; None where none is shown (:func:`is_shown`).

    Examples
    --------
    >>> mean_interval(np.array([0.1, 0.1, 0.05])) is None
    True
    >>> low, high = mean_interval(np.linspace(0, 1, 12), low=0.0, high=1.0)
    >>> low < 0.5 < high
    True
    """
    values = np.asarray(values, np.float64)
    if not is_shown(values):
        return None
    below, above = bootstrap_t(values[None])[0]
    return max(low, float(below)), min(high, float(above))


def bootstrap_t(values: np.ndarray) -> np.ndarray:
    """Studentised bootstrap intervals [R, 2] of the means of ``values`` [R, n]; a row without spread gives its mean.

    Bounds may be infinite, where too many resamples have no spread.
    """
    n = values.shape[1]
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(n)
    spread = error > 1e-15 * np.maximum(1.0, np.abs(mean))
    scaled = np.divide(values - mean[:, None], error[:, None], out=np.zeros(values.shape), where=spread[:, None])
    weights = _weights(n)
    moved = scaled @ weights.T
    variance = np.maximum((scaled**2) @ weights.T - moved**2, 0.0) / (n - 1)
    wide = variance > NO_SPREAD**2
    t = np.where(moved > 0, np.inf, -np.inf)
    np.divide(moved, np.sqrt(variance), out=t, where=wide)
    t[~wide & (np.abs(moved) <= 1e-9)] = 0.0
    t.sort(axis=1)
    tail = (1 - NOMINAL) / 2 * (RESAMPLES + 1)
    lower, upper = t[:, math.floor(tail) - 1], t[:, math.ceil(RESAMPLES + 1 - tail) - 1]
    bounds = np.stack([mean, mean], axis=1)
    bounds[spread] = np.stack([mean - upper * error, mean - lower * error], axis=1)[spread]
    return bounds


@cache
def _weights(n: int) -> np.ndarray:
    """Share of each of n values in every resample, [RESAMPLES, n]."""
    drawn = np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))
    counts = np.zeros((RESAMPLES, n))
    np.add.at(counts, (np.arange(RESAMPLES)[:, None], drawn), 1.0)
    return counts / n
