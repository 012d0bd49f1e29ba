"""Euclidean distance, step against step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit, prange

from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.task.task import View
from readbench_data.evaluation.task.windows import Aligned


@dataclass(frozen=True)
class Euclidean(Method):
    """Root of the mean over channels of the squared differences summed over time, in float64.

    Channels are standardised over the corpus (``Task.scale``). Windows of other lengths are interpolated to the length
    of the task. This is the Euclidean distance divided by sqrt(C); a channel that a window lacks is zero.
    """

    family: ClassVar[str] = "distance"

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
    out = np.empty((len(queries), len(corpus)))
    _euclidean(by_channel(queries), by_channel(corpus), out)
    return out


def by_channel(windows: Aligned) -> np.ndarray:
    """Return the values as float32 [n, C, T], contiguous."""
    return np.ascontiguousarray(windows.values.transpose(0, 2, 1))


@njit(parallel=True, cache=True, fastmath={"reassoc", "contract"})
def _euclidean(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    nq, channels, steps = x.shape
    for n in prange(len(y)):
        for q in range(nq):
            total = 0.0
            for c in range(channels):
                for t in range(steps):
                    d = np.float64(x[q, c, t]) - np.float64(y[n, c, t])
                    total += d * d
            out[q, n] = np.sqrt(total / max(channels, 1))
