"""Windows in memory: as released (lists of [T][C]) and aligned (one [n, T, C] block over one list of channels).

Channels are aligned in one of two ways (:data:`ALIGNMENTS`). A value over fewer channels is never compared with one
over more: every window is a block over all C channels of the task, whichever it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from readbench_data.errors import UsageError

POSITION, NAME = "position", "name"
ALIGNMENTS = (POSITION, NAME)
"""``position``: channel j is compared with channel j, as plain [T][C] arrays have it; needs equally many channels in
every window. ``name``: channels of the same name are compared, over the union of names; a channel that a window
lacks is zero after standardisation, which is the corpus mean. The paper states neither: ours, a setting per dataset."""


@dataclass(frozen=True)
class Windows:
    """Released windows without any label: what a method may see of a query.

    ``values[i]`` is float32 [T_i][C_i], ``channels[i]`` names its C_i columns.
    """

    entry_ids: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    channels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.entry_ids)

    def take(self, positions: Iterable[int]) -> Windows:
        """Return the windows at ``positions``, in that order (values are shared, not copied)."""
        at = [int(p) for p in positions]
        return Windows(
            tuple(self.entry_ids[p] for p in at),
            tuple(self.values[p] for p in at),
            tuple(self.channels[p] for p in at),
        )

    def __add__(self, other: Windows) -> Windows:
        return Windows(self.entry_ids + other.entry_ids, self.values + other.values, self.channels + other.channels)


@dataclass(frozen=True)
class Aligned:
    """Windows over one list of channels and one length.

    ``values`` float32 [n, T, C], ``present`` bool [n, C]. A channel that a window lacks is all zero, the mean of the
    corpus once channels are standardised. Distances compare ``values`` and never ask which channels are present.
    """

    values: np.ndarray
    present: np.ndarray
    channels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, positions: np.ndarray | slice) -> Aligned:
        return Aligned(self.values[positions], self.present[positions], self.channels)


def by_position(windows: Windows) -> Windows:
    """Return the windows with channels named 1 to C by their position, so that names reveal nothing.

    Raises
    ------
    UsageError
        Windows differ in how many channels they have.
    """
    counts = sorted({len(names) for names in windows.channels})
    if len(counts) > 1:
        raise UsageError(f"windows have {counts[0]} to {counts[-1]} channels: align them by name")
    names = tuple(str(j + 1) for j in range(counts[0] if counts else 0))
    return Windows(windows.entry_ids, windows.values, (names,) * len(windows))


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of every channel, by name; a constant channel has sd 1."""

    mean: dict[str, float]
    sd: dict[str, float]


def channel_scale(windows: Windows) -> Scale:
    """Return per-channel statistics over all time steps of ``windows``, in float64, with one pass over the data.

    Sums are relative to the first value of each channel, so that a large offset does not cost precision. A channel is
    constant if it deviates by no more than 1e-12 of its largest value, whatever its unit.
    """
    largest: dict[str, float] = {}
    origin: dict[str, float] = {}
    total: dict[str, np.ndarray] = {}
    for value, names in zip(windows.values, windows.channels, strict=True):
        if not len(value):
            continue
        start = np.array([origin.setdefault(c, float(v)) for c, v in zip(names, value[0], strict=True)])
        shifted = value.astype(np.float64) - start
        sums = np.stack([np.full(len(names), float(len(value))), shifted.sum(0), (shifted**2).sum(0)])
        most = np.abs(value).max(axis=0)
        for j, name in enumerate(names):
            total[name] = total.get(name, np.zeros(3)) + sums[:, j]
            largest[name] = max(largest.get(name, 0.0), float(most[j]))
    mean, sd = {}, {}
    for name, (count, first, second) in total.items():
        spread = float(np.sqrt(max(second / count - (first / count) ** 2, 0.0)))
        mean[name] = origin[name] + first / count
        sd[name] = spread if spread > 1e-12 * largest[name] else 1.0
    return Scale(mean, sd)


def resample(values: np.ndarray, length: int) -> np.ndarray:
    """Return [T][C] interpolated linearly to [length][C] over the same span; unchanged if the length is equal."""
    t = len(values)
    if t == length:
        return values
    if t == 0:
        raise ValueError("a window without time steps cannot be resampled")
    at = np.linspace(0.0, t - 1, length)
    left = np.minimum(at.astype(np.int64), max(t - 2, 0))
    right = np.minimum(left + 1, t - 1)
    weight = (at - left)[:, None]
    return (values[left] * (1.0 - weight) + values[right] * weight).astype(values.dtype)


def align(windows: Windows, channels: Sequence[str], length: int, scale: Scale | None = None) -> Aligned:
    """Return windows as one block over ``channels`` and ``length`` steps, standardised by ``scale`` if given.

    Channels that are not in ``channels`` are left out; channels that ``scale`` does not contain keep their values.
    """
    column = {name: j for j, name in enumerate(channels)}
    values = np.zeros((len(windows), length, len(channels)), np.float32)
    present = np.zeros((len(windows), len(channels)), bool)
    for i, (value, names) in enumerate(zip(windows.values, windows.channels, strict=True)):
        kept = [j for j, name in enumerate(names) if name in column]
        into = [column[names[j]] for j in kept]
        block = value if len(kept) == len(names) else value[:, kept]
        if scale is not None:
            mean = np.array([scale.mean.get(names[j], 0.0) for j in kept])
            sd = np.array([scale.sd.get(names[j], 1.0) for j in kept])
            block = (block - mean) / sd
        values[i][:, into] = resample(block, length)
        present[i, into] = True
    return Aligned(values, present, tuple(channels))


def z_normalise(values: np.ndarray) -> np.ndarray:
    """Return windows [n, T] or [n, T, C] with mean 0 and variance 1 along T; constant ones become all zero (ours).

    The dtype is kept.
    """
    from readbench_data.evaluation.kernels.normalise import z_normalised

    n, steps, *channels = values.shape
    normalised = z_normalised(np.ascontiguousarray(values).reshape(n, steps, *(channels or [1])))
    return np.asarray(normalised.reshape(values.shape))
