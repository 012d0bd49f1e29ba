"""Shortcuts: how well a trait ranks the corpus although it should carry no information about the class.

Each trivial ranker orders the corpus by one trait alone, nearest first. Ties are in random order, so the score is an
exact expectation. If a ranker clearly beats the random order, the trait reveals the class, and a method can score by
it without retrieving a similar case. Our definition of clearly: NDCG@10 at least ``MARGIN`` above random, and more
than ``STANDARD_ERRORS`` standard errors over the queries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from readbench_data.evaluation.scoring.metrics import (
    n_relevant,
    random_expectation,
    ranking_metrics,
    tie_averaged_gain,
)
from readbench_data.leakage.facts import Facts
from readbench_data.windows.outcomes import SELECTED, Outcome

MARGIN = 0.10
STANDARD_ERRORS = 3.0
CUTOFF = 10


@dataclass(frozen=True)
class Shortcut:
    """The result of one trivial ranker on one dataset: NDCG@10, the expectation of a random order, the standard error
    of their difference, and the number of queries. ``says``: what it compares."""

    trait: str
    says: str
    ndcg: float
    random: float
    error: float
    queries: int

    @property
    def clear(self) -> bool:
        """Whether it clearly beats the random order."""
        gain = self.ndcg - self.random
        return gain >= MARGIN and gain > STANDARD_ERRORS * self.error


TRAITS: dict[str, str] = {
    "length": "number of steps",
    "channel_set": "which channels the window has",
    "missing": "share of filled cells and number of sentinels",
    "constant_channels": "which channels are constant",
    "position": "position of the window in its recording",
    "unit_size": "number of windows in its unit",
}


def find_shortcuts(facts: Facts) -> list[Shortcut]:
    """Run every trivial ranker on the queries and the corpus at the highest pollution; no result without queries."""
    frame = _with_traits(facts.windows)
    queries = frame.filter(pl.col("outcome") == Outcome.QUERY)
    corpus = frame.filter(pl.col("outcome") == Outcome.CORPUS)
    if not queries.height or not corpus.height:
        return []
    wanted, labels = queries["class_label"].to_numpy(), corpus["class_label"].to_numpy()
    relevant = n_relevant(wanted, labels)
    chance = random_expectation(len(labels), relevant)["ndcg", CUTOFF]
    found = []
    for trait, distance in _DISTANCES.items():
        score = -distance(queries, corpus)
        order = np.argsort(-score, axis=1, kind="stable")
        gain = tie_averaged_gain(order, score, wanted, labels)
        ndcg = ranking_metrics(gain, relevant)["ndcg", CUTOFF]
        spread = float(np.std(ndcg - chance, ddof=1)) if len(ndcg) > 1 else 0.0
        error = spread / float(np.sqrt(len(ndcg)))
        found.append(Shortcut(trait, TRAITS[trait], float(ndcg.mean()), float(chance.mean()), error, len(ndcg)))
    return found


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
    "unit_size": _difference("unit_windows", logarithmic=True),
}
