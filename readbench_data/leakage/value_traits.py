"""Traits of a window's values: a few numbers per channel, and how far two windows are apart in them.

Level, spread, extremes and the first sample are legitimate signal: a fault may change them. The number of distinct
values and the step of the value grid are artefacts of recording or storage. The difference of a number is measured in
its standard deviations over all windows; the distance is the mean square over the channels that both windows have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

NUMBERS: dict[str, tuple[str, ...]] = {
    "level": ("mean",),
    "spread": ("deviation",),
    "level_and_spread": ("mean", "deviation"),
    "extremes": ("minimum", "maximum"),
    "first_sample": ("first",),
    "distinct_values": ("distinct",),
    "quantisation": ("step",),
}
"""Trait -> its numbers per channel."""

_FIGURES = ("mean", "deviation", "minimum", "maximum", "first", "distinct", "step")
_BLOCK = 1 << 22


def channel_numbers(
    values: Mapping[str, np.ndarray], ids: Sequence[str], channels: Sequence[Sequence[str]]
) -> np.ndarray:
    """Return the numbers per channel, float64 [numbers][n][channels]; NaN where a window lacks the channel.

    Channels are matched by position if all windows have the same number of them, otherwise by name.
    """
    widths = {len(c) for c in channels}
    names = sorted({name for own in channels for name in own})
    at = {name: i for i, name in enumerate(names)}
    by_place = len(widths) == 1
    out = np.full((len(_FIGURES), len(ids), max(widths) if by_place else len(names)), np.nan)
    shapes: dict[tuple[int, ...], list[int]] = {}
    for row, name in enumerate(ids):
        if name in values:
            shapes.setdefault(values[name].shape, []).append(row)
    for (steps, width), rows in shapes.items():
        some = max(1, _BLOCK // (steps * width))
        for first in range(0, len(rows), some):
            part = rows[first : first + some]
            found = _figures(np.stack([values[ids[row]] for row in part]))
            for number, row in enumerate(part):
                place = np.arange(width) if by_place else np.array([at[c] for c in channels[row]])
                out[:, row, place] = found[:, number]
    return out


def _figures(windows: np.ndarray) -> np.ndarray:
    """The numbers of windows [n][T][C] of one shape, float64 [numbers][n][C]."""
    ordered = np.sort(windows, axis=1)
    gaps = np.diff(ordered.astype(np.float64), axis=1)
    step = np.where(gaps > 0, gaps, np.inf).min(axis=1, initial=np.inf)
    return np.stack(
        [
            windows.mean(axis=1, dtype=np.float64),
            windows.std(axis=1, dtype=np.float64),
            ordered[:, 0],
            ordered[:, -1],
            windows[:, 0],
            np.log1p((gaps > 0).sum(axis=1)),
            np.log10(np.where(np.isfinite(step), step, 1e-12)),
        ]
    ).astype(np.float64)


def distances(numbers: np.ndarray, trait: str, queries: np.ndarray, corpus: np.ndarray) -> np.ndarray:
    """Return the distance of every query from every corpus entry in a trait, float64 [nq][N]; rows of ``numbers``.

    Windows without a common channel are farthest apart.
    """
    total, count = np.zeros((len(queries), len(corpus))), np.zeros((len(queries), len(corpus)))
    for figure in NUMBERS[trait]:
        for own in numbers[_FIGURES.index(figure)].T:
            if not np.isfinite(own).any():
                continue
            spread = float(np.nanstd(own))
            if not spread > 1e-12 * float(np.nanmax(np.abs(own))):
                both = np.isfinite(own[queries])[:, None] & np.isfinite(own[corpus])[None, :]
                count += both
                continue
            away = ((own[queries][:, None] - own[corpus][None, :]) / spread) ** 2
            both = np.isfinite(away)
            total += np.where(both, away, 0)
            count += both
    mean = np.divide(total, count, out=np.full_like(total, -1), where=count > 0)
    # Squares far below the scale are rounding: equal numbers are ties.
    return np.round(np.where(mean < 0, mean.max(initial=0) + (mean.max(initial=0) > 0), mean), 12)
