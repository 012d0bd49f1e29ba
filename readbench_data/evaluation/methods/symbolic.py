"""SAX and SFA words scored with BM25: a window is a document, its sliding windows are its words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.kernels.bm25_defaults import K1, B
from readbench_data.evaluation.methods.base import Input, Method
from readbench_data.evaluation.task.windows import Aligned, z_normalise

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import Task, View

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
    input: ClassVar[Input] = Input.Z_NORMALISED

    def score(self, view: View, fitted: Any) -> np.ndarray:
        """Words are made once for all levels; idf, lengths and bins are those of the corpus of this level."""
        from readbench_data.evaluation.task.release_data import LEVELS

        scores = view.shared(self.key(), lambda: self.levels(view.task))
        return np.asarray(scores[LEVELS.index(view.rho)][:, view.members])

    def levels(self, task: Task) -> np.ndarray:
        """Return the scores at every level, float64 [levels, nq, n of the largest corpus]; 0 for items not in it."""
        import numba

        from readbench_data.evaluation.task.release_data import LEVELS

        queries, corpus = task.aligned_queries, task.aligned_corpus
        members = np.zeros((len(LEVELS), len(corpus)), bool)
        for inside, rho in zip(members, LEVELS, strict=True):
            inside[task.labels.members(rho)] = True
        total = np.zeros((len(LEVELS), len(queries), len(corpus)))
        channels = range(len(queries.channels))
        threads = numba.get_num_threads()
        size = max(1, min(TURN, -(-len(channels) // threads)))
        turns = [channels[start : start + size] for start in channels[::size]]
        with ThreadPoolExecutor(threads) as pool:
            for scored in pool.map(lambda turn: list(self.turn(queries, corpus, members, turn)), turns):
                for level, at, part in scored:  # in the order of the channels, however many threads there are
                    total[level][at] += part
        return total / max(len(channels), 1)

    def turn(
        self, queries: Aligned, corpus: Aligned, members: np.ndarray, channels: range
    ) -> Iterator[tuple[int, tuple[np.ndarray, ...], np.ndarray]]:
        """For each of some channels and each level: which pairs have it (an index of [nq, n]), and their scores."""
        from readbench_data.evaluation.kernels.bm25 import bm25

        x, y = (z_normalise(w.values[:, :, channels.start : channels.stop]) for w in (queries, corpus))
        for i, c in enumerate(channels):
            asked, held = np.flatnonzero(queries.present[:, c]), np.flatnonzero(corpus.present[:, c])
            if not len(asked) or not len(held):
                continue
            prepared = self.prepared(x[asked, :, i], y[held, :, i])
            known: dict[bytes, tuple[tuple[np.ndarray, ...], np.ndarray]] = {}
            for level, inside in enumerate(members[:, held]):
                if inside.any():
                    same = inside.tobytes()  # without Normal windows all levels have one corpus
                    if same not in known:
                        words, documents = self.words(*prepared, inside)
                        known[same] = np.ix_(asked, held[inside]), bm25(documents, words, self.k1, self.b)
                    yield level, *known[same]

    @abstractmethod
    def prepared(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what no level changes, for one channel of the z-normalised queries [nq, T] and whole corpus [n, T]."""

    @abstractmethod
    def words(self, queries: np.ndarray, corpus: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of the queries and of the corpus ``inside`` a level (bool [n]), from what is prepared."""

    def sizes(self, length: int) -> tuple[int, int]:
        """Return the lengths of the sliding window and of a word for windows of ``length`` steps."""
        word = min(self.word, length)
        return word * max(1, round(self.fraction * length / word)), word


@dataclass(frozen=True)
class SAXBM25(_Words):
    """Piecewise aggregate approximation and Gaussian breakpoints."""

    source: ClassVar[str] = "SAX: Lin et al. 2007; BM25: Robertson and Zaragoza 2009; READ-Bench"

    @property
    def name(self) -> str:
        return "SAX-BM25"

    def prepared(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from readbench_data.evaluation.kernels.words import numerosity_reduced, sax_words

        window, word = self.sizes(corpus.shape[1])
        x, y = (numerosity_reduced(sax_words(s, window, word, self.alphabet, FLAT)) for s in (queries, corpus))
        return x, y

    def words(self, queries: np.ndarray, corpus: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return queries, corpus[inside]


@dataclass(frozen=True)
class SFABM25(_Words):
    """Low Fourier coefficients of each sliding window, binned at quantiles of this level's corpus."""

    source: ClassVar[str] = "SFA: Schaefer and Hoegqvist 2012; BM25: Robertson and Zaragoza 2009; READ-Bench"

    @property
    def name(self) -> str:
        return "SFA-BM25"

    def prepared(self, queries: np.ndarray, corpus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from readbench_data.evaluation.kernels.words import fourier_coefficients

        window, word = self.sizes(corpus.shape[1])
        x, y = (fourier_coefficients(s, window, word - word % 2, True, FLAT) for s in (queries, corpus))
        return x, y

    def words(self, queries: np.ndarray, corpus: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from readbench_data.evaluation.kernels.words import numerosity_reduced, quantile_breakpoints, sfa_words

        held = corpus[:, inside]
        cuts = quantile_breakpoints(held, self.alphabet)
        return numerosity_reduced(sfa_words(queries, cuts)), numerosity_reduced(sfa_words(held, cuts))
