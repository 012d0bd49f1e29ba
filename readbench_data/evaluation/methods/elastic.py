"""DTW and SBD, over independent channels (I) or all channels at once (D)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.methods.base import Input, Method
from readbench_data.evaluation.task.windows import Aligned, z_normalise

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View

BAND = 0.1
"""Sakoe-Chiba band as a fraction of the length (ours: READ-Bench's band is not published)."""


@dataclass(frozen=True)
class _Pairwise(Method):
    """Negated distances between pairs of windows.

    ``precision`` is "float32" or "float64".
    """

    precision: str = "float32"
    family: ClassVar[str] = "distance"

    def score(self, view: View, fitted: Any) -> np.ndarray:
        return -view.pairwise(self.key(), self.distances)

    @abstractmethod
    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        """Return the distances over all channels of the task, float64 [nq, n]."""

    @property
    def dtype(self) -> type:
        return np.float64 if self.precision == "float64" else np.float32


@dataclass(frozen=True)
class DTWI(_Pairwise):
    """DTW channel by channel: the squared costs are summed over the channels and divided by their number.

    Values are standardised by channel over the corpus, as for ED. No root is taken before the sum (aeon's convention):
    the sum of roots would rank differently.
    """

    band: float = BAND
    source: ClassVar[str] = "Shokoohi-Yekta et al. 2017; band ours"

    @property
    def name(self) -> str:
        return "DTW-I"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        from readbench_data.evaluation.kernels.dtw_independent import dtw_independent

        radius = int(self.band * queries.values.shape[1])
        return dtw_independent(queries.values, corpus.values, radius, self.dtype) / _channels(queries)


@dataclass(frozen=True)
class DTWD(_Pairwise):
    """DTW along one path for all channels: squared cost divided by the number of channels."""

    band: float = BAND
    source: ClassVar[str] = "Shokoohi-Yekta et al. 2017; band ours"

    @property
    def name(self) -> str:
        return "DTW-D"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        from readbench_data.evaluation.kernels.dtw_dependent import dtw_dependent
        from readbench_data.evaluation.kernels.dtw_independent import dtw_independent

        radius = int(self.band * queries.values.shape[1])
        one = queries.values.shape[2] == 1  # with one channel this is DTW-I, which is faster
        distance = dtw_independent if one else dtw_dependent
        return distance(queries.values, corpus.values, radius, self.dtype) / _channels(queries)


@dataclass(frozen=True)
class SBDI(_Pairwise):
    """Mean over the channels of the shape-based distance; every window is z-normalised by channel."""

    input: ClassVar[Input] = Input.Z_NORMALISED
    source: ClassVar[str] = "Paparrizos and Gravano 2015"

    @property
    def name(self) -> str:
        return "SBD-I"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        from readbench_data.evaluation.kernels.sbd import sbd_independent

        x, y = z_normalise(queries.values), z_normalise(corpus.values)
        return sbd_independent(x, y, self.dtype)


@dataclass(frozen=True)
class SBDD(_Pairwise):
    """Shape-based distance at one common shift; every window is z-normalised by channel."""

    input: ClassVar[Input] = Input.Z_NORMALISED
    source: ClassVar[str] = "Paparrizos and Gravano 2015"

    @property
    def name(self) -> str:
        return "SBD-D"

    def distances(self, queries: Aligned, corpus: Aligned) -> np.ndarray:
        from readbench_data.evaluation.kernels.sbd import sbd_dependent

        return sbd_dependent(z_normalise(queries.values), z_normalise(corpus.values), self.dtype)


def _channels(windows: Aligned) -> int:
    return max(len(windows.channels), 1)
