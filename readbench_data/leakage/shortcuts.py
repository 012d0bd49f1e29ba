"""Shortcuts: how well a single trait ranks the corpus, without any comparison of the signals' shapes.

A trait is an artefact, which should carry no information about the class, or legitimate signal such as the level. Each
trivial ranker orders the corpus by one trait alone, nearest first. Ties are in random order, so the score is an exact
expectation. If a ranker is clearly better or worse than the random order, the trait reveals the class, and a method can
score by it without retrieving a similar case. Our definition of clearly: NDCG@10 at least ``MARGIN`` away from random,
and a permutation test over the query units, corrected over all traits, rejects (``unit_permutations``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.evaluation.scoring.metrics import DISCOUNT, IDEAL, n_relevant, random_expectation
from readbench_data.leakage.facts import Facts
from readbench_data.leakage.unit_permutations import ALPHA, exchange_units
from readbench_data.leakage.value_traits import NUMBERS, channel_numbers, distances
from readbench_data.windows.outcomes import SELECTED, Outcome

MARGIN = 0.10
CUTOFF = 10


@dataclass(frozen=True)
class Shortcut:
    """The result of one trivial ranker on one dataset: NDCG@10, the expectation of a random order, the mean if the
    query units exchange their traits (``exchanged``), the corrected ``p`` of the permutation test (None where it cannot
    be decided), the number of query ``units`` and of queries. ``kind``: artefact or signal. ``says``: what it
    compares."""

    trait: str
    kind: str
    says: str
    ndcg: float
    random: float
    exchanged: float
    p: float | None
    units: int
    queries: int

    @property
    def clear(self) -> bool:
        """Whether it is clearly better or worse than the random order."""
        return abs(self.ndcg - self.random) >= MARGIN and self.p is not None and self.p <= ALPHA

    @property
    def artefact(self) -> bool:
        """Whether it is clear although it is not a signal of the process."""
        return self.clear and self.kind == ARTEFACT

    @property
    def verdict(self) -> str:
        """Whether the trait reveals the class, in words."""
        if self.p is None:
            return f"cannot be decided from {self.units} query unit{'s' if self.units > 1 else ''}"
        if not self.clear:
            return "no"
        return "yes" if self.ndcg > self.random else "yes, as it ranks clearly worse than random"


ARTEFACT, SIGNAL = "artefact", "signal"

TRAITS: dict[str, tuple[str, str]] = {
    "length": (ARTEFACT, "number of steps"),
    "channel_set": (ARTEFACT, "which channels the window has"),
    "missing": (ARTEFACT, "share of filled cells and number of sentinels"),
    "constant_channels": (ARTEFACT, "which channels are constant"),
    "position": (ARTEFACT, "position of the window in its recording"),
    "absolute_position": (ARTEFACT, "first row in the source file"),
    "unit_size": (ARTEFACT, "number of windows in its unit"),
    "distinct_values": (ARTEFACT, "number of distinct values per channel"),
    "quantisation": (ARTEFACT, "smallest step between two values per channel"),
    "level": (SIGNAL, "mean per channel"),
    "spread": (SIGNAL, "standard deviation per channel"),
    "level_and_spread": (SIGNAL, "mean and standard deviation per channel"),
    "extremes": (SIGNAL, "minimum and maximum per channel"),
    "first_sample": (SIGNAL, "first value per channel"),
}
"""Trait -> whether it is an artefact of recording or selection, or legitimate signal; and what it compares."""


def find_shortcuts(facts: Facts) -> list[Shortcut]:
    """Run every trivial ranker on the queries and the corpus at the highest pollution; no result without queries."""
    frame = _with_traits(facts.windows)
    queries = frame.filter(pl.col("outcome") == Outcome.QUERY).sort("unit", "recording_id", "row_start", "entry_id")
    corpus = frame.filter(pl.col("outcome") == Outcome.CORPUS)
    if not queries.height or not corpus.height:
        return []
    wanted, labels = queries["class_label"].to_numpy(), corpus["class_label"].to_numpy()
    classes, own = np.unique(wanted, return_inverse=True)
    by_values = _by_values(facts, queries, corpus)
    tables = np.stack(
        [
            ndcg_by_class(_DISTANCES[name](queries, corpus) if name in _DISTANCES else by_values[name], classes, labels)
            for name in TRAITS
        ]
    )
    tested = exchange_units(tables, own, queries["unit"].rank("dense").to_numpy())
    chance = float(random_expectation(len(labels), n_relevant(wanted, labels))["ndcg", CUTOFF].mean())
    rows = zip(TRAITS, tested.observed.tolist(), tested.exchanged.tolist(), tested.p.tolist(), strict=True)
    return [
        Shortcut(name, *TRAITS[name], ndcg, chance, mean, None if np.isnan(p) else p, tested.units, queries.height)
        for name, ndcg, mean, p in rows
    ]


def _by_values(facts: Facts, queries: pl.DataFrame, corpus: pl.DataFrame) -> dict[str, np.ndarray]:
    """Distances in the traits of the values."""
    both = pl.concat([queries.select("entry_id", "channels"), corpus.select("entry_id", "channels")])
    ids, channels = both["entry_id"].to_list(), [tuple(c or ()) for c in both["channels"].to_list()]
    numbers = channel_numbers(facts.selected_values, ids, channels)
    rows = np.arange(len(ids))
    return {name: distances(numbers, name, rows[: queries.height], rows[queries.height :]) for name in NUMBERS}


def ndcg_by_class(distance: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return NDCG@10 of every query if it had each of the ``classes``, [nq][classes]: the corpus by distance [nq][N],
    the mean over all orders of ties."""
    nq, n = distance.shape
    order = np.argsort(distance, axis=1, kind="stable")
    ranked = np.take_along_axis(distance, order, axis=1)
    depth = min(CUTOFF, n)
    # Every rank of a group of equal distances gets the group's share of relevant entries.
    opens = np.concatenate([np.ones((nq, 1), bool), ranked[:, 1:] != ranked[:, :-1]], axis=1)
    group = np.cumsum(opens, axis=1) - 1
    size = np.zeros((nq, depth))
    inside = group < depth
    rows = np.broadcast_to(np.arange(nq)[:, None], group.shape)
    size += np.bincount((rows * depth + group)[inside], minlength=nq * depth).reshape(nq, depth)
    table = np.zeros((nq, len(classes)))
    for number, name in enumerate(classes):
        relevant = labels == name
        count = int(relevant.sum())
        if name == NORMAL or not count:
            continue
        flat = (rows * depth + group)[inside & relevant[order]]
        share = np.bincount(flat, minlength=nq * depth).reshape(nq, depth) / np.maximum(size, 1)
        gain = np.take_along_axis(share, group[:, :depth], axis=1)
        table[:, number] = gain @ DISCOUNT[:depth] / IDEAL[min(count, CUTOFF)]
    return table


