"""A small HAI 21.03: all fifty attacks of the manual at their true length, without the quiet hours between them.

Set points wander as in normal operation. An attack drives the points of its loop along a trapezoid, by an amplitude and
direction of its own, and the loop's other points respond with a delay; noise and slow waves are added to all points.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TABLES = Path(__file__).parents[1] / "tables"

QUIET = 560
"""Seconds between attacks: over two windows, so that each attack is a unit of its own, but for one pair."""
NEAR = {"A205": 190}
"""Seconds before an attack that closely follows the previous one."""

TRUE_SECONDS = {"A209": 199}
"""Durations where the data do not agree with the manual."""
START_SLIP = {"A512": -1}
"""Seconds by which an attack starts before the minute the manual gives."""

TRAIN = {
    "train1": ("2020-07-11T00:00:00", 7000),
    "train2": ("2020-07-12T12:00:00", 5200),
    "train3": ("2020-07-13T06:00:00", 5200),
}
TEST_START = {
    "test1": "2020-07-07T15:00:00",
    "test2": "2020-07-09T15:00:00",
    "test3": "2020-07-13T13:00:00",
    "test4": "2020-07-28T12:00:00",
    "test5": "2020-07-30T11:00:00",
}
"""test3 is within the period of train3, as in the source."""

SKIPPED = {"train2": 2600, "test2": 900}
"""Rows after which one second is missing."""

LOOPS: Mapping[str, Sequence[str]] = {
    "P1-PC": ("P1_B2016", "P1_PCV01D", "P1_PCV01Z", "P1_PCV02D", "P1_PCV02Z", "P1_PIT01", "P1_PIT02", "P1_FT02"),
    "P1-FC": ("P1_B3005", "P1_FCV03D", "P1_FCV03Z", "P1_FT03", "P1_FT03Z", "P1_B400B", "P1_FT01", "P1_FT01Z"),
    "P1-LC": ("P1_B3004", "P1_LCV01D", "P1_LCV01Z", "P1_LIT01", "P1_FCV02D", "P1_FCV02Z", "P1_FT02Z"),
    "P2-SC": ("P2_ASD", "P2_CO_rpm", "P2_SIT01", "P2_SIT02", "P2_VXT02", "P2_VYT02", "P2_VT01", "P4_ST_PO"),
    "P2-TC": ("P2_VTR01", "P2_VTR02", "P2_RTR", "P2_VTR03", "P2_VTR04", "P2_VXT03", "P2_VYT03"),
    "P3-LC": ("P3_LCP01D", "P3_LCV01D", "P3_LIT01", "P3_FIT01", "P3_PIT01", "P4_HT_PO"),
}
"""Points that respond to an attack on a loop."""

SWITCHES = frozenset(
    "P1_PP01AD P1_PP01AR P1_PP01BD P1_PP01BR P1_PP02D P1_PP02R P1_STSP P2_AutoGO P2_Emerg P2_MSD P2_ManualGO "  # noqa: SIM905
    "P2_OnOff P2_TripEx P2_HILout P3_LH P3_LL P4_HT_FD P4_ST_FD".split()
)
INTEGERS = frozenset(("P2_ASD", "P2_RTR", "P2_SIT01", "P2_SIT02", "P2_VTR01", "P2_VTR02", "P3_LCP01D", "P3_LCV01D"))
"""Switches have one constant value; both kinds are written as integers."""


@dataclass(frozen=True)
class Planned:
    """An attack of the manual, with its true extent in rows of its file."""

    attack_id: str
    file: str
    loops: Sequence[str]
    points: str
    manual_seconds: int
    start: int
    stop: int


def _table(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


HEADER = tuple(row["column"] for row in _table("hai_columns.csv"))
CHANNELS = tuple(row["column"] for row in _table("hai_columns.csv") if row["role"] == "channel")


def schedule() -> list[Planned]:
    """Return every attack of the manual's timetable, placed one after another within its file."""
    planned: list[Planned] = []
    cursor: dict[str, int] = {}
    for row in _table("hai_attacks.csv"):
        begin = cursor.get(row["file"], 0) + NEAR.get(row["attack_id"], QUIET)
        if row["file"] not in cursor:
            begin = QUIET
        begin += -begin % 60 if row["attack_id"] not in NEAR else 0
        begin += START_SLIP.get(row["attack_id"], len(planned) * 7 % 50)
        stop = begin + TRUE_SECONDS.get(row["attack_id"], int(row["seconds"]))
        cursor[row["file"]] = stop
        planned.append(
            Planned(
                row["attack_id"],
                row["file"],
                row["controllers"].split("+"),
                row["points"],
                int(row["seconds"]),
                begin,
                stop,
            )
        )
    return planned


