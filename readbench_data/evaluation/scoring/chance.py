"""The exact expectation of macro-F1 when every query gets its own uniformly random order.

The prediction for a query is then the label of a draw without replacement, with the same distribution for every query
and independent between queries. With p the probability of predicting a class, the queries of that class (m of them) and
the others (r) predict it Binomial(m, p) and Binomial(r, p) times, so

    E[F1] = sum_{h, o} 2 h / (m + h + o) * P[Binomial(m, p) = h] * P[Binomial(r, p) = o]

and the mean over the classes of the queries is the expectation of macro-F1. Nothing is drawn at random.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np


def majority_probability(sizes: np.ndarray, k: int) -> np.ndarray:
    """Return the probability that each label has the majority among the first ``k`` items of a random order.

    Of t labels with equal counts the one that comes first wins. Each of them comes first equally often, because all
    orders of the same items are equally likely.

    Parameters
    ----------
    sizes : int array [labels]
        How often each label occurs in the corpus.
    k : int

    Returns
    -------
    float64 array [labels]
        Sums to 1.

    Examples
    --------
    >>> majority_probability(np.array([3, 1]), 1).tolist()
    [0.75, 0.25]
    """
    counts = tuple(sorted(int(s) for s in sizes))
    of_size = {size: _majority(size, counts, min(k, sum(counts))) for size in set(counts)}
    return np.array([of_size[int(s)] for s in sizes])


@cache
def _majority(size: int, counts: tuple[int, ...], drawn: int) -> float:
    """Return that probability for one label of ``size`` items in a corpus with these ``counts``."""
    others = list(counts)
    others.remove(size)
    return _wins(size, others, drawn) / comb(sum(counts), drawn)


def _wins(size: int, others: list[int], drawn: int) -> float:
    """Count the draws in which a label of ``size`` items has the majority; a tie of t labels counts as 1/t."""
    total = 0.0
    for own in range(1, min(size, drawn) + 1):
        tied = _no_more_than(own, others, drawn - own)
        total += comb(size, own) * sum(ways / (t + 1) for t, ways in tied.items())
    return total


def _no_more_than(most: int, sizes: list[int], drawn: int) -> dict[int, int]:
    """Return, per number of labels that reach ``most``, the ways to draw ``drawn`` items with no label above it."""
    reached: dict[tuple[int, int], int] = {(0, 0): 1}
    for size in sizes:
        following: dict[tuple[int, int], int] = {}
        for (used, tied), ways in reached.items():
            for taken in range(min(size, most, drawn - used) + 1):
                key = (used + taken, tied + (taken == most))
                following[key] = following.get(key, 0) + ways * comb(size, taken)
        reached = following
    return {tied: ways for (used, tied), ways in reached.items() if used == drawn}


def random_macro_f1(truth: np.ndarray, corpus_labels: np.ndarray, k: int) -> float:
    """Return the expected macro-F1 of predicting by the majority of the first ``k`` items of a random order.

    Parameters
    ----------
    truth : str array [nq]
        Classes of the queries; the mean is over these.
    corpus_labels : str array [N]
    k : int

    Examples
    --------
    >>> round(random_macro_f1(np.array(["A", "B"]), np.array(["A", "B", "B", "B"]), 1), 3)
    0.396
    """
    names, sizes = np.unique(corpus_labels, return_counts=True)
    probability = dict(zip(names.tolist(), majority_probability(sizes, k).tolist(), strict=True))
    classes = np.unique(truth)  # in order: the last digit of a sum depends on it
    return float(np.mean([_f1(int((truth == c).sum()), len(truth), probability.get(str(c), 0.0)) for c in classes]))


def _f1(own: int, n: int, p: float) -> float:
    """Return E[F1] of a class with ``own`` of ``n`` queries, each predicted to be of it with probability ``p``."""
    hits, strays = np.arange(own + 1), np.arange(n - own + 1)
    f1 = 2.0 * hits[:, None] / (own + hits[:, None] + strays)
    return float(_binomial(own, p) @ f1 @ _binomial(n - own, p))


def _binomial(n: int, p: float) -> np.ndarray:
    """Return the probability of 0..n successes in n trials, float64 [n + 1].

    One trial is added after the other, so nothing cancels.
    """
    chances: np.ndarray = np.ones(1)
    for _ in range(n):
        chances = np.convolve(chances, [1.0 - p, p])
    return chances
