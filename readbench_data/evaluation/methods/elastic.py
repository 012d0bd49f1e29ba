"""DTW and SBD, over independent channels (I) or all channels at once (D)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from readbench_data.evaluation.kernels.dtw_dependent import dtw_dependent
from readbench_data.evaluation.kernels.dtw_independent import dtw_independent
from readbench_data.evaluation.kernels.sbd import sbd_dependent, sbd_independent
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.task.task import View
from readbench_data.evaluation.task.windows import Aligned, z_normalise

BAND = 0.1
"""Sakoe-Chiba band as a fraction of the length (ours: READ-Bench's band is not published)."""


@dataclass(frozen=True)
class _Pairwise(Method):
    """Distances between pairs of windows, negated; ``precision`` is "float32" or "float64"."""

    precision: str = "float32"
    family: ClassVar[str] = "distance"

    def score(self, view: View, fitted: Any) -> np.ndarray:
        return -view.pairwise(self.key(), self.distances)

    @abstractmethod
    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        """float64 [nq, n]; inf where a pair has no channel in common."""

    @property
    def dtype(self) -> type:
        return np.float64 if self.precision == "float64" else np.float32


@dataclass(frozen=True)
class DTWI(_Pairwise):
    """DTW channel by channel, squared costs summed over the common channels and divided by their number.

    Values are standardised by channel over the corpus, as for ED. The costs are not rooted before they are
    summed (aeon's convention): the sum of roots would rank differently.
    """

    band: float = BAND

    @property
    def name(self) -> str:
        return "DTW-I"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        radius = int(self.band * queries.values.shape[1])
        total = dtw_independent(queries.values, corpus.values, radius, self.dtype, queries.present, corpus.present)
        return _over_common(total, queries, corpus)


@dataclass(frozen=True)
class DTWD(_Pairwise):
    """DTW along one path for all common channels, squared cost divided by their number."""

    band: float = BAND

    @property
    def name(self) -> str:
        return "DTW-D"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        radius = int(self.band * queries.values.shape[1])

        def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
            one = x.shape[2] == 1  # one channel is DTW-I: its costs never leave the registers
            return (dtw_independent if one else dtw_dependent)(x, y, radius, self.dtype)

        return _over_common(_by_channel_set(queries, corpus, distance), queries, corpus)


@dataclass(frozen=True)
class SBDI(_Pairwise):
    """Mean over the common channels of the shape-based distance; every window z-normalised by channel."""

    @property
    def name(self) -> str:
        return "SBD-I"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        x, y = z_normalise(queries.values), z_normalise(corpus.values)
        return sbd_independent(x, y, self.dtype, queries.present, corpus.present)


@dataclass(frozen=True)
class SBDD(_Pairwise):
    """Shape-based distance at one common shift; every window z-normalised by channel."""

    @property
    def name(self) -> str:
        return "SBD-D"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        x = Aligned(z_normalise(queries.values), queries.present, queries.channels)
        y = Aligned(z_normalise(corpus.values), corpus.present, corpus.channels)
        return _by_channel_set(x, y, lambda a, b: sbd_dependent(a, b, self.dtype))


def _over_common(total: np.ndarray, queries: Aligned, corpus: Aligned) -> np.ndarray:
    common = queries.present.astype(np.float64) @ corpus.present.astype(np.float64).T
    return np.divide(total, common, out=np.full(total.shape, np.inf), where=common > 0)


def _by_channel_set(
    queries: Aligned, corpus: Aligned, distance: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    """``distance`` over the channels both have, one call for every pair of channel sets; inf without any."""
    out = np.full((len(queries), len(corpus)), np.inf)
    query_sets, query_set = np.unique(queries.present, axis=0, return_inverse=True)
    corpus_sets, corpus_set = np.unique(corpus.present, axis=0, return_inverse=True)
    for i, x_has in enumerate(query_sets):
        for j, y_has in enumerate(corpus_sets):
            both = x_has & y_has
            if both.any():
                rows = np.flatnonzero(query_set.ravel() == i)
                columns = np.flatnonzero(corpus_set.ravel() == j)
                x, y = queries.values[rows][:, :, both], corpus.values[columns][:, :, both]
                out[np.ix_(rows, columns)] = distance(x, y)
    return out
