"""Hashes and a sketch of each window's values, for later checks; computed once, while the recording is in memory.

``content_hash``   equal if and only if channels, shape and every float are equal
``shape_hash``     the same after z-normalisation per channel, rounded to 1e-3: it does not change with a gain or an
                   offset that floats represent exactly
``sketch``         64 floats that change little when a window is shifted by a few steps (amplitudes of the low
                   frequencies of two fixed mixtures of its z-normalised channels), for near-duplicate search
``constant_mask``  bit c is set where channel c is constant in the window (hex text)

The sketch and the rounding are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numba
import numpy as np
import xxhash

SKETCH_SIZE = 64
_MIXTURES = 2
_BLOCK_VALUES = 1 << 20
_ROUNDING = 1000.0


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of n windows: ``content_hash`` and ``shape_hash`` [n] hex text, ``sketch`` float32 [n][64],
    ``constant_mask`` [n] hex text."""

    content_hash: list[str]
    shape_hash: list[str]
    sketch: np.ndarray
    constant_mask: list[str]

    def one_by_one(self) -> Iterator[Fingerprints]:
        """Yield the fingerprints of each window."""
        for i in range(len(self.content_hash)):
            one = slice(i, i + 1)
            yield Fingerprints(self.content_hash[one], self.shape_hash[one], self.sketch[one], self.constant_mask[one])


NO_PRINTS = Fingerprints([], [], np.zeros((0, SKETCH_SIZE), np.float32), [])
"""The fingerprints of no window."""


def fingerprint(
    values: np.ndarray, channels: Sequence[str], starts: np.ndarray, stops: np.ndarray, named: bool = True
) -> Fingerprints:
    """Return the fingerprints of the windows [start, stop) of one curated series, float32 [T][C].

    ``named``: whether the names of the channels count in the two hashes; without them equal values under other names
    are equal. The windows are processed in blocks, so memory does not grow with n. Raises ValueError where their
    lengths differ.
    """
    n, width = len(starts), values.shape[1]
    if n == 0:
        return NO_PRINTS
    length = int(stops[0] - starts[0])
    if np.any(stops - starts != length):
        raise ValueError("windows of one series must share their length")
    values = np.ascontiguousarray(values, dtype=np.float32)
    tag = "\0".join([str(length), *(channels if named else map(str, range(width)))]).encode()
    weights, basis = _mixture_weights(tuple(channels)), _basis(length)
    block = max(1, _BLOCK_VALUES // (length * width))
    result = Fingerprints([], [], np.empty((n, SKETCH_SIZE), np.float32), [])
    raw = values.reshape(-1).data.cast("B")
    row = width * values.itemsize
    for first in range(0, n, block):
        chosen = np.ascontiguousarray(starts[first : first + block], dtype=np.int64)
        rounded, mixed, constant = _shapes(values, chosen, length, weights)
        result.content_hash.extend(_hash(tag, raw[s * row : (s + length) * row]) for s in chosen.tolist())
        view, size = rounded.reshape(-1).data.cast("B"), rounded[0].nbytes
        result.shape_hash.extend(_hash(tag, view[i * size : (i + 1) * size]) for i in range(len(chosen)))
        packed = np.packbits(constant, axis=1, bitorder="little")
        result.constant_mask.extend(bits.tobytes().hex() for bits in packed)
        result.sketch[first : first + len(chosen)] = _sketch(mixed, basis)
    return result


def _hash(tag: bytes, data: memoryview) -> str:
    state = xxhash.xxh3_128(tag)
    state.update(data)
    return state.hexdigest()


@numba.njit(cache=True, nogil=True)
def _shapes(
    values: np.ndarray, starts: np.ndarray, length: int, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # pragma: no cover - compiled
    """Z-normalised windows: rounded int16 [n][length][C], mixed float32 [n][2][length], constant bool [n][C]."""
    n, width, mixtures = len(starts), values.shape[1], weights.shape[1]
    rounded = np.empty((n, length, width), np.int16)
    mixed = np.zeros((n, mixtures, length), np.float32)
    constant = np.empty((n, width), np.bool_)
    for i in range(n):
        start = starts[i]
        for c in range(width):
            total, low, high = 0.0, values[start, c], values[start, c]
            for t in range(start, start + length):
                x = values[t, c]
                total += x
                low = min(low, x)
                high = max(high, x)
            mean = total / length
            spread = 0.0
            for t in range(start, start + length):
                d = values[t, c] - mean
                spread += d * d
            constant[i, c] = low == high
            scale = 0.0 if low == high or spread == 0.0 else 1.0 / np.sqrt(spread / length)
            for t in range(length):
                z = (values[start + t, c] - mean) * scale
                rounded[i, t, c] = np.int16(min(max(np.rint(z * _ROUNDING), -32768.0), 32767.0))
                for m in range(mixtures):
                    mixed[i, m, t] += np.float32(z) * weights[c, m]
    return rounded, mixed, constant


@cache
def _mixture_weights(channels: tuple[str, ...]) -> np.ndarray:
    """Signs [C][2] from each channel's name, so that a channel has the same weights in every recording."""
    digests = [blake2b(c.encode(), digest_size=1).digest()[0] for c in channels]
    signs = [[1.0 if d >> m & 1 else -1.0 for m in range(_MIXTURES)] for d in digests]
    return np.array(signs, np.float32)


@cache
def _basis(length: int) -> np.ndarray:
    """Cosines and sines [length][2 * half] of the low frequencies 1 to half; 0 above the Nyquist frequency."""
    half = SKETCH_SIZE // _MIXTURES
    frequency = np.arange(1, half + 1)
    angle = 2 * np.pi * np.outer(np.arange(length), frequency) / length
    waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
    waves[:, np.tile(frequency > length // 2, 2)] = 0
    return waves.astype(np.float32)


def _sketch(mixed: np.ndarray, basis: np.ndarray) -> np.ndarray:
    n, half = len(mixed), basis.shape[1] // 2
    waves = (mixed @ basis).reshape(n, _MIXTURES, 2, half)  # one product per window: its bits do not depend on others
    sketch = np.hypot(waves[:, :, 0], waves[:, :, 1]).reshape(n, SKETCH_SIZE)
    size = np.linalg.norm(sketch, axis=1, keepdims=True)
    return np.divide(sketch, size, out=np.zeros_like(sketch), where=size > 0)