def write(folder: Path, seed: int = 42) -> None:
    """Write 21.03, the header of another version, and the timetable below ``folder``."""
    planned = schedule()
    for number, (name, (start, rows)) in enumerate(TRAIN.items()):
        rng = np.random.default_rng([seed, 1, number])
        _write_file(folder / "hai-21.03" / f"{name}.csv.gz", name, start, _values(rng, rows, []), [])
    for number, (name, start) in enumerate(TEST_START.items()):
        rng = np.random.default_rng([seed, 2, number])
        own = [a for a in planned if a.file == name]
        _write_file(folder / "hai-21.03" / f"{name}.csv.gz", name, start, _values(rng, own[-1].stop + QUIET, own), own)
    _write_timetable(folder / "hai-21.03" / "attack_timetable.csv", planned)
    points = [*CHANNELS, *(f"P1_NEW{i}" for i in range(7))]
    _gzip(folder / "hai-22.04" / "test1.csv.gz", ",".join(["timestamp", *points, "Attack"]).encode() + b"\n")


def _values(rng: np.random.Generator, rows: int, attacks: Sequence[Planned]) -> np.ndarray:
    """Return values [rows][79]: set points, waves and noise in units of each point's spread, then scaled."""
    t = np.arange(rows)
    out = rng.normal(0.0, 0.25, (rows, len(CHANNELS)))
    column = {name: i for i, name in enumerate(CHANNELS)}
    for loop in LOOPS.values():
        setting = np.repeat(rng.normal(0.0, 0.5, rows // 1500 + 1), 1500)[:rows]
        lag = np.convolve(np.pad(setting, (39, 0), mode="edge"), np.full(40, 1 / 40), mode="valid")
        for name in loop:
            wave = np.sin(2 * np.pi * t / rng.uniform(90, 400) + rng.uniform(0, 6.28))
            out[:, column[name]] += rng.uniform(0.3, 0.9) * lag + rng.uniform(0.1, 0.35) * wave
    for attack in attacks:
        for loop in dict.fromkeys(attack.loops):
            _strike(rng, out, column, attack, loop)
    scale = np.array([_scale(i) for i in range(len(CHANNELS))])
    centre = np.array([10.0 * scale[i] for i in range(len(CHANNELS))])
    values = centre + scale * out
    for name in SWITCHES:
        values[:, column[name]] = column[name] % 2
    for name in INTEGERS:
        values[:, column[name]] = np.round(centre[column[name]] + 40 * out[:, column[name]])
    return values


def _scale(i: int) -> float:
    """Return the scale of each point; points differ by orders of magnitude: bar, percent, litres, revolutions."""
    return (0.05, 1.0, 12.0, 60.0)[i % 4]


def _strike(rng: np.random.Generator, out: np.ndarray, column: Mapping[str, int], attack: Planned, loop: str) -> None:
    """Add a trapezoid to the points of a loop from the attack's first second on; they recover after its last."""
    long = attack.stop - attack.start
    rise = max(4, int(long * rng.uniform(0.05, 0.25)))
    size = rng.uniform(3.0, 5.5) * (1 if rng.random() < 0.75 else -1)
    shape = np.minimum(np.minimum(np.arange(1, long + 1) / rise, 1.0), np.arange(long, 0, -1) / rise)
    recovery = shape[-1] * np.exp(-np.arange(1, 120) / 25)
    curve = size * np.concatenate([shape, recovery])
    for position, name in enumerate(LOOPS[loop]):
        begin = attack.start + min(3 * position, long // 3)
        part = curve[: len(out) - begin]
        out[begin : begin + len(part), column[name]] += part * (1.0 - 0.07 * position)


def _write_file(file: Path, name: str, start: str, values: np.ndarray, attacks: Sequence[Planned]) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    seconds = np.arange(len(values))
    if name in SKIPPED:
        seconds[SKIPPED[name] :] += 1
    times = np.datetime_as_string(np.datetime64(start, "s") + seconds)
    columns: dict[str, object] = {"time": [t.replace("T", " ") for t in times.tolist()]}
    for i, channel in enumerate(CHANNELS):
        if channel in SWITCHES or channel in INTEGERS:
            columns[channel] = values[:, i].astype(np.int64)
        else:
            columns[channel] = np.round(values[:, i], 5 if _scale(i) < 1 else 3)
    for label, process in (("attack", ""), ("attack_P1", "P1"), ("attack_P2", "P2"), ("attack_P3", "P3")):
        flag = np.zeros(len(values), np.int64)
        for attack in attacks:
            if any(loop.startswith(process) for loop in attack.loops):
                flag[attack.start : attack.stop] = 1
        columns[label] = flag
    body = io.BytesIO()
    options = arrow_csv.WriteOptions(include_header=False, quoting_style="none")
    arrow_csv.write_csv(pa.table(columns), body, options)
    _gzip(file, ",".join(HEADER).encode() + b"\n" + body.getvalue())


def _gzip(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as raw, gzip.GzipFile("", "wb", 3, raw, mtime=0) as stream:
        stream.write(content)


def _write_timetable(file: Path, planned: Sequence[Planned]) -> None:
    lines = ["attack_id,file,start,seconds,controllers,points"]
    for a in planned:
        skipped = 1 if a.file in SKIPPED and a.start >= SKIPPED[a.file] else 0
        begin = np.datetime64(TEST_START[a.file], "s") + (a.start + skipped)
        if a.attack_id in START_SLIP:
            begin -= START_SLIP[a.attack_id]
        minute = str(begin.astype("datetime64[m]")).replace("T", " ")
        lines.append(f"{a.attack_id},{a.file},{minute},{a.manual_seconds},{'+'.join(a.loops)},{a.points}")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
