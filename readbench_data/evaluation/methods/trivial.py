"""The baselines: a random order and the largest class first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.methods.base import Input, Method
from readbench_data.evaluation.task.supervision import Supervision

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View


@dataclass(frozen=True)
class Random(Method):
    """Every order is equally likely. Its metrics are the exact expectation, not one random draw (ours)."""

    family: ClassVar[str] = "trivial"
    input: ClassVar[Input] = Input.NONE
    source: ClassVar[str] = "baseline"

    @property
    def name(self) -> str:
        return "Random"

    def score(self, view: View, fitted: Any) -> np.ndarray:
        """All equal, so the tie hash decides the order. Reported values come from the expectation instead."""
        return np.zeros((view.n_queries, view.n_corpus))


@dataclass(frozen=True)
class Majority(Method):
    """Items of the largest fault class of the corpus first, all others after; both blocks are ties.

    Normal is left out when classes are counted (ours): a Normal window is never relevant. Among classes of equal size
    the first by name wins.
    """

    family: ClassVar[str] = "trivial"
    input: ClassVar[Input] = Input.NONE
    source: ClassVar[str] = "baseline"
    supervision: ClassVar[Supervision] = Supervision.SUPERVISED

    @property
    def name(self) -> str:
        return "Majority"

    def fit(self, view: View) -> str:
        labels = view.corpus_labels
        classes, counts = np.unique(labels[labels != NORMAL], return_counts=True)
        return str(classes[np.argmax(counts)])

    def score(self, view: View, fitted: str) -> np.ndarray:
        return np.tile((view.corpus_labels == fitted).astype(np.float64), (view.n_queries, 1))
