"""A small stand-in for CATS: data.csv and metadata.csv in the published form, with made-up dynamics.

The nominal head is scaled down from 1,000,000 to 10,000 rows and the 200 anomalies to 34. Their durations, the shortest
gap and the affected channel of each root cause are those of the published metadata rows. One row has two affected
channels (``TWO_AFFECTED``), which no published row is known to have: it exercises the parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.signal import lfilter

EPOCH = np.datetime64("2023-01-01T00:00:00", "s")
HEAD = 10_000
SHORTEST_GAP = 883
CATEGORIES = (1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13)
LONELY_CATEGORY = 7
DURATIONS = (300, 400, 500, 300, 700, 500, 1000, 300, 500, 700, 300)
LONG = 5000
TWO_AFFECTED = 5
ROOT_CAUSES = ("bed1", "bfo1", "bfo2", "bso1", "bso2", "bso3", "bed2")
AFFECTED = {
    **{"bed1": "ced1", "bed2": "ced1", "bfo1": "cfo1", "bfo2": "cso1"},
    **{"bso1": "cfo1", "bso2": "cso1", "bso3": "cfo1"},
}
SIZE = 6.0


@dataclass(frozen=True)
class Injected:
    """One anomaly: rows [start, stop) of the data, its category and its root-cause channel."""

    start: int
    stop: int
    category: int
    root_cause: str


def write(folder: Path, seed: int = 42) -> None:
    """Write data.csv (about 70,000 rows) and metadata.csv into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    injected, rows = schedule(rng)
    channels = simulate(rng, injected, rows)
    y, category = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    for anomaly in injected:
        y[anomaly.start : anomaly.stop] = 1
        category[anomaly.start : anomaly.stop] = anomaly.category
    columns = {name: np.round(values, 6) for name, values in channels.items()}
    times = (EPOCH + np.arange(rows)).astype("datetime64[ms]")
    table = pl.DataFrame({"timestamp": times, **columns, "y": y, "category": category})
    table.write_csv(folder / "data.csv", datetime_format="%Y-%m-%d %H:%M:%S")
    (folder / "metadata.csv").write_text(metadata(injected), encoding="utf-8", newline="\n")


def metadata(injected: list[Injected]) -> str:
    """Return the text of metadata.csv; end_time is the second after the last anomalous row."""
    lines = ["start_time,end_time,root_cause,affected,category"]
    for number, anomaly in enumerate(injected):
        start, end = (str(EPOCH + t).replace("T", " ") for t in (anomaly.start, anomaly.stop))
        affected = f"['{AFFECTED[anomaly.root_cause]}']"
        if number == TWO_AFFECTED:
            affected = "\"['cfo1', 'cso1']\""
        lines.append(f"{start},{end},{anomaly.root_cause},{affected},{anomaly.category}")
    return "\n".join(lines) + "\n"


def schedule(rng: np.random.Generator) -> tuple[list[Injected], int]:
    """Return three anomalies per category and one of a category of its own, in shuffled order, and the number of
    rows."""
    kinds = [(c, repeat) for repeat in range(3) for c in CATEGORIES] + [(LONELY_CATEGORY, 0)]
    injected, now = [], HEAD
    for place, number in enumerate(rng.permutation(len(kinds)).tolist()):
        category, repeat = kinds[number]
        home = CATEGORIES.index(category) if category in CATEGORIES else 0
        duration = LONG if (category, repeat) == (1, 0) else DURATIONS[(home + 4 * repeat) % len(DURATIONS)]
        root = ROOT_CAUSES[(home + (repeat == 2 and home % 3 == 0)) % len(ROOT_CAUSES)]
        now += SHORTEST_GAP if place == 9 else int(rng.integers(900, 1400))
        injected.append(Injected(now, now + duration, category, root))
        now += duration
    return injected, now + 1500


def simulate(rng: np.random.Generator, injected: list[Injected], rows: int) -> dict[str, np.ndarray]:
    """Return the channels: commands and stimuli drive b, b drives c; an anomaly deforms its root-cause channel.

    There is no noise beyond the dynamics, and commands hold their value for long stretches.
    """
    time = np.arange(rows)
    out = {
        "aimp": (time % 4000 < 20).astype(np.float64),
        "amud": _held(rng, rows, 3000, (-1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
        "arnd": lfilter([0.1], [1, -0.9], rng.normal(0, 3, rows)),
        "asin1": np.sin(2 * np.pi * time / 1500),
        "asin2": np.sin(2 * np.pi * time / 7000 + 1),
        "adbr": _held(rng, rows, 5000, (0.0, 0.0, 0.0, 1.0)),
        "adfl": _held(rng, rows, 4000, (0.0, 0.0, 0.0, 1.0)),
    }
    drivers = np.stack(list(out.values()))
    for name, weights in zip(("bed1", "bed2", "bfo1", "bfo2", "bso1", "bso2", "bso3"), _weights(rng), strict=True):
        out[name] = lfilter([0.01], [1, -0.99], weights @ drivers)
        for anomaly in injected:
            if anomaly.root_cause == name:
                part = slice(anomaly.start, anomaly.stop)
                out[name][part] = _deform(anomaly.category, out[name][part], rng)
    for name in ("ced1", "cfo1", "cso1"):
        causes = [out[b] for b, c in AFFECTED.items() if c == name]
        out[name] = lfilter([0.05], [1, -0.95], np.sum(causes, axis=0) / 2)
    return out


def _weights(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0, 0.5, (7, 7))


def _held(rng: np.random.Generator, rows: int, mean: int, levels: tuple[float, ...]) -> np.ndarray:
    """Return a command that holds a level for about ``mean`` steps."""
    changes = np.cumsum(rng.integers(mean // 2, 3 * mean // 2, rows // mean * 2 + 2))
    return rng.choice(levels, len(changes) + 1)[np.searchsorted(changes, np.arange(rows), side="right")]


def _deform(category: int, normal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a channel as deformed by an anomaly of a category; the shapes are made up."""
    t = np.arange(len(normal))
    share = t / len(normal)
    size, phase = SIZE * rng.uniform(0.8, 1.2), rng.uniform(0, 2 * np.pi)
    wave = {4: 60, 9: 20, 11: 100, 13: 80}
    angle = 2 * np.pi * t / wave.get(category, 1) + phase
    match category:
        case 1:
            return normal + size * share
        case 2:
            return normal + size
        case 3:
            return normal - size
        case 4 | 9:
            return normal + size * np.sin(angle)
        case 5:
            return np.full(len(normal), normal[0] - 2 * size)
        case 7:
            return normal + size * (1 - np.exp(-t / 60))
        case 8:
            return normal + 2 * size * (t % 50 < 8)
        case 10:
            return -2.5 * normal + size / 2
        case 11:
            return normal + size * (angle % (2 * np.pi)) / np.pi
        case 12:
            return normal - size * share
        case _:
            return normal + size * np.sign(np.sin(angle))