def _with_traits(windows: pl.DataFrame) -> pl.DataFrame:
    """The selected windows with their place in the recording (0 to 1) and the size of their unit."""
    last = pl.col("row_stop").max().over("source_file", "recording_id")
    return windows.with_columns(
        place=pl.col("row_start") / pl.max_horizontal(last, 1), unit_windows=pl.len().over("unit")
    ).filter(pl.col("outcome").is_in(SELECTED))


def _difference(column: str, logarithmic: bool = False) -> Callable[[pl.DataFrame, pl.DataFrame], np.ndarray]:
    def distance(queries: pl.DataFrame, corpus: pl.DataFrame) -> np.ndarray:
        a, b = (f[column].fill_null(0).to_numpy().astype(np.float64) for f in (queries, corpus))
        if logarithmic:
            a, b = np.log1p(a), np.log1p(b)
        return np.round(np.abs(a[:, None] - b[None, :]), 9)

    return distance


def _missing(queries: pl.DataFrame, corpus: pl.DataFrame) -> np.ndarray:
    filled, sentinels = _difference("filled_fraction"), _difference("sentinel_count", logarithmic=True)
    return np.asarray(filled(queries, corpus) + sentinels(queries, corpus))


def _sets(names: Callable[[pl.DataFrame], list[frozenset[str]]]) -> Callable[[pl.DataFrame, pl.DataFrame], np.ndarray]:
    """Jaccard distance of sets of names, computed once per pair of different sets."""

    def distance(queries: pl.DataFrame, corpus: pl.DataFrame) -> np.ndarray:
        (own, a), (others, b) = (_numbered(names(f)) for f in (queries, corpus))
        table = np.array([[1 - len(x & y) / len(x | y) if x | y else 0.0 for y in others] for x in own])
        return table[np.ix_(a, b)]

    return distance


def _numbered(sets: list[frozenset[str]]) -> tuple[list[frozenset[str]], np.ndarray]:
    number: dict[frozenset[str], int] = {}
    at = np.array([number.setdefault(s, len(number)) for s in sets], np.int64)
    return list(number), at


def _channel_sets(frame: pl.DataFrame) -> list[frozenset[str]]:
    return [frozenset(c or ()) for c in frame["channels"].to_list()]


def _constant_sets(frame: pl.DataFrame) -> list[frozenset[str]]:
    """Names of the constant channels of each window."""
    found = []
    for mask, channels in frame.select("constant_mask", "channels").rows():
        bits = int.from_bytes(bytes.fromhex(mask or ""), "little")
        found.append(frozenset(c for i, c in enumerate(channels or ()) if bits >> i & 1))
    return found


_DISTANCES: dict[str, Callable[[pl.DataFrame, pl.DataFrame], np.ndarray]] = {
    "length": _difference("steps", logarithmic=True),
    "channel_set": _sets(_channel_sets),
    "missing": _missing,
    "constant_channels": _sets(_constant_sets),
    "position": _difference("place"),
    "absolute_position": _difference("row_start", logarithmic=True),
    "unit_size": _difference("unit_windows", logarithmic=True),
}
