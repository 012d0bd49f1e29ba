"""Euclidean distance, step against step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from readbench_data.evaluation.methods.base import Method

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View
    from readbench_data.evaluation.task.windows import Aligned


@dataclass(frozen=True)
class Euclidean(Method):
    """Root of the mean over channels of the squared differences summed over time, in float64.

    Channels are standardised over the corpus (``Task.scale``). Windows of other lengths are interpolated to the length
    of the task. This is the Euclidean distance divided by sqrt(C); a channel that a window lacks is zero.
    """

    family: ClassVar[str] = "distance"
    source: ClassVar[str] = "textbook"

    @property
    def name(self) -> str:
        return "ED"

    def score(self, view: View, fitted: Any) -> np.ndarray:
        return -view.pairwise(self.key(), euclidean)


def euclidean(queries: Aligned, corpus: Aligned) -> np.ndarray:
    """Return the distances of every query and corpus window, float64 [nq, n].

    Differences are squared as they are (not through norms and a product), so equal windows are at distance 0 and equal
    pairs have equal bits, whatever their position in the corpus.
    """
    from readbench_data.evaluation.kernels.euclidean import root_mean_distances

    out = np.empty((len(queries), len(corpus)))
    root_mean_distances(by_channel(queries), by_channel(corpus), out)
    return out


def by_channel(windows: Aligned) -> np.ndarray:
    """Return the values as float32 [n, C, T], contiguous."""
    return np.ascontiguousarray(windows.values.transpose(0, 2, 1))
