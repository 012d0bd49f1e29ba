"""SAX and SFA words scored with BM25: a window is a document, its sliding windows are its words."""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np

from readbench_data.evaluation.kernels.bm25 import K1, B, bm25
from readbench_data.evaluation.kernels.words import (
    fourier_coefficients,
    numerosity_reduced,
    quantile_breakpoints,
    sax_words,
    sfa_words,
)
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.task import View
from readbench_data.evaluation.windows import Aligned, z_normalise

FLAT = 0.01
"""Sliding windows whose deviation is below this share of the whole window's are flat (the usual SAX guard)."""


TURN = 32
"""Channels worked on at a time, each by one thread: one hand-over for all its small steps."""


@dataclass(frozen=True)
class _Words(Method):
    """One BM25 index a channel, over the corpus of this level; scores summed over the common channels and divided
    by their number. Windows are z-normalised by channel. All defaults are ours: READ-Bench's are not published.

    ``fraction``: sliding window as a share of the length, made a multiple of the word length.
    """

    fraction: float = 1 / 8
    word: int = 8
    alphabet: int = 4
    k1: float = K1
    b: float = B
    family: ClassVar[str] = "symbolic"

    def score(self, view: View, fitted: Any) -> np.ndarray:
        queries, corpus = view.queries, view.corpus
        total = np.zeros((len(queries), len(corpus)))
        common = np.zeros_like(total)
        channels = range(len(queries.channels))
        with ThreadPoolExecutor(numba.get_num_threads()) as pool:
            for start in channels[::TURN]:
                turn = channels[start : start + TURN]
                x, y = _by_channel(queries, turn), _by_channel(corpus, turn)
                has = [(queries.present[:, c], corpus.present[:, c]) for c in turn]
                asked = [a[p] for a, (p, _) in zip(x, has, strict=True)]
                documents = [b[q] for b, (_, q) in zip(y, has, strict=True)]
                scored = pool.map(self.channel, asked, documents)
                for (p, q), part in zip(has, scored, strict=True):
                    at = np.ix_(p, q)
                    total[at] += part
                    common[at] += 1
        return np.divide(total, common, out=np.full(total.shape, -np.inf), where=common > 0)

    def channel(self, queries: np.ndarray, corpus: np.ndarray) -> np.ndarray:
        """Scores over one channel of the z-normalised windows [nq, T] and [n, T] that have it."""
        if not len(queries) or not len(corpus):
            return np.zeros((len(queries), len(corpus)))
        asked, documents = self.words(queries, corpus)
        return bm25(numerosity_reduced(documents), numerosity_reduced(asked), self.k1, self.b)

    @abstractmethod
    def words(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Codes of one channel's queries [nq, T] and corpus [n, T]; anything learnt is learnt from the corpus."""

    def sizes(self, length: int) -> tuple[int, int]:
        """Sliding window and word length for windows of ``length`` steps."""
        word = min(self.word, length)
        return word * max(1, round(self.fraction * length / word)), word


@dataclass(frozen=True)
class SAXBM25(_Words):
    """Piecewise aggregate approximation and Gaussian breakpoints."""

    @property
    def name(self) -> str:
        return "SAX-BM25"

    def words(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        window, word = self.sizes(corpus.shape[1])
        x, y = (sax_words(s, window, word, self.alphabet, FLAT) for s in (queries, corpus))
        return x, y


@dataclass(frozen=True)
class SFABM25(_Words):
    """Low Fourier coefficients of each sliding window, binned at quantiles of this level's corpus."""

    @property
    def name(self) -> str:
        return "SFA-BM25"

    def words(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        window, word = self.sizes(corpus.shape[1])
        word -= word % 2
        x, y = (fourier_coefficients(s, window, word, True, FLAT) for s in (queries, corpus))
        cuts = quantile_breakpoints(y, self.alphabet)
        return sfa_words(x, cuts), sfa_words(y, cuts)


def _by_channel(windows: Aligned, channels: range) -> np.ndarray:
    """Windows of some channels, z-normalised: float32 [channels, n, T]."""
    values = windows.values[:, :, channels.start : channels.stop].transpose(2, 0, 1)
    return z_normalise(np.ascontiguousarray(values), axis=2)
