"""Which units are queries and which are corpus: one algorithm for every source.

A unit (well, subject, run, event, case) is never on both sides. Units that share an identical window are joined
first. Then, class by class from the one with fewest units, each class's units are allotted, largest first, to
the query side where that brings all the unit's classes together closer to their targets; a class's target is
what ``round((1 - test_fraction) * n)`` corpus windows leave of it. At last single units change sides while that
brings the classes closer still. A class that lies in one unit stays in the corpus, units without any fault go to
the corpus, and a class never leaves the corpus empty (paper A.1.2 asks for a split unit coarser than a window;
the algorithm is ours, after iterative stratification, Sechidis et al. 2011).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from readbench_data.windows.outcomes import Side

MAX_PASSES = 20
"""Bound on the passes in which single units change sides; a handful is enough."""


def keyed(seed: int, purpose: str, name: str) -> str:
    """A seeded hash that orders names: the same order whatever else is in the list."""
    return hashlib.blake2b(f"{seed}\0{purpose}\0{name}".encode(), digest_size=16).hexdigest()


def join_units(units: Iterable[str], shared: Iterable[Sequence[str]]) -> dict[str, str]:
    """Units that must stay together, by union of the groups in ``shared``: unit -> joined unit.

    The joined unit has the name of its first member in alphabetical order.
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
    """Side of every unit. ``counts[unit][fault class]``: its fault windows, Normal left out.

    ``native[unit]``: the sides the source itself put the unit's windows on. Where every class's corpus can be
    had from the source's own train part that split is kept: a unit wholly in ``test`` is on the query side,
    one that crosses is on the corpus side.
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
    """Which units are queried so far, and how far each class is from its target."""

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
        """Move a unit to the other side where that brings the classes closer to their targets."""
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
        """Squared distance of a class from its target, as a share of the class, with ``more`` windows queried."""
        return float((self._chosen[name] + more - self._target[name]) / self._total[name]) ** 2
