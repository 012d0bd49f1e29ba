"""Rerankers: the first items of a ranking put in a new order, with or without the labels of those items.

All formulas except GPC's are ours: the paper names them without printing them. Normal windows of a pool go last
in every reranker that reads labels, since a Normal window is never relevant.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.kernels.gaussian_process import class_probabilities
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.embedding import Embedder, Vectors, unit
from readbench_data.evaluation.methods.fusion import scores_of
from readbench_data.evaluation.task.supervision import Supervision
from readbench_data.evaluation.task.task import View

POOL = 100
"""Items that are reordered (ours)."""


@dataclass(frozen=True)
class Reranker(Method):
    """Reorders the first ``pool`` items of ``base``; equal values keep the order of ``base``; the rest stays.

    ``space`` gives the vectors: the embedder of the base where it has one, else the default embedder.
    """

    base: Method
    space: Embedder
    pool: int = POOL
    code: ClassVar[str]
    family: ClassVar[str] = "rerank"
    supervision: ClassVar[Supervision] = Supervision.NEIGHBOUR_LABELS

    @property
    def name(self) -> str:
        return f"{self.base.name}+{self.code}"

    def fit(self, view: View) -> tuple[Any, Vectors]:
        return self.base.fit(view), self.space.vectors(view)

    def score(self, view: View, fitted: tuple[Any, Vectors]) -> np.ndarray:
        state, vectors = fitted
        order = view.rank(self.base.score(view, state)).astype(np.int64)
        pool = order[:, : self.pool]
        worth = self.worth(view, vectors, pool)
        if self.supervision == Supervision.NEIGHBOUR_LABELS:
            worth = np.where(view.corpus_labels[pool] == NORMAL, -np.inf, worth)
        order[:, : self.pool] = np.take_along_axis(pool, np.argsort(-worth, axis=1, kind="stable"), axis=1)
        return scores_of(order)

    @abstractmethod
    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        """A value [nq, m] for each item of each query's pool (positions [nq, m], best first): higher is better."""


@dataclass(frozen=True)
class GPC(Reranker):
    """Gaussian-process classifier fitted on the labelled pool: an item is worth the query's probability of its class.

    Kernel exp(-|a - b|^2 / (2 length_scale^2)) on unit vectors, no optimiser (scikit-learn's would change the kernel
    from pool to pool at 6 to 17 times the cost). The length scale is scikit-learn's default,
    chosen before any score was seen; on unit vectors a shorter one (0.5) tells many classes apart better, which is
    for the user to set, not for this benchmark to tune.
    One class in the pool: the order stays.
    """

    length_scale: float = 1.0
    code: ClassVar[str] = "GPC"

    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        gram = self.space.gram(view)
        norms = np.diag(gram)
        query_norms = (vectors.queries**2).sum(axis=1)
        cosine = np.take_along_axis(vectors.cosine(), pool, axis=1)
        among = norms[pool][:, :, None] + norms[pool][:, None, :] - 2.0 * gram[pool[:, :, None], pool[:, None, :]]
        to_query = norms[pool] + query_norms[:, None] - 2.0 * cosine
        labels = np.empty(pool.shape, np.int64)
        n_classes = np.empty(len(pool), np.int64)
        for q, names in enumerate(view.corpus_labels[pool]):
            classes, labels[q] = np.unique(names, return_inverse=True)
            n_classes[q] = len(classes)
        precision = 0.5 / self.length_scale**2
        kernels = np.exp(-precision * np.maximum(among, 0.0))
        near = np.exp(-precision * np.maximum(to_query, 0.0))
        probabilities = class_probabilities(kernels, near, np.ones(len(pool)), labels, n_classes)
        return np.take_along_axis(probabilities, labels, axis=1)


@dataclass(frozen=True)
class MajVote(Reranker):
    """An item is worth the votes its class gets among the first ``voters`` items of the pool; Normal has no vote."""

    voters: int = 10
    code: ClassVar[str] = "MajVote"

    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        labels = view.corpus_labels[pool]
        return (labels[:, :, None] == labels[:, None, : self.voters]).sum(axis=2).astype(np.float64)


@dataclass(frozen=True)
class Purity(Reranker):
    """An item is worth the share of its ``k`` nearest items of the whole corpus that carry its own label."""

    k: int = 10
    code: ClassVar[str] = "Purity"

    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        gram = self.space.gram(view).copy()
        np.fill_diagonal(gram, -np.inf)
        labels = view.corpus_labels
        k = min(self.k, len(labels) - 1)
        nearest = np.argsort(-gram, axis=1, kind="stable")[:, :k]
        purity = (labels[nearest] == labels[:, None]).sum(axis=1) / max(k, 1)
        return np.asarray(purity[pool])


@dataclass(frozen=True)
class QPurity(Reranker):
    """Purity conditioned on the query: the neighbours are looked for inside the query's own pool, and the share is
    weighted by how near (cosine, from 0 to 1) each neighbour is to the query."""

    k: int = 10
    code: ClassVar[str] = "QPurity"

    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        gram = self.space.gram(view)
        near = (1.0 + np.take_along_axis(vectors.cosine(), pool, axis=1)) / 2.0
        labels = view.corpus_labels[pool]
        k = min(self.k, pool.shape[1] - 1)
        out = np.empty(pool.shape)
        for q, items in enumerate(pool):
            inside = gram[np.ix_(items, items)].copy()
            np.fill_diagonal(inside, -np.inf)
            nearest = np.argsort(-inside, axis=1, kind="stable")[:, :k]
            weight = near[q][nearest]
            same = labels[q][nearest] == labels[q][:, None]
            out[q] = (weight * same).sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-12)
        return out


@dataclass(frozen=True)
class PRF(Reranker):
    """Pseudo-relevance feedback (Rocchio): the query's vector plus ``beta`` times the mean vector of the first
    ``feedback`` items, compared by cosine. Reads no label."""

    feedback: int = 10
    beta: float = 0.75
    code: ClassVar[str] = "PRF"
    supervision: ClassVar[Supervision] = Supervision.NONE

    def worth(self, view: View, vectors: Vectors, pool: np.ndarray) -> np.ndarray:
        centroid = vectors.corpus[pool[:, : self.feedback]].mean(axis=1)
        moved = unit(vectors.queries + self.beta * centroid)
        return np.take_along_axis(moved @ vectors.corpus.T, pool, axis=1)


RERANKERS: dict[str, type[Reranker]] = {r.code: r for r in (GPC, MajVote, Purity, QPurity, PRF)}
