"""SAX and SFA words scored with BM25: a window is a document, its sliding windows are its words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
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
from readbench_data.evaluation.task.task import View
from readbench_data.evaluation.task.windows import Aligned, z_normalise

FLAT = 0.01
"""Sliding windows whose deviation is below this share of the whole window's are flat (the usual SAX guard)."""

TURN = 16
"""Channels a thread takes at a time at most: their values lie side by side in memory."""


@dataclass(frozen=True)
class _Words(Method):
    """One BM25 index per channel over the corpus of this level; scores are averaged over the channels.

    A channel that a window lacks has no words and adds nothing: a line of zeros would be a word that matches flat
    stretches of other windows. Windows are z-normalised by channel. All defaults are ours, because the paper prints
    none.

    ``fraction``: length of the sliding window as a share of the window, rounded to a multiple of the word length.
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
        channels = range(len(queries.channels))
        threads = numba.get_num_threads()
        size = max(1, min(TURN, -(-len(channels) // threads)))
        turns = [channels[start : start + size] for start in channels[::size]]
        with ThreadPoolExecutor(threads) as pool:
            for scored in pool.map(lambda turn: list(self.turn(queries, corpus, turn)), turns):
                for at, part in scored:  # in the order of the channels, however many threads there are
                    total[at] += part
        return total / max(len(channels), 1)

    def turn(
        self, queries: Aligned, corpus: Aligned, channels: range
    ) -> Iterator[tuple[tuple[np.ndarray, ...], np.ndarray]]:
        """For each of some channels: which pairs have it (as an index of [nq, n]), and their scores over it."""
        x, y = (z_normalise(w.values[:, :, channels.start : channels.stop]) for w in (queries, corpus))
        for i, c in enumerate(channels):
            asked, held = np.flatnonzero(queries.present[:, c]), np.flatnonzero(corpus.present[:, c])
            yield np.ix_(asked, held), self.channel(x[asked, :, i], y[held, :, i])

    def channel(self, queries: np.ndarray, corpus: np.ndarray) -> np.ndarray:
        """Return the scores over one channel of the z-normalised windows [nq, T] and [n, T] that have it."""
        if not len(queries) or not len(corpus):
            return np.zeros((len(queries), len(corpus)))
        asked, documents = self.words(queries, corpus)
        return bm25(numerosity_reduced(documents), numerosity_reduced(asked), self.k1, self.b)

    @abstractmethod
    def words(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of one channel's queries [nq, T] and corpus [n, T]; bins are learnt from the corpus only."""

    def sizes(self, length: int) -> tuple[int, int]:
        """Return the lengths of the sliding window and of a word for windows of ``length`` steps."""
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
