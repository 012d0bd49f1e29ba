"""What a dataset is solved by: trivial rankers next to chance, ED, DTW-I and the best stored method of the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from readbench_data.evaluation.task.release_data import Release
from readbench_data.leakage.shortcuts import CUTOFF, MARGIN, Shortcut
from readbench_data.store.store import Store

RESULTS = "evaluation/results.parquet"
REFERENCES = ("ED", "DTW-I")
POLLUTION = 20
CLOSE = 0.02
"""A trait solves a dataset if it comes this close to the better one of ED and DTW-I, or beats it. Ours."""


@dataclass(frozen=True)
class Yardstick:
    """NDCG@10 against the corpus with 20 % Normal windows: of a random order, and of the stored results by method, the
    best first."""

    chance: float
    methods: tuple[tuple[str, float], ...]

    @property
    def best(self) -> tuple[str, float] | None:
        """The best stored method."""
        return self.methods[0] if self.methods else None

    def of(self, method: str) -> float | None:
        """The stored result of a method."""
        return dict(self.methods).get(method)


def yardstick(release: Path, dataset: str, store: Store | None, found: Sequence[Shortcut]) -> Yardstick | None:
    """Return the yardstick; None without queries. Only stored results on exactly these data count."""
    if not found:
        return None
    chance = found[0].random
    if store is None or not store.exists(RESULTS):
        return Yardstick(chance, ())
    with store.open_read(RESULTS) as stream:
        rows = pl.read_parquet(stream.read(), columns=["method", "dataset", "rho", "metric", "k", "value", "data_hash"])
    own = Release(release).info(dataset).data_hash
    scores = (
        rows.filter(
            (pl.col("dataset") == dataset)
            & (pl.col("rho") == POLLUTION)
            & (pl.col("metric") == "ndcg")
            & (pl.col("k") == CUTOFF)
            & pl.col("value").is_not_null()
            & pl.col("data_hash").str.starts_with(own)
        )
        .group_by("method")
        .agg(pl.col("value").mean())
        .sort("value", "method", descending=[True, False])
    )
    return Yardstick(chance, tuple(scores.iter_rows()))


def verdict(found: Sequence[Shortcut], scale: Yardstick) -> str:
    """Return what the dataset is solved by, and which artefacts reveal the class, in one or two sentences."""
    by_score = sorted(found, key=lambda s: -s.ndcg)
    known = [(name, value) for name in REFERENCES if (value := scale.of(name)) is not None]
    compared = [f"random {scale.chance:.3f}", *(f"{name} {value:.3f}" for name, value in known)]
    if scale.best:
        compared.append(f"best stored method {scale.best[0]} {scale.best[1]:.3f}")
    measure = f"(NDCG@{CUTOFF}; {', '.join(compared)})"
    least = max([scale.chance + MARGIN, *(value - CLOSE for _, value in known)])
    good = [f"{s.trait} ({s.kind}) {s.ndcg:.3f}" for s in by_score if s.ndcg >= least]
    strongest = f"the strongest is {by_score[0].trait} ({by_score[0].kind}) {by_score[0].ndcg:.3f}"
    if not known:
        first = f"No stored result of {' or '.join(REFERENCES)} to compare traits with; {strongest} {measure}."
    elif good:
        first = f"This dataset is solved by one trait alone: {', '.join(good)} {measure}."
    else:
        first = f"No trait alone solves this dataset; {strongest} {measure}."
    artefacts = [f"{s.trait} {s.ndcg:.3f}" for s in by_score if s.artefact]
    return first + (f" Artefacts that reveal the class: {', '.join(artefacts)}." if artefacts else "")
