"""Near duplicates: candidates by their sketches, then exact confirmation by their values.

The corpus sketches (64 floats, see ``fingerprint``) are grouped into cells around a centre. By the triangle inequality
on angles, a query has no neighbour in a cell if its angle to the centre exceeds the cell's radius plus the angle of
the threshold; such cells are skipped. The rest is compared by matrix products of bounded size: no pair that reaches
the threshold is missed, and memory is a few blocks on top of the sketches themselves.
Thresholds are ours: in most datasets, 95 % of the windows keep a cosine of 0.97 or more when shifted by three samples,
so the threshold on sketches is low and the values decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

CANDIDATE_COSINE = 0.97
"""Pairs of sketches with at least this cosine are candidates."""

SAME_CORRELATION = 0.999
"""Windows with at least this correlation are reported as near duplicates: 0.2 % of the energy may differ."""

_STILL = 1e-12
"""A channel with less energy per step than this does not change."""

_SMALL = 1e-6
_ROUGH = 1e-6
"""For the quick computation: the share of a channel's energy that each part of a window must have, and how far a value
may be from the exact one."""

_BLOCK = 4096
_ROUNDS = 4


@dataclass(frozen=True)
class Pairs:
    """Candidate pairs: ``query`` and ``corpus`` int64 [n] positions, ``cosine`` float32 [n]; by query, nearest first.

    ``compared``: pairs of sketches that were multiplied, out of ``possible``.
    """

    query: np.ndarray
    corpus: np.ndarray
    cosine: np.ndarray
    compared: int
    possible: int


def candidates(
    queries: np.ndarray, corpus: np.ndarray, threshold: float = CANDIDATE_COSINE, keep: int = 3, block: int = _BLOCK
) -> Pairs:
    """Return, for each query sketch (float32 [n][64], norm 1 or 0), its ``keep`` nearest corpus sketches with a cosine
    of at least ``threshold``. Sketches of norm 0 (constant windows) have no neighbours.

    BLAS uses one thread here: blocks are small, and waiting threads cost many times more than the products.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        return _nearest(queries, corpus, threshold, keep, block)


def _nearest(queries: np.ndarray, corpus: np.ndarray, threshold: float, keep: int, block: int) -> Pairs:
    query_at, corpus_at = (np.flatnonzero(np.einsum("ij,ij->i", s, s) > 0.5) for s in (queries, corpus))
    if not len(query_at) or not len(corpus_at):
        return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32), 0, 0)
    centres, cells, radii = _cells(corpus, corpus_at)
    reach = radii + np.arccos(threshold) + 1e-3
    best = np.full((len(query_at), keep), -np.inf, np.float32)
    where = np.full((len(query_at), keep), -1, np.int64)
    compared = 0
    for first in range(0, len(query_at), block):
        rows = np.arange(first, min(first + block, len(query_at)))
        own = queries[query_at[rows]]
        near = np.arccos(np.clip(own @ centres.T, -1, 1)) <= reach
        for cell, members in enumerate(cells):
            asking = np.flatnonzero(near[:, cell])
            compared += len(asking) * len(members)
            for start in range(0, len(members) if len(asking) else 0, block):
                others = members[start : start + block]
                products = own[asking] @ corpus[others].T
                hit = np.flatnonzero(products.max(axis=1) >= np.maximum(threshold, best[rows[asking], -1]))
                if len(hit):
                    _take_best(products[hit], others, best, where, rows[asking[hit]])
    row, rank = np.nonzero(best >= threshold)
    query, other, cosine = query_at[row], where[row, rank], best[row, rank]
    order = np.lexsort((other, -cosine, query))
    return Pairs(query[order], other[order], cosine[order], compared, len(query_at) * len(corpus_at))


def _take_best(products: np.ndarray, others: np.ndarray, best: np.ndarray, where: np.ndarray, hit: np.ndarray) -> None:
    """Merge a block of products into the nearest neighbours so far (in place)."""
    keep = best.shape[1]
    top = min(keep, products.shape[1])
    nearest = np.argpartition(-products, top - 1, axis=1)[:, :top]
    value = np.concatenate([best[hit], np.take_along_axis(products, nearest, 1)], axis=1)
    place = np.concatenate([where[hit], others[nearest]], axis=1)
    order = np.argsort(-value, axis=1, kind="stable")[:, :keep]
    best[hit], where[hit] = np.take_along_axis(value, order, 1), np.take_along_axis(place, order, 1)


