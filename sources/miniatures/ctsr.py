"""Small stand-ins for UCR sets, in the archive's TSV format, with the defects of the original ones.

Names, stored lengths and label numbers are those of the archive; values are made up. A class is a smooth
prototype; its series are that prototype with its peaks moved, stretched in time and buried in some noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

PARTS = ("TRAIN", "TEST")


@dataclass(frozen=True)
class Shape:
    """One made-up set: stored ``length``, and ``classes``: label -> series in TRAIN and in TEST."""

    name: str
    length: int
    classes: dict[int, tuple[int, int]]
    noise: float
    shortest: int | None = None
    longest: int | None = None
    counts: bool = False


SHAPES = (
    Shape("AllGestureWiimoteX", 500, {1: (14, 6), 2: (13, 5)} | dict.fromkeys(range(3, 11), (4, 3)), 0.9, 40, 385),
    Shape("ArrowHead", 251, {0: (14, 8), 1: (13, 7), 2: (11, 7)}, 1.0),
    Shape("BirdChicken", 512, {1: (13, 8), 2: (13, 8)}, 1.2),
    Shape("Chinatown", 24, {1: (13, 8), 2: (13, 16)}, 1.0, counts=True),
    Shape("Crop", 46, dict.fromkeys(range(1, 25), (4, 2)), 0.4),
    Shape("DistalPhalanxTW", 80, dict.fromkeys(range(3, 9), (5, 3)), 0.3),
    Shape("DodgerLoopDay", 288, {1: (13, 5)} | dict.fromkeys(range(2, 8), (5, 3)), 0.8, counts=True),
    Shape("ECG200", 96, {-1: (13, 10), 1: (20, 14)}, 1.2),
    Shape("ElectricDevices", 96, dict.fromkeys(range(1, 8), (4, 2)), 0.5),
    Shape("Fungi", 201, dict.fromkeys(range(1, 19), (1, 2)), 0.3),
    Shape("GestureMidAirD2", 360, dict.fromkeys(range(1, 27), (3, 2)), 0.5, 80, 340),
    Shape("MelbournePedestrian", 24, {1: (13, 6)} | dict.fromkeys(range(2, 11), (4, 3)), 0.8, counts=True),
)


def write(folder: Path, seed: int = 42) -> None:
    """Write the TRAIN and TEST file of every set into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, shape in enumerate(SHAPES):
        parts = _make(shape, np.random.default_rng([seed, number]))
        _DEFECTS.get(shape.name, lambda parts: None)(parts)
        for part, (labels, values) in parts.items():
            _save(folder / f"{shape.name}_{part}.tsv", labels, values)
        if shape.name == "DistalPhalanxTW":
            for part, (labels, values) in parts.items():
                _save(folder / f"DistalPhalanxOutlineAgeGroup_{part}.tsv", (labels - 1) // 2, values)


Part = tuple[np.ndarray, np.ndarray]


def _make(shape: Shape, rng: np.random.Generator) -> dict[str, Part]:
    """Return TRAIN and TEST of a set: labels int64 [n] and values float64 [n][length], in shuffled order."""
    prototypes = {label: _bumps(rng) for label in shape.classes}
    parts = {}
    for column, part in enumerate(PARTS):
        labels = np.repeat(list(shape.classes), [n[column] for n in shape.classes.values()])
        labels = rng.permutation(labels)
        values = np.full((len(labels), shape.length), np.nan)
        for row, label in enumerate(labels.tolist()):
            steps = shape.length
            if shape.shortest is not None and shape.longest is not None:
                steps = int(rng.integers(shape.shortest, shape.longest + 1))
            values[row, :steps] = _series(prototypes[label], steps, shape, rng)
        parts[part] = (labels, values)
    return parts


def _bumps(rng: np.random.Generator) -> np.ndarray:
    """Return a prototype: five bumps [5][centre, width, height] on the time axis 0..1."""
    return np.column_stack([rng.uniform(0.05, 0.95, 5), rng.uniform(0.03, 0.15, 5), rng.normal(0, 1, 5)])


def _series(bumps: np.ndarray, steps: int, shape: Shape, rng: np.random.Generator) -> np.ndarray:
    time = np.linspace(0, 1, steps) ** rng.uniform(0.85, 1.2)
    centres = bumps[:, 0] + rng.normal(0, 0.04, len(bumps))
    heights = bumps[:, 2] * rng.uniform(0.7, 1.3, len(bumps))
    clean = (heights * np.exp(-0.5 * ((time[:, None] - centres) / bumps[:, 1]) ** 2)).sum(axis=1)
    smooth = np.convolve(rng.normal(0, 1, steps + 4), np.ones(5) / 5, "valid")
    values = clean + shape.noise * clean.std() * (smooth + 0.5 * rng.normal(0, 1, steps))
    values = (values - values.mean()) / values.std()
    if shape.counts:
        return np.maximum(np.rint(600 + 250 * values), 0)
    return values * 300 if shape.name == "GestureMidAirD2" else values


def _save(path: Path, labels: np.ndarray, values: np.ndarray) -> None:
    """Write tab-separated lines without a header: label first, missing values as the text NaN, LF."""
    lines = [
        "\t".join([str(label), *("NaN" if np.isnan(v) else f"{v:.8g}" for v in row)])
        for label, row in zip(labels.tolist(), values, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="ascii", newline="\n")


def _two_steps_long(parts: dict[str, Part]) -> None:
    """Add a series that ends after two steps, and one without any value."""
    parts["TRAIN"][1][2, 2:] = np.nan
    parts["TEST"][1][1, :] = np.nan


def _leading_and_inner_gaps(parts: dict[str, Part]) -> None:
    parts["TEST"][1][0, :71] = np.nan
    parts["TRAIN"][1][1, 100:130] = np.nan
    parts["TRAIN"][1][5, 17] = np.nan


def _minus_ones(parts: dict[str, Part]) -> None:
    """Add one series with a few -1 and one that is -1 throughout: both mean missing in this set of counts."""
    parts["TRAIN"][1][0, 3:6] = -1
    parts["TEST"][1][4, :] = -1


def _copies(parts: dict[str, Part]) -> None:
    """Repeat the first series of TRAIN in TRAIN and in TEST, under its own label."""
    labels, values = parts["TRAIN"]
    values[-1], labels[-1] = values[0], labels[0]
    parts["TEST"][1][0], parts["TEST"][0][0] = values[0], labels[0]


def _conflicting_copy(parts: dict[str, Part]) -> None:
    """Repeat one series in TRAIN under another label."""
    labels, values = parts["TRAIN"]
    other = int(np.flatnonzero(labels != labels[0])[0])
    values[other] = values[0]


_DEFECTS = {
    "AllGestureWiimoteX": _two_steps_long,
    "Crop": _copies,
    "DodgerLoopDay": _leading_and_inner_gaps,
    "ElectricDevices": _conflicting_copy,
    "MelbournePedestrian": _minus_ones,
}
