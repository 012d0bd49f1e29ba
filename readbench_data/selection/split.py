"""The split by unit: which units are on the query side and which on the corpus side. One algorithm for all sources.

A unit (well, subject, run, event, case) is never on both sides. Units that share an identical window are joined
first. Then the classes are visited, the one with the fewest units first. The units of a class are tried in order of
size, largest first: a unit goes to the query side if that brings its classes, taken together, closer to their targets.
The target of a class with n windows is what is left after ``round((1 - test_fraction) * n)`` corpus windows. Finally,
single units change sides as long as that brings the classes closer to their targets. A class that occurs in one unit
only stays in the corpus, units without any fault go to the corpus, and the corpus keeps a unit of every class.
(Paper A.1.2 asks for a split unit coarser than a window; the algorithm is ours, after iterative stratification,
Sechidis et al. 2011.)
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from readbench_data.windows.outcomes import Side

MAX_PASSES = 20
"""Maximum number of passes in which single units change sides; a few are enough."""


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
    state = _Allotment(faulty, total, test_fraction)
    for name in sorted(total, key=lambda c: (len(members[c]), total[c], c)):
        for unit in sorted(members[name], key=lambda u: (-faulty[u][name], keyed(seed, "split", u))):
            if unit not in state.queried:
                state.flip_if_closer(unit)
    order = sorted((u for u in faulty if faulty[u]), key=lambda u: keyed(seed, "refine", u))
    for _ in range(MAX_PASSES):
        if not [unit for unit in order if state.flip_if_closer(unit)]:
            break
    return {unit: Side.QUERY if unit in state.queried else Side.CORPUS for unit in faulty}


class _Allotment:
    """The units on the query side so far, and the distance of each class from its target."""

    def __init__(self, faulty: Mapping[str, Mapping[str, int]], total: Mapping[str, int], test_fraction: float) -> None:
        self.queried: set[str] = set()
        self._faulty = faulty
        self._total = total
        self._target = {name: n - round((1 - test_fraction) * n) for name, n in total.items()}
        self._chosen = dict.fromkeys(total, 0)
        self._corpus_units = dict.fromkeys(total, 0)
        for own in faulty.values():
            for name in own:
                self._corpus_units[name] += 1

    def flip_if_closer(self, unit: str) -> bool:
        """Move a unit to the other side if that brings the classes closer to their targets; returns whether it did."""
        sign = -1 if unit in self.queried else 1
        own = self._faulty[unit]
        if sign > 0 and any(self._corpus_units[name] < 2 for name in own):
            return False
        change = sum(self._distance(name, sign * n) - self._distance(name, 0) for name, n in own.items())
        if change >= -1e-12:
            return False
        for name, n in own.items():
            self._chosen[name] += sign * n
            self._corpus_units[name] -= sign
        self.queried ^= {unit}
        return True

    def _distance(self, name: str, more: int) -> float:
        """Squared distance of a class from its target, as a share of the class, with ``more`` windows on the query
        side."""
        return float((self._chosen[name] + more - self._target[name]) / self._total[name]) ** 2
