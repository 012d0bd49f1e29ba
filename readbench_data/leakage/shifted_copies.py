"""Near duplicates of the selected windows: every pair of windows at every shift, without a heuristic in between.

Two windows are near duplicates if, at some shift that leaves at least half a window in common, the mean correlation
over the channels that change in either of the two common parts is at least ``SAME_CORRELATION``. Gain and offset of a
channel do not matter. The search has two steps:

screen    Each common part is z-normalised to energy 1 and averaged over blocks. Averaging cannot enlarge a distance, so
          the distance of the averages of a few channels is a lower bound of the true one. One matrix product per shift
          bounds all pairs; no pair that reaches the threshold is lost.
confirm   What the screen leaves is compared by its values, channel by channel, until the threshold is out of reach.

What is out of reach by this definition: shifts of more than half a window, windows with different numbers of steps or
channels, noise of about 4 % of a channel's spread or more, stretched time, a drift, an inverted channel, channels in
another order (``OUT_OF_REACH``; measured in tests/leakage/test_shifted_copies.py). Thresholds are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numba
import numpy as np

from readbench_data.leakage.near_duplicates import SAME_CORRELATION

REACH = 0.5
"""Share of a window that two windows need in common at least."""

LIMITS = (
    f"two windows are near duplicates if they correlate by {SAME_CORRELATION} or more (mean over the channels that "
    "change) at any shift that leaves at least half a window in common; gain and offset do not matter"
)
OUT_OF_REACH = (
    "not found: shifts of more than half a window, windows with different numbers of steps or channels, noise of 5 % "
    "of a channel's spread, time stretched by 1 %, a drift, an inverted channel, channels in another order"
)

_BLOCKS = 32
_NUMBERS = 192
_TILE = 1024
_SLACK = 2e-5


@dataclass(frozen=True)
class Copies:
    """Pairs of near duplicates: positions ``first`` < ``second`` int64 [n], ``correlation`` float64 [n], ``shift``
    int64 [n]: step t of the second window is step t + shift of the first. The smallest shift that reaches the
    threshold is followed to the best one next to it. In order of position."""

    first: np.ndarray
    second: np.ndarray
    correlation: np.ndarray
    shift: np.ndarray


def shifted_copies(windows: np.ndarray) -> Copies:
    """Return all pairs of near duplicates among windows of one shape, float32 [n][T][C]."""
    from threadpoolctl import threadpool_limits

    n, steps, _ = windows.shape
    none = np.zeros((0, 3), np.int64)
    pairs, values = [none], [np.zeros(0)]
    if n > 1 and steps > 1:
        with threadpool_limits(1, "blas"):
            for some, own in _search(_scaled(windows)):
                pairs.append(some)
                values.append(own)
    found, value = np.concatenate(pairs), np.concatenate(values)
    order = np.lexsort((-value, found[:, 1], found[:, 0]))
    again = (np.diff(found[order, :2], axis=0) == 0).all(axis=1)  # found in both directions at one shift
    order = order[np.concatenate([[True], ~again])[: len(order)]]
    return Copies(found[order, 0], found[order, 1], value[order], found[order, 2])


def _scaled(windows: np.ndarray) -> np.ndarray:
    """Channels first, float64 [n][C][T], each with mean 0 and energy 1, or exactly 0 where it is constant."""
    own = np.ascontiguousarray(windows.transpose(0, 2, 1), dtype=np.float64)
    still = own.max(axis=2, keepdims=True) == own.min(axis=2, keepdims=True)
    own -= own.mean(axis=2, keepdims=True)
    size = np.sqrt(np.einsum("nct,nct->nc", own, own))[:, :, None]
    np.divide(own, size, out=own, where=~still & (size > 0))
    own[np.broadcast_to(still, own.shape)] = 0
    return own


def _search(own: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield pairs with their shift, int64 [k][3], and correlation [k]: each pair once, the smallest shifts first."""
    n, _, steps = own.shape
    moves = np.any(own != 0, axis=2).astype(np.float32)
    chosen = _telling(own)
    sums = np.zeros((2, n, len(chosen), steps + 1))
    np.cumsum(own[:, chosen], axis=2, out=sums[0, :, :, 1:])
    np.cumsum(own[:, chosen] ** 2, axis=2, out=sums[1, :, :, 1:])
    block = max(1, steps // _BLOCKS)
    tiles = [slice(a, min(a + _TILE, n)) for a in range(0, n, _TILE)]
    every = list(product(range(len(tiles)), repeat=2))
    # What a pair's bound must reach; infinite once the pair is found, and where nothing changes in either window.
    needed = {(i, j): _needed(moves[tiles[i]], moves[tiles[j]]) for i, j in every}
    for i in range(len(tiles)):
        np.fill_diagonal(needed[i, i], np.inf)
    for shift in range(steps // 2 + 1):
        ahead, behind = (_augmented(own, sums, chosen, start, steps - shift, block) for start in (shift, 0))
        right = np.hstack([behind[0], np.ones((n, 1), np.float32), -behind[1][:, None]])
        left = np.hstack([ahead[0], -ahead[1][:, None], np.ones((n, 1), np.float32)])
        for i, j in every:
            if shift == 0 and i > j:
                continue
            # -|u - v|^2 / 2 of two rows of averages: at most the correlation minus 1.
            first, second = np.nonzero(left[tiles[i]] @ right[tiles[j]].T >= needed[i, j])
            if shift == 0 and i == j:
                first, second = first[first < second], second[first < second]
            if len(first):
                a, b = first + tiles[i].start, second + tiles[j].start
                value, at = _confirm(own, a, b, shift, SAME_CORRELATION, steps // 2)
                hit = at > -steps
                needed[i, j][first[hit], second[hit]] = np.inf
                needed[j, i][second[hit], first[hit]] = np.inf
                turned = a[hit] > b[hit]
                a, b, at = a[hit], b[hit], np.where(turned, -at[hit], at[hit])
                yield np.stack([np.minimum(a, b), np.maximum(a, b), at], axis=1), value[hit]


def _needed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minus the sum over channels of 1 - correlation that near duplicates may have, float32 [n][m]: more where more
    channels change in either window."""
    either = a.sum(axis=1)[:, None] + b.sum(axis=1)[None, :] - a @ b.T
    return np.where(either > 0, -(1 - SAME_CORRELATION) * either - _SLACK, np.inf).astype(np.float32)


def _telling(own: np.ndarray) -> np.ndarray:
    """The channels whose averages differ most between windows: as many as ``_NUMBERS`` allows."""
    n, width, steps = own.shape
    count = min(width, max(2, _NUMBERS // min(steps, _BLOCKS)))
    block = max(1, steps // _BLOCKS)
    coarse = own[:, :, : steps // block * block].reshape(n, width, -1, block).sum(axis=3) / np.sqrt(block)
    spread = np.einsum("ncb,ncb->c", coarse, coarse) / n - np.einsum(
        "cb,cb->c", coarse.mean(axis=0), coarse.mean(axis=0)
    )
    return np.sort(np.argsort(-spread, kind="stable")[:count])


def _augmented(
    own: np.ndarray, sums: np.ndarray, chosen: np.ndarray, start: int, common: int, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """Block averages of the common parts, float32 [n][numbers], and half their squared length [n]."""
    found: tuple[np.ndarray, np.ndarray] = _block_averages(own, sums[0], sums[1], chosen, start, common, block)
    return found


@numba.njit(cache=True, nogil=True)
def _block_averages(
    own: np.ndarray, sums: np.ndarray, squares: np.ndarray, chosen: np.ndarray, start: int, common: int, block: int
) -> tuple[np.ndarray, np.ndarray]:  # pragma: no cover - compiled
    n, count, blocks = len(own), len(chosen), common // block
    out = np.zeros((n, count * blocks), np.float32)
    half = np.zeros(n, np.float32)
    root = np.sqrt(block)
    for i in range(n):
        for k in range(count):
            total = sums[i, k, start + common] - sums[i, k, start]
            mean = total / common
            energy = squares[i, k, start + common] - squares[i, k, start] - total * mean
            if energy < 1e-6:
                # The difference of sums is too coarse here: from the values themselves.
                energy = 0.0
                c = chosen[k]
                mean = 0.0
                for t in range(start, start + common):
                    mean += own[i, c, t]
                mean /= common
                low, high = own[i, c, start], own[i, c, start]
                for t in range(start, start + common):
                    x = own[i, c, t]
                    low, high = min(low, x), max(high, x)
                    energy += (x - mean) * (x - mean)
                if low == high or energy == 0.0:
                    continue
                scale = 1.0 / np.sqrt(energy)
                for j in range(blocks):
                    part = 0.0
                    for t in range(start + j * block, start + (j + 1) * block):
                        part += own[i, c, t] - mean
                    out[i, k * blocks + j] = part * scale / root
            else:
                scale = 1.0 / np.sqrt(energy)
                for j in range(blocks):
                    at = start + j * block
                    part = sums[i, k, at + block] - sums[i, k, at] - block * mean
                    out[i, k * blocks + j] = part * scale / root
        for j in range(count * blocks):
            half[i] += np.float32(0.5) * out[i, j] * out[i, j]
    return out, half


@numba.njit(cache=True, nogil=True)
def _confirm(
    own: np.ndarray, first: np.ndarray, second: np.ndarray, shift: int, least: float, reach: int
) -> tuple[np.ndarray, np.ndarray]:  # pragma: no cover - compiled
    """Correlations of pairs, and the shift at which each is best when it is followed from ``shift`` in both directions:
    float64 [n], int64 [n]; a shift below -reach where ``least`` is not reached at ``shift``."""
    steps = own.shape[2]
    found = np.full(len(first), -1.0)
    at = np.full(len(first), -steps)
    for p in range(len(first)):
        a, b = own[first[p]], own[second[p]]
        value = _correlation(a, b, shift, least)
        if value < least:
            continue
        found[p], at[p] = value, shift
        for way in (1, -1):
            lag = shift + way
            while -reach <= lag <= reach:
                value = _correlation(a, b, lag, least) if lag >= 0 else _correlation(b, a, -lag, least)
                if value <= found[p] + 1e-9:
                    break
                found[p], at[p] = value, lag
                lag += way
    return found, at


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _correlation(a: np.ndarray, b: np.ndarray, shift: int, least: float) -> float:  # pragma: no cover - compiled
    """Mean correlation of the channels [C][T] that change, of a from ``shift`` on and the start of b; -1 where nothing
    changes, or as soon as it is below ``least``."""
    width, steps = a.shape
    common = steps - shift
    lost, moving = 0.0, 0
    for c in range(width):
        mean_a, mean_b = 0.0, 0.0
        low_a, high_a, low_b, high_b = a[c, shift], a[c, shift], b[c, 0], b[c, 0]
        for t in range(common):
            x, y = a[c, t + shift], b[c, t]
            mean_a += x
            mean_b += y
            low_a, high_a = min(low_a, x), max(high_a, x)
            low_b, high_b = min(low_b, y), max(high_b, y)
        still_a, still_b = low_a == high_a, low_b == high_b
        if still_a and still_b:
            continue
        moving += 1
        if still_a or still_b:
            lost += 1.0
        else:
            mean_a /= common
            mean_b /= common
            aa, bb, ab = 0.0, 0.0, 0.0
            for t in range(common):
                x, y = a[c, t + shift] - mean_a, b[c, t] - mean_b
                aa += x * x
                bb += y * y
                ab += x * y
            size = np.sqrt(aa * bb)
            lost += 1.0 - ab / size if size > 0 else 1.0
        if lost > (1 - least) * (moving + width - c - 1) + 1e-9:
            return -1.0
    if moving == 0 or 1.0 - lost / moving < least:
        return -1.0
    return 1.0 - lost / moving
