"""Embedders turn a window into a vector and compare by cosine. Normal-Residual removes the normal part first."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.task.supervision import Supervision

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View


@dataclass(frozen=True)
class Vectors:
    """Unit vectors, float64: queries [nq, d], the corpus of this level [n, d] and the normal reference [r, d]."""

    queries: np.ndarray
    corpus: np.ndarray
    reference: np.ndarray

    def cosine(self) -> np.ndarray:
        """Return the cosines of queries and corpus, [nq, n]; a zero vector has cosine 0 with everything."""
        return np.asarray(self.queries @ self.corpus.T)

    def gram(self) -> np.ndarray:
        """Return the cosines among the corpus, [n, n]."""
        return np.asarray(self.corpus @ self.corpus.T)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Return the rows of ``vectors`` [n, d] divided by their Euclidean norm; a row of (nearly) zero stays zero."""
    norm = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, norm, out=np.zeros(vectors.shape), where=norm > 1e-12)


@dataclass(frozen=True)
class Embedder(Method):
    """Scores by cosine of unit vectors; rerankers use the same vectors."""

    family: ClassVar[str] = "embedding"

    def vectors(self, view: View) -> Vectors:
        """Return the unit vectors at this level; anything learnt for them is learnt from the corpus of this level."""
        state = view.seed if self.is_stochastic() else None
        return view.at_level(f"{self.key()} {state}", lambda: self.embed(view))

    @abstractmethod
    def embed(self, view: View) -> Vectors:
        """Compute the unit vectors of queries and corpus."""

    def gram(self, view: View) -> np.ndarray:
        """Return the cosines among the corpus of this level, [n, n]. Do not change the array."""
        state = view.seed if self.is_stochastic() else None
        return view.at_level(f"gram {self.key()} {state}", lambda: self.vectors(view).gram())

    def fit(self, view: View) -> Vectors:
        return self.vectors(view)

    def score(self, view: View, fitted: Any) -> np.ndarray:
        return self.vectors(view).cosine()


@dataclass(frozen=True)
class NormalResidual(Embedder):
    """Normal-Residual (READ-Bench, A.2.3): the part of a window that normal operation near it does not explain.

    From each unit vector the mean of its ``k`` most similar unit vectors of the normal reference is subtracted;
    residuals are scaled to unit length and compared by cosine. With fewer than ``k`` normals all are used; with none
    this is the plain cosine; a residual of zero has cosine 0. The order of the normalisations is our reading of the
    paper.
    """

    embedder: Embedder
    k: int = 30
    source: ClassVar[str] = "READ-Bench, A.2.3"
    supervision: ClassVar[Supervision] = Supervision.NORMALS

    @property
    def name(self) -> str:
        return f"{self.embedder.name}+NR"

    def embed(self, view: View) -> Vectors:
        plain = self.embedder.vectors(view)
        return Vectors(*(residual(v, plain.reference, self.k) for v in (plain.queries, plain.corpus, plain.reference)))


def residual(vectors: np.ndarray, normals: np.ndarray, k: int) -> np.ndarray:
    """Return the unit residuals [n, d] of unit ``vectors`` [n, d] against unit ``normals`` [r, d]."""
    if not len(normals):
        return vectors
    k = min(k, len(normals))
    nearest = np.argsort(-(vectors @ normals.T), axis=1, kind="stable")[:, :k]
    share = np.zeros((len(vectors), len(normals)))
    np.put_along_axis(share, nearest, 1.0 / k, axis=1)
    return unit(vectors - share @ normals)
