"""What later checks need of a window's values, computed once while the recording is in memory.

``content_hash``   equal if and only if channels, shape and every float are equal
``shape_hash``     the same after z-normalisation per channel, rounded to 1e-3: gains and offsets that
                   floats hold exactly do not matter
``sketch``         64 floats that change little when a window is shifted by a few steps (amplitudes of the low
                   frequencies of two fixed mixtures of its z-normalised channels), for near-duplicate search
``constant_mask``  bit c set where channel c does not change inside the window (hex text)

The sketch and the rounding are ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SKETCH_SIZE = 64
_MIXTURES = 2
_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class Fingerprints:
    """For n windows: ``content_hash`` and ``shape_hash`` [n] hex text, ``sketch`` float32 [n][64],
    ``constant_mask`` [n] hex text."""

    content_hash: list[str]
    shape_hash: list[str]
    sketch: np.ndarray
    constant_mask: list[str]


def fingerprint(values: np.ndarray, channels: Sequence[str], starts: np.ndarray, stops: np.ndarray) -> Fingerprints:
    """Fingerprints of the windows [starts, stops) of one curated series, float32 [T][C].

    All windows must have one length; they are handled in blocks, so memory does not grow with n.
    """
    n, width = len(starts), values.shape[1]
    if n == 0:
        return Fingerprints([], [], np.zeros((0, SKETCH_SIZE), np.float32), [])
    length = int(stops[0] - starts[0])
    if np.any(stops - starts != length):
        raise ValueError("windows of one series must share their length")
    tag = "\0".join([str(length), *channels]).encode()
    weights = _mixture_weights(channels)
    block = max(1, _BLOCK_VALUES // (length * width))
    result = Fingerprints([], [], np.empty((n, SKETCH_SIZE), np.float32), [])
    for first in range(0, n, block):
        chosen = starts[first : first + block]
        windows = _gather(values, chosen, length)
        normal, constant = _z_normalise(windows)
        rounded = np.clip(np.rint(normal * 1000), -32768, 32767).astype(np.int16)
        result.content_hash.extend(_hashes(windows, tag))
        result.shape_hash.extend(_hashes(rounded, tag))
        result.constant_mask.extend(_bits(constant))
        result.sketch[first : first + len(chosen)] = _sketch(normal, weights)
    return result


def _gather(values: np.ndarray, starts: np.ndarray, length: int) -> np.ndarray:
    """Windows [n][length][C], contiguous; adjacent windows are a plain reshape."""
    if len(starts) and np.all(np.diff(starts) == length):
        part = values[starts[0] : starts[-1] + length]
        return np.ascontiguousarray(part).reshape(len(starts), length, values.shape[1])
    views = np.lib.stride_tricks.sliding_window_view(values, length, axis=0)[starts]
    return np.ascontiguousarray(views.transpose(0, 2, 1))


def _z_normalise(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    constant = windows.max(axis=1) == windows.min(axis=1)
    centred = windows - windows[:, :1]  # first, so that an offset cannot round the mean differently
    centred -= centred.mean(axis=1, keepdims=True, dtype=np.float64).astype(np.float32)
    scale = np.sqrt(np.einsum("ntc,ntc->nc", centred, centred) / windows.shape[1])
    scale[constant | (scale == 0) | ~np.isfinite(scale)] = np.inf
    return centred / scale[:, None, :], constant


def _hashes(windows: np.ndarray, tag: bytes) -> list[str]:
    flat = windows.reshape(len(windows), -1)
    view = memoryview(flat.tobytes())
    size = flat.shape[1] * flat.itemsize
    prefix = hashlib.blake2b(tag, digest_size=16)
    out = []
    for offset in range(0, len(view), size):
        state = prefix.copy()
        state.update(view[offset : offset + size])
        out.append(state.hexdigest())
    return out


def _bits(constant: np.ndarray) -> list[str]:
    packed = np.packbits(constant, axis=1, bitorder="little")
    return [row.tobytes().hex() for row in packed]


def _mixture_weights(channels: Sequence[str]) -> np.ndarray:
    """Signs [C][2] from each channel's name, so that a channel weighs the same wherever it occurs."""
    digests = [hashlib.blake2b(c.encode(), digest_size=1).digest()[0] for c in channels]
    signs = [[1.0 if d >> m & 1 else -1.0 for m in range(_MIXTURES)] for d in digests]
    return np.array(signs, np.float32)


def _sketch(normal: np.ndarray, weights: np.ndarray) -> np.ndarray:
    mixed = np.einsum("ntc,cm->nmt", normal, weights)
    half = SKETCH_SIZE // _MIXTURES
    spectrum = np.abs(np.fft.rfft(mixed, axis=2))[:, :, 1 : half + 1]
    out = np.zeros((len(normal), _MIXTURES, half), np.float32)
    out[:, :, : spectrum.shape[2]] = spectrum
    sketch = out.reshape(len(normal), SKETCH_SIZE)
    size = np.linalg.norm(sketch, axis=1, keepdims=True)
    return np.divide(sketch, size, out=np.zeros_like(sketch), where=size > 0)
