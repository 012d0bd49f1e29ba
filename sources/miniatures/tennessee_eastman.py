"""Tennessee Eastman stand-ins: four R data files in the layout of Rieth et al., and a few classic text files.

Nothing here was simulated with the process model. Every channel drifts around the base case of Downs and Vogel;
a fault moves its own group of channels by a step, a random walk, a ramp or a stuck-valve oscillation. Faults 3,
9 and 15 move nothing, as in the real process.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np

CHANNELS = (*(f"xmeas_{i}" for i in range(1, 42)), *(f"xmv_{i}" for i in range(1, 12)))
BASE = np.array([
    0.2505, 3664.0, 4509.3, 9.3477, 26.902, 42.339, 2705.0, 75.0, 120.4, 0.3371, 80.109, 50.0, 2633.7, 25.16, 50.0,
    3102.2, 22.949, 65.731, 230.31, 341.43, 94.599, 77.297, 32.188, 8.8933, 26.383, 6.882, 18.776, 1.6567, 32.958,
    13.823, 23.978, 1.2565, 18.579, 2.2633, 4.8436, 2.2986, 0.01787, 0.8357, 0.09858, 53.724, 43.828, 63.053, 53.98,
    24.644, 61.302, 22.21, 40.064, 38.1, 46.534, 47.446, 41.106, 18.114,
])  # fmt: skip
"""Steady state of the base case (Downs and Vogel 1993), in the order of the channels."""
SPREAD = 0.01 * BASE
STEPS, RANDOM, RAMPS, STICKING = (1, 2, 4, 5, 6, 7, 16, 18), (8, 10, 11, 12, 17, 20), (13,), (14, 19)
INVISIBLE = (3, 9, 15)
SHARED_NOISE = (4, 5)
"""Faults with runs that have identical rows before the onset, run by run."""
SATURATED = 60
"""Rows at the end of a run of fault 6 in which channels are saturated."""

RUNS = {"fault_free_training": 40, "fault_free_testing": 4, "faulty_training": 6, "faulty_testing": 1}
FILES = {
    "fault_free_training": ("TEP_FaultFree_Training.RData", 500, 500),
    "fault_free_testing": ("TEP_FaultFree_Testing.RData", 960, 960),
    "faulty_training": ("TEP_Faulty_Training.RData", 500, 20),
    "faulty_testing": ("TEP_Faulty_Testing.RData", 960, 160),
}
"""Object -> file, samples per run, samples before the onset."""


def write(folder: Path, seed: int = 42) -> None:
    """Write the R data files into ``folder`` and classic text files into ``folder/braatz``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.txt").write_text("Synthetic stand-ins; not the data of Rieth et al. or of Braatz.\n")
    for number, (frame, (file, steps, onset)) in enumerate(FILES.items()):
        faults = (0,) if "free" in frame else tuple(range(1, 21))
        keys, blocks = [], []
        for fault in faults:
            for run in range(1, RUNS[frame] + 1):
                blocks.append(simulate(seed, number, fault, run, steps, onset))
                keys.append(np.stack([np.full(steps, fault), np.full(steps, run), np.arange(1, steps + 1)], axis=1))
        columns = [*np.concatenate(keys).T, *np.concatenate(blocks).T]
        names = ("faultNumber", "simulationRun", "sample", *CHANNELS)
        (folder / file).write_bytes(gzip.compress(r_data(frame, names, columns), 1, mtime=0))
    _write_classic(folder / "braatz", seed)


def _write_classic(folder: Path, seed: int) -> None:
    """Write text as in the classic files: d00.dat transposed, with 500 rows; tests start with 160 normal rows."""
    folder.mkdir()
    text = {
        "d00.dat": simulate(seed, 9, 0, 1, 500, 500).T,
        "d04.dat": simulate(seed, 9, 4, 1, 480, 0),
        "d06.dat": simulate(seed, 9, 6, 1, 480, 0),
        "d00_te.dat": simulate(seed, 9, 0, 2, 960, 960),
        "d04_te.dat": simulate(seed, 9, 4, 2, 960, 160),
        "d05_te.dat": simulate(seed, 9, 5, 2, 960, 160),
        "d21_te.dat": simulate(seed, 9, 21, 2, 960, 160),
    }
    for name, values in text.items():
        with (folder / name).open("w", newline="\n") as out:
            np.savetxt(out, values, fmt="%15.7e", delimiter="")


