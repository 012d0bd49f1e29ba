"""Combines two or more scorers: by reciprocal ranks, by weighted scores, or one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.methods.base import Method

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View


def ranks_of(ranking: np.ndarray) -> np.ndarray:
    """Return the rank, from 1, of every item.

    Examples
    --------
    >>> ranks_of(np.array([[2, 0, 1]])).tolist()
    [[2, 3, 1]]
    """
    ranks = np.empty(ranking.shape, np.int64)
    np.put_along_axis(ranks, ranking.astype(np.int64), np.arange(1, ranking.shape[1] + 1)[None], axis=1)
    return ranks


def scores_of(ranking: np.ndarray) -> np.ndarray:
    """Return scores [nq, n] that give exactly this order: n for the first item, 1 for the last."""
    return (ranking.shape[1] + 1 - ranks_of(ranking)).astype(np.float64)


def min_max(scores: np.ndarray) -> np.ndarray:
    """Return every row scaled to [0, 1] by its finite values; a constant row and -inf become 0 (as in ranx)."""
    finite = np.isfinite(scores)
    low = np.where(finite, scores, np.inf).min(axis=1, keepdims=True)
    high = np.where(finite, scores, -np.inf).max(axis=1, keepdims=True)
    varies = finite & (high > low)
    with np.errstate(invalid="ignore"):
        return np.divide(scores - low, high - low, out=np.zeros(scores.shape), where=varies)


@dataclass(frozen=True)
class _Fusion(Method):
    branches: tuple[Method, ...]
    sign: ClassVar[str]
    family: ClassVar[str] = "fusion"

    @property
    def name(self) -> str:
        return self.sign.join(branch.name for branch in self.branches)

    def fit(self, view: View) -> tuple[Any, ...]:
        return tuple(branch.fit(view) for branch in self.branches)


@dataclass(frozen=True)
class ReciprocalRank(_Fusion):
    """RRF (Cormack et al.): the sum over branches of 1 / (k + rank), ranks from 1 within the corpus of this level.

    k = 60 is the usual constant; READ-Bench's is not published. An item that a branch does not return would add 0.
    """

    k: int = 60
    sign: ClassVar[str] = "|"
    source: ClassVar[str] = "reciprocal ranks: Cormack et al. 2009"

    def score(self, view: View, fitted: tuple[Any, ...]) -> np.ndarray:
        pairs = zip(self.branches, fitted, strict=True)
        ranks = [ranks_of(view.rank(branch.score(view, state))) for branch, state in pairs]
        return np.sum([1.0 / (self.k + r) for r in ranks], axis=0)


@dataclass(frozen=True)
class WeightedSum(_Fusion):
    """Scores of each branch are scaled to [0, 1] per query and summed with equal weights (ours) or ``weights``."""

    weights: tuple[float, ...] = ()
    sign: ClassVar[str] = "~"
    source: ClassVar[str] = "weighted sum of scaled scores, as in ranx; weights ours"

    def score(self, view: View, fitted: tuple[Any, ...]) -> np.ndarray:
        weights = self.weights or (1.0 / len(self.branches),) * len(self.branches)
        scaled = [min_max(branch.score(view, state)) for branch, state in zip(self.branches, fitted, strict=True)]
        return np.sum([w * s for w, s in zip(weights, scaled, strict=True)], axis=0)


@dataclass(frozen=True)
class Cascade(_Fusion):
    """The first ``first`` items of one branch are reordered by the next branch, the rest stays (100: ours)."""

    first: int = 100
    sign: ClassVar[str] = ">"
    source: ClassVar[str] = "cascade; first 100: ours"

    def score(self, view: View, fitted: tuple[Any, ...]) -> np.ndarray:
        order = view.rank(self.branches[0].score(view, fitted[0])).astype(np.int64)
        for branch, state in zip(self.branches[1:], fitted[1:], strict=True):
            head = order[:, : self.first]
            place = np.take_along_axis(ranks_of(view.rank(branch.score(view, state))), head, axis=1)
            order[:, : self.first] = np.take_along_axis(head, np.argsort(place, axis=1), axis=1)
        return scores_of(order)
