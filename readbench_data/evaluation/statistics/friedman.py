"""Friedman's test over datasets, Iman and Davenport's F, and Nemenyi's comparison of all pairs (Demsar 2006).

Scores are [N datasets, k methods], higher is better; ranks are mid-ranks within each dataset, 1 is best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Friedman:
    """The result of a test.

    ``chi2`` is corrected for ties; ``f`` is Iman and Davenport's F (inf when methods separate perfectly).
    """

    n_datasets: int
    n_methods: int
    mean_ranks: np.ndarray
    chi2: float
    p: float
    f: float
    f_p: float
    chi2_uncorrected: float


def ranks(scores: np.ndarray) -> np.ndarray:
    """Return the mid-ranks of every row, 1 for the highest score: float64 [N, k]."""
    return np.asarray(stats.rankdata(-np.asarray(scores, np.float64), axis=1))


def friedman(scores: np.ndarray) -> Friedman:
    """Test scores [N datasets, k methods].

    If all scores are tied, chi2 is 0 and p is 1.

    Raises
    ------
    ValueError
        There are fewer than two datasets or methods.
    """
    return friedman_of_ranks(ranks(scores))


def friedman_of_ranks(ranked: np.ndarray) -> Friedman:
    """Test ranks [N, k]."""
    n, k = ranked.shape
    if n < 2 or k < 2:
        raise ValueError(f"Friedman's test needs two datasets and two methods, got {n} and {k}")
    mean = ranked.mean(axis=0)
    plain = 12.0 * n / (k * (k + 1)) * float((mean**2).sum() - k * (k + 1) ** 2 / 4.0)
    ties = sum(float((counts**3 - counts).sum()) for counts in (np.unique(r, return_counts=True)[1] for r in ranked))
    factor = 1.0 - ties / (n * k * (k**2 - 1))
    chi2 = plain / factor if factor > 1e-12 else 0.0
    p = float(stats.chi2.sf(chi2, k - 1)) if factor > 1e-12 else 1.0
    left = n * (k - 1) - chi2
    f = (n - 1) * chi2 / left if left > 1e-9 * n * k else math.inf
    f_p = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))) if math.isfinite(f) else 0.0
    return Friedman(n, k, mean, chi2, p, f, f_p if factor > 1e-12 else 1.0, plain)


def q_alpha(k: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's q for k methods: the upper quantile of the studentised range divided by sqrt(2)."""
    return float(stats.studentized_range.ppf(1.0 - alpha, k, np.inf)) / math.sqrt(2.0)


def critical_difference(k: int, n: int, alpha: float = 0.05) -> float:
    """Return the difference in mean rank from which two of ``k`` methods over ``n`` datasets are separated.

    Examples
    --------
    >>> round(critical_difference(14, 12), 1)
    5.7
    """
    return q_alpha(k, alpha) * math.sqrt(k * (k + 1) / (6.0 * n))


def nemenyi_p(mean_ranks: np.ndarray, n: int) -> np.ndarray:
    """Return the p-value of every pair, float64 [k, k], family-wise over all pairs; 1 on the diagonal."""
    k = len(mean_ranks)
    distance = np.abs(mean_ranks[:, None] - mean_ranks[None])
    p = np.ones((k, k))
    upper = np.triu_indices(k, 1)
    p[upper] = stats.studentized_range.sf(distance[upper] / math.sqrt(k * (k + 1) / (12.0 * n)), k, np.inf)
    return np.minimum(p, p.T)


def cliques(mean_ranks: np.ndarray, cd: float) -> list[list[int]]:
    """Return the largest groups, in order of rank, whose first and last member differ by at most ``cd``.

    Groups of one method are left out.
    """
    order = np.argsort(mean_ranks, kind="stable")
    groups: list[list[int]] = []
    reached = -1
    for i in range(len(order)):
        last = max(j for j in range(i, len(order)) if mean_ranks[order[j]] - mean_ranks[order[i]] <= cd)
        if last > max(reached, i):
            groups.append([int(m) for m in order[i : last + 1]])
        reached = max(reached, last)
    return groups
