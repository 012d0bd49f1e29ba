"""DAMADICS stand-ins: zip archives of daily text files, 33 columns, with the fault events at their true seconds.

Days are shorter than the real 86,400 seconds: each holds the stretch around its events (the seconds of column 1
are the true ones). A fault acts on the channels of its actuator and leaves the other two healthy.
"""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path

import numpy as np

TABLES = Path(__file__).parents[1] / "tables"
STRETCHES = {
    "27102001": (20_000, 23_000),
    "30102001": (56_480, 60_500),
    "01112001": (30_016, 36_000),
    "09112001": (56_480, 61_500),
    "17112001": (53_024, 59_000),
    "20112001": (36_992, 49_000),
}
"""Day -> first and last second, from a multiple of 32 on, so that windows start as in a whole day. Days between them
are missing, as in the real set."""
ARCHIVES = {"part1": ("27102001", "01112001"), "part2": ("09112001",), "part3": ("17112001", "20112001"),
            "part4": ("30102001",)}  # fmt: skip
MANUAL_CONTROL = ("27102001", 21_000, 22_200)
"""Twenty minutes of manual control that are not in any table."""

LEVEL = np.array([
    400, 250, 118, 230, 45, 44, 62, 119, 117, 14, 30, 38, 210, 122, 140, 121, 320, 210, 85, 52, 40, 41,
    2400, 2100, 110, 17, 48, 47, 50, 18, 2200, 380,
])  # fmt: skip
"""Typical reading of the 32 channels, within their transducer ranges."""
SPREAD = np.minimum(0.01 * LEVEL + 0.2, 1.5)
ROLES = {
    "1": {"P1": 0, "P2": 1, "T": 2, "F": 3, "CV": 4, "X": 5, "PV": 6},
    "2": {"P1": 16, "P2": 17, "T": 18, "F": 19, "CV": 20, "X": 21},
    "3": {"P1": 22, "P2": 23, "T": 24, "F": 25, "CV": 26, "X": 27, "PV": 28},
}
"""Actuator -> role -> position among the 32 channels."""

PLANT = {"f16": (8, 9), "f17": (12, 14), "f18": (7, 13), "f19": (11, 15)}
"""Channels of the plant around the valves that react to a kind of fault, in whichever valve it is."""


def write(folder: Path, seed: int = 42) -> None:
    """Write the four archives into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with (TABLES / "damadics_events.csv").open(encoding="utf-8", newline="") as stream:
        events = list(csv.DictReader(stream))
    for part, days in ARCHIVES.items():
        with zipfile.ZipFile(folder / f"Lublin_all_data_{part}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=6) as out:
            for day in days:
                member = zipfile.ZipInfo(f"Lublin_all_data/{day}.txt", (2001, 12, 1, 0, 0, 0))
                member.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(member, _text(day, [e for e in events if e["day"] == day], seed))


def _text(day: str, events: list[dict[str, str]], seed: int) -> str:
    begin, end = STRETCHES[day]
    rng = np.random.default_rng([seed, int(day)])
    values = _normal(rng, end - begin)
    for event in events:
        first = int(event["start"])
        last = int(event["end"] or end - 1) + 1
        _apply(rng, values, event["code"], event["actuator"], first - begin, last - begin)
    if day == MANUAL_CONTROL[0]:
        first, last = MANUAL_CONTROL[1] - begin, MANUAL_CONTROL[2] - begin
        values[first:last, ROLES["1"]["CV"]] = 0.0
        values[first:last, ROLES["1"]["PV"]] += 25 / SPREAD[6] * np.sin(np.linspace(0, np.pi, last - first))
    readings = LEVEL + SPREAD * values
    if day == "01112001":
        readings[:40, 10] = np.nan
        readings[2_000:2_020, 25] = np.nan
    out = io.StringIO()
    np.savetxt(out, np.column_stack([np.arange(begin, end), readings]), fmt=["%d", *["%.2f"] * 32], delimiter="\t")
    return out.getvalue().replace("nan", "NaN")


def _normal(rng: np.random.Generator, steps: int) -> np.ndarray:
    """Return normal operation in units of a channel's spread: slow common modes and own noise."""
    kernel = 0.995 ** np.arange(900)
    modes = np.stack([np.convolve(rng.normal(size=steps + 899), kernel, mode="valid") for _ in range(3)], axis=1)
    shares = np.random.default_rng(0).normal(size=(3, len(LEVEL)))
    return np.asarray(0.04 * modes @ shares + 0.5 * rng.normal(size=(steps, len(LEVEL))))


def _apply(rng: np.random.Generator, values: np.ndarray, code: str, actuator: str, first: int, last: int) -> None:
    """Change rows [first, last) in place, in units of a channel's spread."""
    roles, size = ROLES[actuator], rng.uniform(0.8, 1.2)
    part = values[first:last]
    time = np.arange(len(part))
    rise = 1 - np.exp(-time / 12)
    # The valve of actuator 1 is commanded in percent of closing, the others in percent of opening.
    opening = -1.0 if actuator == "1" else 1.0
    part[:, PLANT[code]] += 8 * size * rise[:, None]
    if code == "f16":  # less force to hold the valve: the rod creeps away and the controller pushes against it
        part[:, roles["X"]] -= opening * 12 * size * rise
        part[:, roles["CV"]] += opening * 9 * size * rise
        part[:, roles["F"]] -= 5 * size * rise
    elif code == "f17":  # pressures before and after the valve diverge, with pulses
        pulse = 1 + 0.4 * np.sin(2 * np.pi * time / 45)
        part[:, roles["P1"]] += 9 * size * rise * pulse
        part[:, roles["P2"]] -= 7 * size * rise * pulse
        part[:, roles["F"]] += 4 * size * rise
    elif code == "f18":  # flow past the valve, which closes to make up for it
        part[:, roles["F"]] += 10 * size * rise
        part[:, roles["CV"]] -= opening * 6 * size * rise
        part[:, roles["X"]] -= opening * 6 * size * rise
    else:  # f19, a flow sensor with wrong readings; on actuator 2 the recorded flow stays correct
        if actuator != "2":
            part[:, roles["F"]] -= 11 * size
        part[:, roles["CV"]] += opening * 8 * size * rise
        part[:, roles["X"]] += opening * 8 * size * rise
