"""Rerankers: the first items of a ranking (the candidates) in a new order, with or without their labels.

All formulas except GPC's are ours: the paper names them without printing them. Normal windows are candidates like any
others: a reranker that reads labels sees Normal as one class among the candidates, an item scores by its own class, and
no class is put last by rule. So pollution lowers the scores of these methods, as in the paper. The variant that puts
Normal candidates last, because a Normal window is never relevant, is named ``+GPC-faults`` and so on; it is ours.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.embedding import Embedder, Vectors, unit
from readbench_data.evaluation.methods.fusion import scores_of
from readbench_data.evaluation.task.supervision import Supervision

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View

CANDIDATES = 100
"""Items that are reordered (ours)."""


@dataclass(frozen=True)
class Reranker(Method):
    """Reorders the first ``candidates`` items of ``base``; equal scores keep the order of ``base``; the rest stays.

    ``space`` gives the vectors: the embedder of the base where it has one, else Features (so ``DTW-I+GPC`` classifies
    on Features). ``faults_first`` puts Normal candidates last.
    """

    base: Method
    space: Embedder
    candidates: int = CANDIDATES
    faults_first: bool = False
    code: ClassVar[str]
    family: ClassVar[str] = "rerank"
    supervision: ClassVar[Supervision] = Supervision.NEIGHBOUR_LABELS

    @property
    def name(self) -> str:
        return f"{self.base.name}+{self.code}{FAULTS_FIRST if self.faults_first else ''}"

    def fit(self, view: View) -> tuple[Any, Vectors]:
        return self.base.fit(view), self.space.vectors(view)

    def score(self, view: View, fitted: tuple[Any, Vectors]) -> np.ndarray:
        state, vectors = fitted
        order = view.rank(self.base.score(view, state)).astype(np.int64)
        items = order[:, : self.candidates]
        values = self.item_scores(view, vectors, items)
        if self.faults_first:
            values = np.where(view.corpus_labels[items] == NORMAL, -np.inf, values)
        order[:, : self.candidates] = np.take_along_axis(items, np.argsort(-values, axis=1, kind="stable"), axis=1)
        return scores_of(order)

    @abstractmethod
    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        """Return the scores of each query's candidates, float [nq, m].

        ``items`` int [nq, m] are their positions in the corpus, best first.
        """


@dataclass(frozen=True)
class GPC(Reranker):
    """Gaussian-process classifier fitted on the labelled candidates: an item scores the probability of its class.

    Candidates of one class have equal scores and so keep the order of the base among themselves. The vectors are those
    of ``space``; Normal is a class like any other.

    Kernel exp(-|a - b|^2 / (2 length_scale^2)) on unit vectors, no optimiser (scikit-learn's would change the kernel
    from query to query at 6 to 17 times the cost). The length scale is scikit-learn's default,
    chosen before any score was seen; on unit vectors a shorter one (0.5) separates many classes better, which the user
    can set and this benchmark does not tune.
    One class among the candidates: the order stays.
    """

    length_scale: float = 1.0
    code: ClassVar[str] = "GPC"
    source: ClassVar[str] = "Rasmussen and Williams 2006; READ-Bench"

    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        from readbench_data.evaluation.kernels.gaussian_process import class_probabilities

        gram = self.space.gram(view)
        norms = np.diag(gram)
        query_norms = (vectors.queries**2).sum(axis=1)
        cosine = np.take_along_axis(vectors.cosine(), items, axis=1)
        among = norms[items][:, :, None] + norms[items][:, None, :] - 2.0 * gram[items[:, :, None], items[:, None, :]]
        to_query = norms[items] + query_norms[:, None] - 2.0 * cosine
        labels = np.empty(items.shape, np.int64)
        n_classes = np.empty(len(items), np.int64)
        for q, names in enumerate(view.corpus_labels[items]):
            classes, labels[q] = np.unique(names, return_inverse=True)
            n_classes[q] = len(classes)
        precision = 0.5 / self.length_scale**2
        kernels = np.exp(-precision * np.maximum(among, 0.0))
        near = np.exp(-precision * np.maximum(to_query, 0.0))
        probabilities = class_probabilities(kernels, near, np.ones(len(items)), labels, n_classes)
        return np.take_along_axis(probabilities, labels, axis=1)


@dataclass(frozen=True)
class MajVote(Reranker):
    """An item scores the votes of its class among the first ``voters`` candidates; Normal is a class like any other."""

    voters: int = 10
    code: ClassVar[str] = "MajVote"
    source: ClassVar[str] = "named in READ-Bench; formula ours"

    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        labels = view.corpus_labels[items]
        return (labels[:, :, None] == labels[:, None, : self.voters]).sum(axis=2).astype(np.float64)


@dataclass(frozen=True)
class Purity(Reranker):
    """An item scores the share of its ``k`` nearest items of the whole corpus that carry its own label."""

    k: int = 10
    code: ClassVar[str] = "Purity"
    source: ClassVar[str] = "named in READ-Bench; formula ours"

    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        gram = self.space.gram(view).copy()
        np.fill_diagonal(gram, -np.inf)
        labels = view.corpus_labels
        k = min(self.k, len(labels) - 1)
        nearest = np.argsort(-gram, axis=1, kind="stable")[:, :k]
        purity = (labels[nearest] == labels[:, None]).sum(axis=1) / max(k, 1)
        return np.asarray(purity[items])


@dataclass(frozen=True)
class QPurity(Reranker):
    """Purity conditioned on the query: neighbours come from the query's own candidates.

    The share is weighted by the cosine (0 to 1) of each neighbour and the query.
    """

    k: int = 10
    code: ClassVar[str] = "QPurity"
    source: ClassVar[str] = "named in READ-Bench; formula ours"

    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        gram = self.space.gram(view)
        near = (1.0 + np.take_along_axis(vectors.cosine(), items, axis=1)) / 2.0
        labels = view.corpus_labels[items]
        k = min(self.k, items.shape[1] - 1)
        out = np.empty(items.shape)
        for q, own in enumerate(items):
            inside = gram[np.ix_(own, own)].copy()
            np.fill_diagonal(inside, -np.inf)
            nearest = np.argsort(-inside, axis=1, kind="stable")[:, :k]
            weight = near[q][nearest]
            same = labels[q][nearest] == labels[q][:, None]
            out[q] = (weight * same).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-12)
        return out


@dataclass(frozen=True)
class PRF(Reranker):
    """Pseudo-relevance feedback (Rocchio), without labels.

    The query's vector plus ``beta`` times the mean vector of the first ``feedback`` items is compared by cosine.
    """

    feedback: int = 10
    beta: float = 0.75
    code: ClassVar[str] = "PRF"
    source: ClassVar[str] = "Rocchio 1971; named in READ-Bench; formula ours"
    supervision: ClassVar[Supervision] = Supervision.NONE

    def item_scores(self, view: View, vectors: Vectors, items: np.ndarray) -> np.ndarray:
        centroid = vectors.corpus[items[:, : self.feedback]].mean(axis=1)
        moved = unit(vectors.queries + self.beta * centroid)
        return np.take_along_axis(moved @ vectors.corpus.T, items, axis=1)


FAULTS_FIRST = "-faults"
"""Suffix of the variants that put Normal candidates last (ours)."""

RERANKERS: dict[str, Callable[..., Reranker]] = {r.code: r for r in (GPC, MajVote, Purity, QPurity, PRF)}

VARIANTS: dict[str, Callable[..., Reranker]] = {
    f"{r.code}{FAULTS_FIRST}": partial(r, faults_first=True) for r in (GPC, MajVote, Purity, QPurity)
}
