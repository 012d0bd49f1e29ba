"""Compares methods over datasets: which ones enter, the result of the test, and what may be claimed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from readbench_data.evaluation.statistics.friedman import Friedman, cliques, critical_difference, friedman, nemenyi_p
from readbench_data.evaluation.statistics.intervals import Interval, mean_interval

ALPHA = 0.05
"""Family-wise (READ-Bench, A.4)."""


@dataclass(frozen=True)
class Comparison:
    """A complete block of methods and datasets, and what was left out of it.

    ``scores`` is float64 [N datasets, k methods]. ``test`` is None for fewer than two methods or two datasets. When the
    test does not reject, ``groups`` is one group of all methods: no two can be told apart.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    scores: np.ndarray
    left_out: dict[str, tuple[str, ...]]
    test: Friedman | None
    cd: float | None
    pairwise_p: np.ndarray | None

    @property
    def rejects(self) -> bool:
        """Whether Friedman's test finds any difference at 5 %."""
        return self.test is not None and self.test.p < ALPHA

    @property
    def groups(self) -> list[list[int]]:
        """Methods that are not separated, as positions in ``methods``, best first."""
        if self.test is None or self.cd is None:
            return []
        if not self.rejects:
            return [[int(i) for i in np.argsort(self.test.mean_ranks, kind="stable")]]
        return cliques(self.test.mean_ranks, self.cd)

    def interval(self, method: str) -> Interval | None:
        """Return the interval of a method's mean over the datasets."""
        return mean_interval(self.scores[:, self.methods.index(method)], low=0.0, high=1.0)

    def difference(self, one: str, other: str) -> tuple[float, Interval | None]:
        """Return the mean of the paired differences ``one`` - ``other``, and its interval."""
        d = self.scores[:, self.methods.index(one)] - self.scores[:, self.methods.index(other)]
        return float(d.mean()), mean_interval(d, low=-1.0, high=1.0)

    def sentence(self) -> str:
        """Return the one claim that the data allow, as a sentence."""
        if self.test is None:
            return "No test: it needs two methods with values on the same two datasets."
        t = self.test
        head = (
            f"Friedman over {t.n_methods} methods and {t.n_datasets} datasets: chi2 = {t.chi2:.2f}, p = {t.p:.2g}"
            f" (Iman-Davenport F = {t.f:.2f}, p = {t.f_p:.2g})."
        )
        if not self.rejects:
            return f"{head} The test does not reject, so no two methods can be told apart."
        assert self.cd is not None
        return f"{head} Mean ranks that differ by more than CD = {self.cd:.2f} are separated (Nemenyi, 5 %)."


def compare(values: dict[str, dict[str, float | None]]) -> Comparison:
    """Compare methods over datasets.

    Parameters
    ----------
    values : dict of method to dict of dataset to float
        Datasets are those on which any method has a value. Only complete blocks are compared: a method that lacks one
        of the datasets is left out and listed with what it lacks.
    """
    datasets = tuple(dict.fromkeys(d for row in values.values() for d, v in row.items() if v is not None))
    lacking = {m: tuple(d for d in datasets if row.get(d) is None) for m, row in values.items()}
    methods = tuple(m for m, lacks in lacking.items() if not lacks)
    scores = np.array([[values[m][d] for m in methods] for d in datasets], np.float64)
    left_out = {m: lacks for m, lacks in lacking.items() if lacks}
    if len(methods) < 2 or len(datasets) < 2:
        scores = scores.reshape(len(datasets), len(methods))
        return Comparison(methods, datasets, scores, left_out, None, None, None)
    test = friedman(scores)
    cd = critical_difference(test.n_methods, test.n_datasets, ALPHA)
    return Comparison(methods, datasets, scores, left_out, test, cd, nemenyi_p(test.mean_ranks, test.n_datasets))