def simulate(seed: int, file: int, fault: int, run: int, steps: int, onset: int) -> np.ndarray:
    """Return one run, float64 [steps][52], rounded to five digits as the process model prints them."""
    rng = np.random.default_rng([seed, file, run, SHARED_NOISE[0] if fault in SHARED_NOISE else fault])
    values = _wander(rng, steps)
    own = np.random.default_rng([seed, file, run, fault, 1])
    if fault and fault not in INVISIBLE:
        values[onset:] += own.uniform(0.7, 1.3) * _effect(own, fault, steps - onset)
    values = BASE + SPREAD * values
    if fault == 6:
        values[onset:, 0] = 0.01 * own.normal(size=steps - onset)  # A feed lost: small readings, also negative
        values[-SATURATED:, [0, 6, 43]] = (0.0, 3000.0, 100.0)
    for first, last, period in ((22, 36, 2), (36, 41, 5)):
        values[:, first:last] = values[np.arange(steps) // period * period, first:last]
    digits = 4 - np.floor(np.log10(BASE)).astype(int)
    return np.round(values * 10.0**digits) / 10.0**digits


def _wander(rng: np.random.Generator, steps: int) -> np.ndarray:
    """Return normal operation in units of a channel's spread: shared slow modes and own noise."""
    modes = np.stack([0.15 * _slow(rng, steps, 0.98) for _ in range(4)], axis=1)
    shares = np.random.default_rng(0).normal(size=(4, len(BASE)))
    return np.asarray(modes @ shares * 0.8 + rng.normal(size=(steps, len(BASE))))


def _slow(rng: np.random.Generator, steps: int, memory: float) -> np.ndarray:
    """Return a random walk with a pull to zero: each step retains the share ``memory`` of the previous one."""
    kernel = memory ** np.arange(200)
    return np.convolve(rng.normal(size=steps + len(kernel) - 1), kernel, mode="valid")


def _effect(rng: np.random.Generator, fault: int, steps: int) -> np.ndarray:
    """Return what a fault adds, in units of a channel's spread: a time course over the channels it moves."""
    plan = np.random.default_rng([7, fault])
    group = plan.choice(len(BASE), 10, replace=False)
    loads = np.zeros(len(BASE))
    loads[group] = plan.choice([-1.0, 1.0], 10) * plan.uniform(2.0, 5.0, 10)
    time = np.arange(steps)
    if fault in RANDOM:
        course = 0.1 * _slow(rng, steps, 0.97) * plan.uniform(2.0, 4.0)
    elif fault in RAMPS:
        course = np.minimum(time / rng.uniform(150, 300), 1.5)
    elif fault in STICKING:
        course = 1.5 * np.sign(np.sin(2 * np.pi * time / plan.integers(8, 30) + rng.uniform(0, 6)))
    else:
        rise = plan.uniform(10, 60)
        course = 1 - np.exp(-time / rise) * np.cos(time / rise)
    return np.asarray(course)[:, None] * loads


def r_data(name: str, columns: Sequence[str], values: Sequence[np.ndarray]) -> bytes:
    """Return a data frame as R's ``save()`` writes it (RDX2, XDR), before compression.

    The second and third columns are integers, the others are reals.
    """

    def integer(*numbers: int) -> bytes:
        return np.array(numbers, ">i4").tobytes()

    def string(text: str) -> bytes:
        return integer(0x40009, len(text)) + text.encode()

    def strings(texts: Sequence[str]) -> bytes:
        return integer(16, len(texts)) + b"".join(string(t) for t in texts)

    def attribute(tag: str, value: bytes) -> bytes:
        return integer(0x402, 1) + string(tag) + value

    vectors = [
        integer(13, len(v)) + np.asarray(v, ">i4").tobytes()
        if i in (1, 2)
        else integer(14, len(v)) + np.asarray(v, ">f8").tobytes()
        for i, v in enumerate(values)
    ]
    rows = len(values[0]) if values else 0
    return b"".join(
        [
            b"RDX2\nX\n" + integer(2, 0x30203, 0x20300),
            attribute(name, integer(0x313, len(vectors))),
            *vectors,
            attribute("names", strings(columns)),
            attribute("row.names", integer(13, 2, -(2**31), -rows)),
            attribute("class", strings(["data.frame"])),
            integer(254),
            integer(254),
        ]
    )
