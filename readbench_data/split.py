"""Which units are queries and which are corpus: one algorithm for every source.

A unit (well, subject, run, event, case) is never on both sides. Units that share an identical window are joined
first. Then, class by class from the one with fewest units, each class's units are allotted, largest first, to
the query side while that brings the class's query windows closer to its target, which is what is left of
``round((1 - test_fraction) * n)`` corpus windows. A class that lies in one unit stays in the corpus, units
without any fault go to the corpus, and a class never leaves the corpus empty (paper A.1.2 asks for a split
unit coarser than a window; the algorithm is ours, after iterative stratification, Sechidis et al. 2011).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

CORPUS = "corpus"
QUERY = "query"


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
) -> dict[str, str]:
    """Side of every unit. ``counts[unit][fault class]``: its fault windows, Normal left out.

    ``native[unit]``: the sides the source itself put the unit's windows on. Where every class's corpus can be
    had from the source's own train part that split is kept: a unit wholly in ``test`` is on the query side,
    one that crosses is on the corpus side.
    """
    faulty = {unit: {c: n for c, n in own.items() if n > 0} for unit, own in counts.items()}
    if native is not None and any(sides == {"train"} and faulty[unit] for unit, sides in native.items()):
        return {unit: QUERY if native.get(unit) == {"test"} and faulty[unit] else CORPUS for unit in counts}
    return _stratify(faulty, test_fraction, seed)


def _stratify(faulty: Mapping[str, Mapping[str, int]], test_fraction: float, seed: int) -> dict[str, str]:
    members: dict[str, list[str]] = defaultdict(list)
    total: dict[str, int] = defaultdict(int)
    for unit, own in faulty.items():
        for name, n in own.items():
            members[name].append(unit)
            total[name] += n
    target = {name: n - round((1 - test_fraction) * n) for name, n in total.items()}
    chosen = dict.fromkeys(total, 0)
    corpus_units = {name: len(units) for name, units in members.items()}
    side: dict[str, str] = {}
    for name in sorted(total, key=lambda c: (len(members[c]), total[c], c)):
        waiting = [unit for unit in members[name] if unit not in side]
        waiting.sort(key=lambda unit: (-faulty[unit][name], keyed(seed, "split", unit)))
        for unit in waiting:
            closer = abs(chosen[name] + faulty[unit][name] - target[name]) < abs(chosen[name] - target[name])
            spare = all(corpus_units[other] > 1 for other in faulty[unit])
            side[unit] = QUERY if closer and spare else CORPUS
            if side[unit] == QUERY:
                for other, n in faulty[unit].items():
                    chosen[other] += n
                    corpus_units[other] -= 1
    return {unit: side.get(unit, CORPUS) for unit in faulty}
