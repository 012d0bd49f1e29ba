"""The split by unit: which units are on the query side and which on the corpus side. One algorithm for all sources.

A unit (well, subject, run, event, case) is never on both sides. Units that share an identical window are joined
first. Then the classes are visited, the one with the fewest units first. The units of a class are tried in order of
size, largest first: a unit goes to the query side if that brings its classes, taken together, closer to their targets.
The target of a class with n windows is what is left after ``round((1 - test_fraction) * n)`` corpus windows. Finally,
single units and pairs of units change sides as long as that brings the classes closer to their targets; of two splits
that are as close, the one with fewer classes without a query is used. Of at most 14 units with faults, all splits are
compared instead. A class that occurs in one unit
only stays in the corpus, units without any fault go to the corpus, and the corpus keeps a unit of every class.
(Paper A.1.2 asks for a split unit coarser than a window; the algorithm is ours, after iterative stratification,
Sechidis et al. 2011.)
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from readbench_data.windows.outcomes import Side

MAX_PASSES = 150
"""Maximum number of passes in which units change sides; a few are enough."""

MOST_FOR_ALL = 14
"""Most units with faults for which all splits are compared."""

MOST_FOR_PAIRS = 2**10
"""Most units for which pairs are tried: of more, each is a small share, and single moves come close enough."""

DIGITS = 12
"""Changes of the distance are compared after rounding to this many decimals, so that they are equal on every CPU."""

SMALL = 1e-9
"""A share of a class that is less than any window."""


def keyed(seed: int, purpose: str, name: str) -> str:
    """Return a seeded hash to order names by: the order of two names does not depend on the other names."""
    return hashlib.blake2b(f"{seed}\0{purpose}\0{name}".encode(), digest_size=16).hexdigest()


def join_units(units: Iterable[str], shared: Iterable[Sequence[str]]) -> dict[str, str]:
    """Join the units of each group in ``shared``, and groups with a common unit: returns unit -> joined unit.

    A joined unit is named after its first member in alphabetical order.
    """
    parent = {unit: unit for unit in units}

    def find(unit: str) -> str:
        while parent[unit] != unit:
            parent[unit] = parent[parent[unit]]
            unit = parent[unit]
        return unit

    for group in shared:
        roots = sorted({find(u) for u in group})
        for root in roots[1:]:
            parent[root] = roots[0]
    return {unit: find(unit) for unit in parent}


def split_units(
    counts: Mapping[str, Mapping[str, int]],
    test_fraction: float,
    seed: int,
    native: Mapping[str, set[str]] | None = None,
) -> dict[str, Side]:
    """Return the side of every unit. ``counts[unit][fault class]``: its fault windows, without Normal.

    ``native[unit]``: the sides that the source itself puts the unit's windows on. If the source's own train part has
    faults, that split is used: a unit entirely in ``test`` is on the query side, a unit on both is on the corpus side.

    Examples
    --------
    A class that is in one unit stays in the corpus:

    >>> sides = split_units({"well 1": {"leak": 5}, "well 2": {"leak": 5}, "well 3": {"rare": 2}}, 0.5, seed=42)
    >>> sorted(side.value for side in sides.values()), sides["well 3"].value
    (['corpus', 'corpus', 'query'], 'corpus')
    """
    faulty = {unit: {c: n for c, n in own.items() if n > 0} for unit, own in counts.items()}
    if native is not None and any(sides == {"train"} and faulty[unit] for unit, sides in native.items()):
        return {unit: Side.QUERY if native.get(unit) == {"test"} and faulty[unit] else Side.CORPUS for unit in counts}
    return _stratify(faulty, test_fraction, seed)


def _stratify(faulty: Mapping[str, Mapping[str, int]], test_fraction: float, seed: int) -> dict[str, Side]:
    members: dict[str, list[str]] = defaultdict(list)
    total: dict[str, int] = defaultdict(int)
    for unit, own in faulty.items():
        for name, n in own.items():
            members[name].append(unit)
            total[name] += n
    order = sorted((u for u in faulty if faulty[u]), key=lambda u: keyed(seed, "refine", u))
    state = _Allotment(faulty, order, sorted(total), test_fraction)
    if len(order) <= MOST_FOR_ALL:
        state.take_the_best()
        return {unit: Side.QUERY if unit in state.queried else Side.CORPUS for unit in faulty}
    for name in sorted(total, key=lambda c: (len(members[c]), total[c], c)):
        for unit in sorted(members[name], key=lambda u: (-faulty[u][name], keyed(seed, "split", u))):
            if unit not in state.queried:
                state.move_if_better(unit)
    for _ in range(MAX_PASSES):
        moved = [unit for unit in order if state.move_if_better(unit)]
        if not moved and not state.move_the_best_pair():
            break
    return {unit: Side.QUERY if unit in state.queried else Side.CORPUS for unit in faulty}


class _Allotment:
    """The units on the query side so far, and the distance of each class from its target.

    The distance is the sum over classes of the squared difference between windows on the query side and target, as a
    share of the class. Moving the units S changes it by ``2 d.a + a.a``, where d holds the difference of each class and
    a the sum of the moves of S; so all pairs are compared in one matrix product.
    """

    def __init__(
        self, faulty: Mapping[str, Mapping[str, int]], units: Sequence[str], classes: Sequence[str], fraction: float
    ) -> None:
        column = {name: j for j, name in enumerate(classes)}
        self._place = {unit: i for i, unit in enumerate(units)}
        self._units = list(units)
        counts = np.zeros((len(units), len(classes)))
        for unit, i in self._place.items():
            for name, n in faulty[unit].items():
                counts[i, column[name]] = n
        total = counts.sum(axis=0)
        target = total - np.array([round((1 - fraction) * n) for n in total.astype(int).tolist()])
        self._share = counts / total
        self._has = (counts > 0).astype(np.int64)
        self._nothing = -target / total
        self._off = self._nothing.copy()  # per class: share on the query side minus its target
        self._on_query = np.zeros(len(units), bool)
        self._corpus_units = self._has.sum(axis=0)
        self._wanted = (target > 0) & (self._corpus_units > 1)

    @property
    def queried(self) -> set[str]:
        """The units on the query side."""
        return {self._units[i] for i in np.flatnonzero(self._on_query)}

    def take_the_best(self) -> None:
        """Compare all splits that keep a unit of every class in the corpus, and use the best; among equal ones, the
        first in the seeded order of the units."""
        n = len(self._units)
        bits = ((np.arange(2**n)[:, None] >> np.arange(n)[::-1]) & 1).astype(np.float64)
        off = bits @ self._share + self._nothing
        cost = np.round((off**2).sum(axis=1), DIGITS)
        without = (self._wanted & (off < self._nothing + SMALL)).sum(axis=1)
        in_corpus = self._has.sum(axis=0) - bits @ self._has
        allowed = (in_corpus >= 1).all(axis=1)
        best = np.lexsort((without, cost, ~allowed))[0]
        self._on_query = bits[best].astype(bool)

    def move_if_better(self, unit: str) -> bool:
        """Move a unit to the other side if that brings the classes closer to their targets, or as close with fewer
        classes without a query; returns whether it did."""
        return self._move([self._place[unit]])

    def move_the_best_pair(self) -> bool:
        """Move the two units to their other sides that bring the classes closest to their targets, if any pair does;
        returns whether one did. Beyond :data:`MOST_FOR_PAIRS` units none is tried: single moves are fine enough."""
        if not 2 <= len(self._units) <= MOST_FOR_PAIRS:
            return False
        moves = self._share * np.where(self._on_query, -1.0, 1.0)[:, None]
        alone = 2 * moves @ self._off + (moves**2).sum(axis=1)
        change = np.round(alone[:, None] + alone[None, :] + 2 * moves @ moves.T, DIGITS)
        first, second = np.triu_indices(len(self._units), 1)
        gains = change[first, second]
        for place in np.argsort(gains, kind="stable"):
            if gains[place] > 0:
                return False
            if self._move([int(first[place]), int(second[place])]):
                return True
        return False

    def _move(self, places: list[int]) -> bool:
        sign = np.where(self._on_query[places], -1, 1)
        corpus = self._corpus_units - (sign[:, None] * self._has[places]).sum(axis=0)
        if (corpus < np.minimum(self._corpus_units, 1)).any():
            return False
        move = (sign[:, None] * self._share[places]).sum(axis=0)
        change = float(np.round(2 * move @ self._off + move @ move, DIGITS))
        if change > 0 or (change == 0 and self._without(move) >= self._without(np.zeros_like(move))):
            return False
        self._off = self._off + move
        self._on_query[places] = ~self._on_query[places]
        self._corpus_units = corpus
        return True

    def _without(self, move: np.ndarray) -> int:
        """How many classes that could have a query have none after a move."""
        return int((self._wanted & (self._off + move < self._nothing + SMALL)).sum())