def _cells(sketches: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Centres [k][64] of norm 1, the positions in each cell, and each cell's radius as an angle [k].

    Spherical k-means on a sample, with sqrt(n) cells; a single cell where there are few sketches.
    """
    count = 1 if len(at) <= _BLOCK else int(np.sqrt(len(at)))
    sample = sketches[at[:: max(1, len(at) // (20 * count))]]
    centres = sample[:: max(1, len(sample) // count)][:count].copy()
    for _ in range(_ROUNDS):
        nearest = np.argmax(sample @ centres.T, axis=1)
        total = np.zeros_like(centres)
        np.add.at(total, nearest, sample)
        size = np.linalg.norm(total, axis=1, keepdims=True)
        centres = np.divide(total, size, out=centres, where=size > 0)
    cell, angle = np.empty(len(at), np.int64), np.empty(len(at), np.float32)
    for first in range(0, len(at), _BLOCK):
        cosines = sketches[at[first : first + _BLOCK]] @ centres.T
        own = np.argmax(cosines, axis=1)
        cell[first : first + _BLOCK] = own
        nearness = np.take_along_axis(cosines, own[:, None], 1)[:, 0]
        angle[first : first + _BLOCK] = np.arccos(np.clip(nearness, -1, 1))
    order = np.argsort(cell, kind="stable")
    bounds = np.searchsorted(cell[order], np.arange(len(centres) + 1))
    members = [at[order[a:b]] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]
    radii = np.zeros(len(centres), np.float32)
    np.maximum.at(radii, cell, angle)
    return centres, members, radii


def correlation(a: np.ndarray, b: np.ndarray, shift: int) -> tuple[float, int]:
    """Return the best correlation of two windows [T][C] over shifts of up to ``shift`` steps, and that shift of ``b``.

    Each channel is z-normalised over the steps the two windows share, so gain and offset do not matter. The value is
    the mean over the channels that change in at least one of them; a channel that changes in only one counts as 0.
    """
    return _best(a, b, range(-shift, shift + 1)) if a.shape == b.shape else (0.0, 0)


def _best(a: np.ndarray, b: np.ndarray, shifts: Iterable[int]) -> tuple[float, int]:
    """Return the best correlation over the given shifts, and its shift; of equally good ones the smallest shift."""
    best, at = -1.0, 0
    steps = len(a)
    for lag in sorted(shifts, key=abs):
        first = a[max(lag, 0) : steps + min(lag, 0)].astype(np.float64)
        second = b[max(-lag, 0) : steps - max(lag, 0)].astype(np.float64)
        first, second = first - first.mean(axis=0), second - second.mean(axis=0)
        energy_a, energy_b = (first * first).sum(axis=0), (second * second).sum(axis=0)
        moving = (energy_a > _STILL * len(first)) | (energy_b > _STILL * len(second))
        if not moving.any():
            continue
        size = np.sqrt(energy_a * energy_b)
        together = np.divide((first * second).sum(axis=0), size, out=np.zeros_like(size), where=size > 0)
        value = float(together[moving].mean())
        if value > best + 1e-9:
            best, at = value, lag
    return best, at


def promising(a: np.ndarray, b: np.ndarray, shift: int, least: float) -> list[int]:
    """Return the shifts at which two windows may have their best correlation, if that is at least ``least``.

    The correlations at all shifts come from one Fourier transform and prefix sums, which is many times quicker than one
    shift after the other and right to about 1e-9. Shifts within ``_ROUGH`` of the best one are returned, to be computed
    exactly. All shifts are returned where rounding could matter: where a channel hardly changes in a part of a window.
    """
    if a.shape != b.shape:
        return []
    every = list(range(-shift, shift + 1))
    (x, still_x), (y, still_y) = _centred(a), _centred(b)
    if x is None or y is None:
        return every
    steps, lags = x.shape[1], np.array(every)
    shared = steps - np.abs(lags)
    size = 1 << (steps + shift).bit_length()
    waves = np.fft.rfft(x, size) * np.fft.rfft(y, size).conj()
    products = np.fft.irfft(waves, size)[:, lags % size]
    sums = []
    for values, forward in ((x, True), (y, False)):
        start = np.maximum(lags if forward else -lags, 0)
        parts = (np.cumsum(np.pad(v, ((0, 0), (1, 0))), axis=1) for v in (values, values * values))
        sums.append([p[:, start + shared] - p[:, start] for p in parts])
    (sum_x, square_x), (sum_y, square_y) = sums
    energy_x, energy_y = square_x - sum_x**2 / shared, square_y - sum_y**2 / shared
    for energy, still in ((energy_x, still_x), (energy_y, still_y)):
        if (energy[~still] < _SMALL * steps).any():
            return every
    moving = ~(still_x & still_y)
    if not moving.any():
        return every
    scale = np.sqrt(np.where(still_x[:, None] | still_y[:, None], np.inf, energy_x * energy_y))
    value = ((products - sum_x * sum_y / shared) / scale)[moving].mean(axis=0)
    top = float(value.max())
    return [] if top < least - _ROUGH else lags[value >= top - _ROUGH].tolist()


def _centred(values: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the channels of a window [T][C] with mean 0 and variance 1, float64 [C][T], and which of them are constant
    (these are 0). None if a channel is so small or so large that the exact computation might judge it otherwise."""
    x = np.ascontiguousarray(values.T, dtype=np.float64)
    still = x.max(axis=1) == x.min(axis=1)
    x -= np.where(still, x[:, 0], x.mean(axis=1))[:, None]
    spread = np.sqrt((x * x).mean(axis=1))
    doubtful = np.where(still, np.abs(values[0]) > 1e8, spread * spread * _SMALL < 1e3 * _STILL)
    x /= np.where(still, 1.0, spread)[:, None]
    return (None if doubtful.any() else x), still


def confirmed(
    pairs: Pairs, values: Callable[[int, int], tuple[np.ndarray, np.ndarray]], shift: int | None = None
) -> list[tuple[int, int, float, int]]:
    """Return the best pair of each query whose values correlate: (query, corpus, correlation, shift).

    ``values(query, corpus)`` returns the two windows. ``shift``: by default a sixteenth of the length, at least 8.
    """
    best: dict[int, tuple[int, int, float, int]] = {}
    for query, other in zip(pairs.query.tolist(), pairs.corpus.tolist(), strict=True):
        a, b = values(query, other)
        reach = min(len(a) - 2, max(8, len(a) // 16)) if shift is None else shift
        value, lag = _best(a, b, promising(a, b, max(reach, 0), SAME_CORRELATION))
        if value >= SAME_CORRELATION and value > best.get(query, (0, 0, -1.0, 0))[2]:
            best[query] = (query, other, value, lag)
    return list(best.values())
