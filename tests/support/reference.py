"""Reference code for golden files: letters of a word's code, and the percentile interval that ours replaces."""

from __future__ import annotations

import numpy as np

from readbench_data.evaluation.statistics.intervals import RESAMPLES, SEED, Interval


def letters_of(code: int, word: int, alphabet: int) -> list[int]:
    """The letters of a code, first letter first."""
    return [int(code) // alphabet ** (word - 1 - i) % alphabet for i in range(word)]


def percentile_bootstrap(values: np.ndarray, level: float = 0.95) -> Interval:
    """Percentile interval, for comparison with other boards: too narrow for few values."""
    values = np.asarray(values, np.float64)
    n = len(values)
    means = values[np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))].mean(axis=1)
    bounds = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(bounds[0]), float(bounds[1])
