"""How often the shown intervals hold the true mean: simulated shapes, sizes and shares of exact ties.

``python -m benchmarks.interval_coverage [DRAWS]`` prints the Markdown table of docs/evaluation.md. Each cell says how
many of the draws get an interval by the rule of ``statistics.intervals``, how many of those hold the mean, and their
mean width in standard deviations of the shape.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from readbench_data.evaluation.statistics.intervals import bootstrap_t, is_shown

SIZES = (3, 5, 8, 12)
DRAWS = 2_000
FEWEST_SHOWN = 100
"""Cells with fewer shown intervals than this give no coverage."""

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def tied(share: float) -> Draw:
    """Differences that are exactly 0 with this probability, else normal with mean and deviation 0.1."""
    return lambda rng, shape: np.where(rng.random(shape) < share, 0.0, rng.normal(0.1, 0.1, shape))


SHAPES: dict[str, tuple[Draw, float, float]] = {
    "normal": (lambda rng, shape: rng.normal(0.5, 0.1, shape), 0.5, 0.1),
    "uniform": (lambda rng, shape: rng.random(shape), 0.5, math.sqrt(1 / 12)),
    "beta(2, 5)": (lambda rng, shape: rng.beta(2, 5, shape), 2 / 7, math.sqrt(10 / 49 / 8)),
    "beta(5, 2)": (lambda rng, shape: rng.beta(5, 2, shape), 5 / 7, math.sqrt(10 / 49 / 8)),
    "beta(1, 8)": (lambda rng, shape: rng.beta(1, 8, shape), 1 / 9, math.sqrt(8 / 81 / 10)),
    "beta(0.5, 0.5)": (lambda rng, shape: rng.beta(0.5, 0.5, shape), 0.5, math.sqrt(1 / 8)),
    "exponential": (lambda rng, shape: rng.exponential(1.0, shape), 1.0, 1.0),
    "lognormal(0, 0.5)": (
        lambda rng, shape: rng.lognormal(0, 0.5, shape),
        math.exp(0.125),
        math.sqrt((math.exp(0.25) - 1) * math.exp(0.25)),
    ),
    "lognormal(0, 1)": (
        lambda rng, shape: rng.lognormal(0, 1, shape),
        math.exp(0.5),
        math.sqrt((math.e - 1) * math.e),
    ),
    "Student t, 3": (lambda rng, shape: rng.standard_t(3, shape), 0.0, math.sqrt(3)),
    **{
        f"{share:.0%} exact ties": (
            tied(share),
            (1 - share) * 0.1,
            math.sqrt((1 - share) * 0.02 - ((1 - share) * 0.1) ** 2),
        )
        for share in (0.1, 0.2, 0.3, 0.5, 0.8, 0.9)
    },
}


def cell(draw: Draw, mean: float, n: int, draws: int, seed: int) -> tuple[float, float, float]:
    """Share of draws that get an interval, share of these that hold ``mean``, and their mean width."""
    values = draw(np.random.default_rng(seed), (draws, n))
    shown = values[[is_shown(v) for v in values]]
    if len(shown) < FEWEST_SHOWN:
        return len(shown) / draws, math.nan, math.nan
    bounds = np.concatenate([bootstrap_t(part) for part in np.array_split(shown, math.ceil(len(shown) / 250))])
    held = (bounds[:, 0] <= mean) & (mean <= bounds[:, 1])
    finite = np.isfinite(bounds).all(axis=1)
    return len(shown) / draws, float(held.mean()), float((bounds[finite, 1] - bounds[finite, 0]).mean())


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    print("| shape | " + " | ".join(f"n = {n}" for n in SIZES) + " |\n|---|" + "---|" * len(SIZES))
    for name, (draw, mean, deviation) in SHAPES.items():
        cells = []
        for n in SIZES:
            shown, held, width = cell(draw, mean, n, draws, n)
            if math.isnan(held):
                cells.append("none shown" if shown == 0 else f"shown {shown:.1%}")
            else:
                cells.append(
                    f"{held:.3f} (width {width / deviation:.2f}" + ("" if shown == 1 else f", shown {shown:.0%}") + ")"
                )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
