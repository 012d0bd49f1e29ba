"""From values to positions: scales, the round numbers of an axis, and the space that texts need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from readbench_data.pages.shapes import Numbers


@dataclass(frozen=True)
class Scale:
    """Maps values from ``low`` to ``high`` to positions in pixels from ``start`` to ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        span = self.high - self.low
        return self.start + ((value - self.low) / span if span else 0.5) * (self.stop - self.start)

    def all(self, values: Numbers) -> np.ndarray:
        """Return the positions of values [n]."""
        span = self.high - self.low
        share = (np.asarray(values, np.float64) - self.low) / span if span else np.full(len(values), 0.5)
        return self.start + share * (self.stop - self.start)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return at most ``most`` round numbers from ``low`` to ``high``, in steps of 1, 2 or 5 times a power of ten."""
    span = high - low
    if not span > 0 or not np.isfinite(span):
        return [low]
    for step in _steps(span / most):
        found = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step
        if len(found) <= most:
            return [float(f"{value:.12g}") + 0.0 for value in found]  # -0.0 becomes 0.0
    raise AssertionError("steps grow without end")


def _steps(least: float) -> Iterator[float]:
    power = np.floor(np.log10(least))
    while True:
        yield from (float(f"{factor}e{power:.0f}") for factor in (1, 2, 5))
        power += 1


def tick_texts(values: Sequence[float]) -> list[str]:
    """Return the numbers of an axis with the same number of decimals, very large and small ones with a power of ten."""
    top = max((abs(v) for v in values), default=0.0)
    if top and not 1e-3 <= top < 1e5:
        power = int(np.floor(np.log10(top)))
        scaled = [v / 10.0**power for v in values]
        return ["0" if not v else f"{t}e{power}" for v, t in zip(scaled, _decimals(scaled), strict=True)]
    return _decimals(values)


def _decimals(values: Sequence[float]) -> list[str]:
    most = max((len(f"{v:.10g}".partition(".")[2]) for v in values if "e" not in f"{v:.10g}"), default=0)
    return [f"{v:.{min(most, 6)}f}" for v in values]


def width_of(text: str, size: int = 12) -> float:
    """Return the approximate width of a text in pixels. Fonts differ, so this rather overestimates."""
    narrow, wide = sum(c in "iljtfr.,:;'|!()[] " for c in text), sum(c in "mwMW@%…" or c.isupper() for c in text)
    return size * (0.4 * narrow + 0.8 * wide + 0.6 * (len(text) - narrow - wide))
