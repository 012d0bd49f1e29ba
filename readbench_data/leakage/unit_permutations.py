"""A permutation test over units: does a trait rank relevant entries earlier, or later, than it would by accident?

Queries of one unit are not independent: a meaningless trait that is constant within a unit helps all of its queries or
none. So whole units are exchanged. If a trait has nothing to do with the class, the traits of the query units could as
well be exchanged between the units, and the score would be as likely as any other. Queries are matched by their order
in the unit, in proportion where two units have different numbers of queries.

The test is two-sided and corrected over all traits of a dataset by the largest standardised deviation (Westfall and
Young): under the null hypothesis, the probability that any trait of a dataset is reported is at most ``ALPHA``.
With few units all permutations are used, otherwise ``DRAWN`` random ones with a fixed seed. ``FEWEST`` units are needed
at least; below that, and where too few permutations differ, the answer is that it cannot be decided. All are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

ALPHA = 0.05
FEWEST = 6
DRAWN = 4999
_EXACT = 7
_SEED = 20


@dataclass(frozen=True)
class UnitTest:
    """``observed`` float64 [traits], ``exchanged``: its mean over permutations of the units, ``p``: corrected over the
    traits, NaN where it cannot be decided; ``units``: number of query units."""

    observed: np.ndarray
    exchanged: np.ndarray
    p: np.ndarray
    units: int


def exchange_units(tables: np.ndarray, wanted: np.ndarray, units: np.ndarray, drawn: int = DRAWN) -> UnitTest:
    """Test the mean of ``tables[k, q, wanted[q]]`` over the queries.

    Parameters
    ----------
    tables : float64 array [traits, nq, classes]
        Score of query q if its class were c.
    wanted : int array [nq]
        Class of each query.
    units : int array [nq]
        Unit of each query, from 0. The queries of a unit are in their natural order.
    """
    _, unit = np.unique(units, return_inverse=True)
    count = int(unit.max()) + 1
    donors = _donors(unit, count, drawn)
    scores = np.stack([table[donors, wanted[None, :]].mean(axis=1) for table in tables])
    observed, exchanged, spread = scores[:, 0], scores.mean(axis=1), scores.std(axis=1)
    away = np.abs(scores - exchanged[:, None])
    standard = np.divide(away, spread[:, None], out=np.zeros_like(away), where=spread[:, None] > 1e-9)
    largest = standard.max(axis=0)
    p = (largest[None, :] >= standard[:, :1] - 1e-9).mean(axis=1)
    least = np.array([np.isclose(own, own[0], atol=1e-12).mean() for own in scores])
    # Permutations that exchange nothing that matters repeat the observed score: too many, and no p can be small.
    decided = (least <= ALPHA) if count >= FEWEST else np.zeros(len(p), bool)
    # All queries have the same trait: it cannot reveal anything.
    still = np.ptp(tables, axis=1).max(axis=1) <= 1e-9
    return UnitTest(observed, exchanged, np.where(still, 1.0, np.where(decided, p, np.nan)), count)


def _donors(unit: np.ndarray, count: int, drawn: int) -> np.ndarray:
    """For each permutation of the units, the query that gives its trait to each query: int64 [permutations][nq]. The
    first permutation changes nothing."""
    if count <= _EXACT:
        orders = np.array(list(permutations(range(count))), np.int64).reshape(-1, count)
    else:
        draw = np.random.default_rng(_SEED)
        orders = np.concatenate([[np.arange(count)], draw.permuted(np.tile(np.arange(count), (drawn, 1)), axis=1)])
    by_unit = np.argsort(unit, kind="stable")
    size = np.bincount(unit, minlength=count)
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    place = np.empty(len(unit), np.int64)
    place[by_unit] = np.arange(len(unit)) - first[unit[by_unit]]
    donor = orders[:, unit]
    return by_unit[first[donor] + place[None, :] * size[donor] // size[unit][None, :]]
