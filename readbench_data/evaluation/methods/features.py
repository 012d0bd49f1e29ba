"""A classical embedder that needs no weights: summary features of every channel, concatenated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from readbench_data.evaluation.methods.embedding import Embedder, Vectors, unit

if TYPE_CHECKING:
    from readbench_data.evaluation.task.task import View
    from readbench_data.evaluation.task.windows import Aligned

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LAGS = (1, 2, 4, 8, 16)
BANDS = 6
PARTS = 4
CHUNK_VALUES = 1 << 17
"""Values that a thread turns into features at a time (1 MiB as float64: the cache holds them)."""


@dataclass(frozen=True)
class Features(Embedder):
    """Level, spread, shape, change, memory and spectrum of every channel (all ours): about 30 numbers per channel.

    Channels are standardised over the corpus first, and then each feature, again at every level and never with a query.
    Features beyond ``clip`` deviations are clipped, so that one outlier does not dominate the vector. Channels are
    concatenated, not averaged: which sensor deviates is part of the fault. A channel that a window lacks is zero.
    """

    clip: float = 5.0
    source: ClassVar[str] = "ours"

    @property
    def name(self) -> str:
        return "Features"

    def embed(self, view: View) -> Vectors:
        task = view.task
        key = f"{type(self).__module__} {self.code_version()}"
        queries = view.shared(f"{key} queries", lambda: channel_features(task.aligned_queries))
        whole = view.shared(f"{key} corpus", lambda: channel_features(task.aligned_corpus))
        place = {entry: i for i, entry in enumerate(task.corpus.entry_ids)}
        at = [place.get(entry, -1) for entry in task.reference.entry_ids]
        if -1 not in at:  # the normal reference is part of the largest corpus
            reference, reference_present = whole[at], task.aligned_corpus.present[at]
        else:
            reference = view.shared(f"{key} reference", lambda: channel_features(task.aligned_reference))
            reference_present = task.aligned_reference.present
        corpus, present = whole[view.members], task.aligned_corpus.present[view.members]
        count = np.maximum(present.sum(axis=0), 1)[:, None]
        mean = _masked(corpus, present).sum(axis=0, dtype=np.float64) / count
        centred = _masked(corpus - mean, present)
        sd = np.sqrt(np.square(centred, out=centred).sum(axis=0) / count)
        varies = sd > 1e-6
        divisor = np.where(varies, sd, np.inf)

        def standard(features: np.ndarray, has: np.ndarray) -> np.ndarray:
            scaled = features - mean
            scaled /= divisor
            scaled = _masked(np.clip(scaled, -self.clip, self.clip, out=scaled), has)
            return unit(scaled.reshape(len(features), scaled.shape[1] * scaled.shape[2]))

        return Vectors(
            standard(queries, task.aligned_queries.present),
            standard(corpus, present),
            standard(reference, reference_present),
        )


def _masked(features: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return features [n, C, F] with zeros where ``present`` [n, C] is false."""
    return features if present.all() else np.asarray(features * present[:, :, None])


def channel_features(windows: Aligned) -> np.ndarray:
    """Return the features of every window and channel: float32 [n, C, F]."""
    import numba

    n, t, c = windows.values.shape
    step = max(1, CHUNK_VALUES // max(1, t * c))
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        blocks = list(pool.map(lambda i: _features(windows.values[i : i + step]), range(0, n, step)))
    width = _features(np.zeros((1, t, c), np.float32)).shape[2]
    return np.concatenate(blocks) if blocks else np.empty((0, c, width), np.float32)


def _features(values: np.ndarray) -> np.ndarray:
    rows = values.transpose(0, 2, 1).copy()  # always a copy: it is sorted
    x = rows.astype(np.float64)
    x += 0.0  # -0.0 becomes 0.0: equal values have equal features
    rows.sort(axis=2)
    t = x.shape[2]
    mean = x.mean(axis=2)
    centred = x - mean[:, :, None]
    square = centred * centred
    sd = np.sqrt(square.sum(axis=2) / t)
    scaled = centred / np.where(sd > 1e-9, sd, np.inf)[:, :, None]
    np.multiply(scaled, scaled, out=square)
    below = centred < 0
    change = np.zeros_like(x)
    np.abs(np.subtract(x[:, :, 1:], x[:, :, :-1], out=change[:, :, :-1]), out=change[:, :, :-1])
    time = np.linspace(-1.0, 1.0, t)
    waves = np.fft.rfft(scaled, axis=2)[:, :, 1:]
    power = (waves.real**2 + waves.imag**2) / t**2
    columns = [
        mean,
        np.log(sd + 1e-3),
        *quantiles(rows, QUANTILES),
        rows[:, :, 0],
        rows[:, :, -1],
        *(part.mean(axis=2) for part in np.array_split(x, min(PARTS, t), axis=2)),
        centred @ time / t,
        np.einsum("nct,nct->nc", square, scaled) / t,
        np.log(np.einsum("nct,nct->nc", square, square) / t + 1.0),
        np.log(change.mean(axis=2) + 1e-3),
        np.log(change.max(axis=2) + 1e-3),
        1.0 - np.count_nonzero(change, axis=2) / t,
        np.count_nonzero(below[:, :, 1:] != below[:, :, :-1], axis=2) / max(t - 1, 1),
        *(np.einsum("nct,nct->nc", scaled[:, :, lag:], scaled[:, :, : t - lag]) / t for lag in LAGS if lag < t),
        *(np.log(power[:, :, lo:hi].sum(axis=2) + 1e-4) for lo, hi in _octaves(power.shape[2])),
    ]
    return np.stack(columns, axis=2).astype(np.float32)


def quantiles(ordered: np.ndarray, shares: tuple[float, ...]) -> list[np.ndarray]:
    """Return the quantiles, each float64 [...], of values that are sorted along the last axis.

    Equal to ``np.quantile`` (linear) to the last bit; it takes most of the time that all features
    together take, because it partitions instead of sorting.
    """
    found = []
    for share in shares:
        position = (ordered.shape[-1] - 1) * share
        first = int(position)
        weight = position - first
        left = ordered[..., first].astype(np.float64)
        right = ordered[..., min(first + 1, ordered.shape[-1] - 1)].astype(np.float64)
        if weight >= 0.5:  # numpy's way to interpolate, which is exact at both ends
            found.append(right - (right - left) * (1.0 - weight))
        else:
            found.append(left + (right - left) * weight)
    return found


def _octaves(n: int) -> list[tuple[int, int]]:
    """Return bands of n frequencies, from the highest down, each half as wide; the last takes the rest."""
    bands: list[tuple[int, int]] = []
    hi = n
    while hi > 0 and len(bands) < BANDS - 1:
        bands.append((hi // 2, hi))
        hi //= 2
    return [*bands, (0, hi)] if hi else bands
