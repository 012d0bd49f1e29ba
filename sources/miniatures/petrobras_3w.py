"""Small stand-ins for Petrobras 3W: 2.0.0 Parquet, 1.x CSV and dataset.ini, with the defects of the real files.

Wells have their own operating point; each fault moves the sensors in its own way, with a random amplitude per instance.
As in the source, values are readings some 33 seconds apart, joined by straight lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

_VARIABLES = (
    "ABER-CKGL ABER-CKP ESTADO-DHSV ESTADO-M1 ESTADO-M2 ESTADO-PXO ESTADO-SDV-GL ESTADO-SDV-P ESTADO-W1 ESTADO-W2 "
    "ESTADO-XO P-ANULAR P-JUS-BS P-JUS-CKGL P-JUS-CKP P-MON-CKGL P-MON-CKP P-MON-SDV-P P-PDG PT-P P-TPT QBS QGL "
    "T-JUS-CKP T-MON-CKP T-PDG T-TPT"
)
_CSV_COLUMNS = "timestamp P-PDG P-TPT T-TPT P-MON-CKP T-JUS-CKP P-JUS-CKGL T-JUS-CKGL QGL class"
VARIABLES = _VARIABLES.split()
CSV_COLUMNS = _CSV_COLUMNS.split()

HOUR = 3600
"""Rows without a label at the head of every real 2.0.0 instance."""

LEVEL = {
    "P-PDG": (2.6e7, 1.6e6),
    "P-TPT": (1.5e7, 1.1e6),
    "T-TPT": (112.0, 5.0),
    "P-MON-CKP": (5.6e6, 6e5),
    "T-JUS-CKP": (70.0, 5.0),
    "P-JUS-CKGL": (1.2e7, 1.4e6),
    "QGL": (1.9, 0.35),
}
"""Centre and spread over wells of the seven sensors."""

PULL: Mapping[str, Mapping[str, float]] = {
    "1": {"P-PDG": 1.6, "P-TPT": 2.2, "T-TPT": 1.2, "T-JUS-CKP": 1.4},
    "2": {"P-PDG": 1.2, "P-TPT": -5.0, "T-TPT": -6.0, "P-MON-CKP": -4.0, "T-JUS-CKP": -4.0},
    "3": {"P-TPT": -0.5},
    "4": {"P-MON-CKP": 0.5},
    "5": {"P-PDG": 2.4, "P-TPT": -1.6, "P-MON-CKP": -2.6, "T-JUS-CKP": -2.4},
    "6": {"P-TPT": 1.4, "P-MON-CKP": 4.0, "T-JUS-CKP": -1.0},
    "7": {"P-MON-CKP": 1.8, "T-JUS-CKP": -3.0, "P-TPT": 0.6},
    "8": {"P-PDG": 1.0, "P-TPT": 3.6, "P-MON-CKP": -3.2, "T-JUS-CKP": -6.0},
    "9": {"P-JUS-CKGL": 2.6, "QGL": -6.0, "P-TPT": 1.2, "T-JUS-CKP": -1.6},
}
"""Shift of the sensors under a fully developed fault, in spreads."""

SWING: Mapping[str, tuple[float, float, Mapping[str, float]]] = {
    "3": (900, 1500, {"P-PDG": 1.2, "P-TPT": 1.8, "P-MON-CKP": 2.6, "T-JUS-CKP": 1.0, "QGL": 0.6}),
    "4": (150, 320, {"P-PDG": 0.6, "P-TPT": 0.9, "P-MON-CKP": 1.3, "T-JUS-CKP": 0.5}),
}
"""Slugging and instability: shortest and longest period in seconds, and amplitudes in spreads."""

Period = tuple[str, int | None, int]
"""State of the well (the fault's class, with ``+`` while it develops, or ``0``), its code, its rows."""


@dataclass(frozen=True)
class Case:
    """One instance. ``live``: sensors that move; ``frozen``: sensors at one value; the others are absent.
    ``defects``: a value written over some rows of a sensor, or over all if the range is None."""

    path: str
    start: str
    periods: Sequence[Period]
    live: Sequence[str]
    frozen: Mapping[str, float] = field(default_factory=dict)
    defects: Sequence[tuple[str, float, tuple[int, int] | None]] = ()


ALL = tuple(LEVEL)
FIVE = ALL[:5]
NO_LABEL: Period = ("0", None, HOUR)


def _onset(fault: str, normal: int, rising: int, steady: int) -> list[Period]:
    code = int(fault)
    phases = [("0", 0, normal), (f"{fault}+", 100 + code, rising), (fault, code, steady)]
    return [p for p in phases if p[2]]


CASES = (
    Case("0/WELL-00006_20170801063614", "2017-08-01T06:36:14", [NO_LABEL, ("0", 0, 5200)], ALL[:6], {"QGL": 0.0}),
    Case("0/WELL-00007_20170617220309", "2017-06-17T22:03:09", [NO_LABEL, ("0", 0, 5100)], FIVE),
    Case("0/WELL-00008_20170818000222", "2017-08-18T00:02:22", [NO_LABEL, ("0", 0, 4700)], ALL[:6], {"QGL": 0.0}),
    Case(
        "1/WELL-00001_20170201010207",
        "2017-02-01T01:02:07",
        [NO_LABEL, *_onset("1", 1100, 1500, 1200)],
        ALL[:6],
        {"QGL": 0.0},
        [("P-JUS-CKGL", -300918.0, (3700, 3900))],
    ),
    Case(
        "1/WELL-00005_20180618060245",
        "2018-06-18T06:02:45",
        [NO_LABEL, *_onset("1", 900, 1300, 1100)],
        ALL[1:5],
        {},
        [("P-PDG", -1.180116e42, None)],
    ),
    Case("1/SIMULATED_00001", "2018-01-01T00:00:00", _onset("1", 800, 1200, 1600), FIVE),
    Case("1/DRAWN_00001", "2018-01-02T00:00:00", _onset("1", 700, 1100, 900), FIVE),
    Case("2/WELL-00003_20141122214325", "2014-11-22T21:43:25", [NO_LABEL, *_onset("2", 600, 1500, 700)], ALL[:4]),
    Case("2/WELL-00009_20170313160804", "2017-03-13T16:08:04", [NO_LABEL, *_onset("2", 1300, 1800, 0)], ALL[1:4]),
    Case("2/SIMULATED_00001", "2018-01-03T00:00:00", _onset("2", 900, 900, 1800), FIVE),
    Case("3/WELL-00014_20170917140000", "2017-09-17T14:00:00", [("3", None, HOUR), ("3", 3, 5000)], ALL),
    Case("3/WELL-00014_20170917152500", "2017-09-17T15:25:00", [("3", None, HOUR), ("3", 3, 3000)], ALL),
    Case("3/SIMULATED_00001", "2018-01-04T00:00:00", [("3", 3, 4100)], FIVE),
    Case("3/SIMULATED_00002", "2018-01-05T00:00:00", [("3", 3, 3900)], FIVE),
    Case(
        "4/WELL-00011_20170316110203",
        "2017-03-16T11:02:03",
        [("4", None, HOUR), ("4", 4, 4100)],
        ALL[1:6],
        {"P-PDG": 3.826583e7, "QGL": 0.0},
    ),
    Case(
        "4/WELL-00011_20170316121200",
        "2017-03-16T12:12:00",
        [("4", None, HOUR), ("4", 4, 4100)],
        ALL[1:6],
        {"P-PDG": 3.826583e7, "QGL": 0.0},
    ),
    Case(
        "4/WELL-00011_20170316132200",
        "2017-03-16T13:22:00",
        [("4", None, HOUR), ("4", 4, 2600)],
        ALL[1:6],
        {"P-PDG": 3.826583e7, "QGL": 0.0},
    ),
    Case(
        "5/WELL-00015_20171013140047",
        "2017-10-13T14:00:47",
        [("5+", None, HOUR), ("5+", 105, 2900)],
        ALL[:5],
        {"P-JUS-CKGL": 0.0},
    ),
    Case("5/WELL-00016_20180405020345", "2018-04-05T02:03:45", [NO_LABEL, *_onset("5", 800, 1600, 600)], ALL[3:5]),
    Case("5/SIMULATED_00001", "2018-01-06T00:00:00", _onset("5", 700, 1500, 1500), FIVE),
    Case("5/SIMULATED_00002", "2018-01-07T00:00:00", _onset("5", 700, 1400, 1300), FIVE),
    Case("6/WELL-00002_20140301151700", "2014-03-01T15:17:00", [NO_LABEL, *_onset("6", 1200, 200, 139)], ALL[:5]),
    Case(
        "6/WELL-00004_20171031181509",
        "2017-10-31T18:15:09",
        [NO_LABEL, *_onset("6", 900, 900, 1500)],
        ALL[1:5],
        {"P-PDG": 0.0},
    ),
    Case("6/SIMULATED_00001", "2018-01-08T00:00:00", _onset("6", 600, 1400, 1400), FIVE),
    Case("6/SIMULATED_00002", "2018-01-09T00:00:00", _onset("6", 600, 1200, 1600), FIVE),
    Case("7/WELL-00018_20180611040207", "2018-06-11T04:02:07", [NO_LABEL, *_onset("7", 300, 3000, 0)], ALL[:6]),
    Case("7/DRAWN_00001", "2018-01-10T00:00:00", _onset("7", 500, 1500, 900), FIVE),
    Case(
        "8/WELL-00019_20170301182317",
        "2017-03-01T18:23:17",
        [NO_LABEL, *_onset("8", 200, 2600, 500)],
        ALL[:6],
        {},
        [("P-JUS-CKGL", 1.5e9, (4000, 4300)), ("T-JUS-CKP", -999.0, (5000, 5040)), ("T-TPT", -99.99, (5040, 5060))],
    ),
    Case(
        "8/WELL-00020_20120410192326",
        "2012-04-10T19:23:26",
        [NO_LABEL, *_onset("8", 200, 2600, 600)],
        FIVE,
        {},
        [("P-TPT", 2.9e9, (4200, 4400)), ("P-TPT", 6.7e8, (5200, 5230))],
    ),
    Case("8/SIMULATED_00001", "2018-01-11T00:00:00", _onset("8", 600, 1300, 1400), FIVE),
    Case("9/SIMULATED_00001", "2018-01-12T00:00:00", _onset("9", 1100, 900, 1900), ALL),
    Case("9/SIMULATED_00002", "2018-01-13T00:00:00", _onset("9", 1100, 900, 1900), ALL),
    Case("9/SIMULATED_00003", "2018-01-15T00:00:00", _onset("9", 900, 900, 1700), ALL),
    Case("9/WELL-00010_20180501000000", "2018-05-01T00:00:00", [NO_LABEL, ("0", 0, 2900)], ALL[:6], {"QGL": 0.0}),
)
"""The instances of 2.0.0. Those of WELL-00014 and of WELL-00011 overlap in time."""

GAP: Period = ("0", None, 40)
OLD_CASES = (
    Case("0/WELL-00004_20140807160311", "2014-08-07T16:03:11", [("0", 0, 1500)], ALL[1:5], {"P-PDG": 0.0}),
    Case("1/DRAWN_00001", "2018-01-02T00:00:00", _onset("1", 500, 900, 600), FIVE),
    Case("1/WELL-00001_20170201020207", "2017-02-01T02:02:07", _onset("1", 1100, 1500, 1200), ALL[:6], {"QGL": 0.0}),
    Case(
        "2/WELL-00003_20180206182917",
        "2018-02-06T18:29:17",
        [("0", 0, 586), GAP, ("2+", 102, 1100), ("2", None, 47), ("2", 2, 542)],
        ALL[:4],
    ),
    Case("3/SIMULATED_00045", "2018-01-14T00:00:00", [("3", 3, 1300)], FIVE),
    Case(
        "6/WELL-00004_20171031200059",
        "2017-10-31T20:00:59",
        [("0", 0, 845), GAP, ("6+", 106, 672), ("6", None, 21), ("6", 6, 140)],
        ALL[1:5],
        {"P-PDG": 0.0},
    ),
    Case("7/WELL-00018_20180611040207", "2018-06-11T04:02:07", [("7+", 107, 1500)], ALL[:5]),
)
"""The instances of 1.x; WELL-00001_20170201020207 is the event that 2.0.0 calls WELL-00001_20170201010207."""

CRLF = ("2/WELL-00003_20180206182917", "1/DRAWN_00001")


def write(folder: Path, seed: int = 42) -> None:
    """Write both versions below ``folder``; the same seed gives the same bytes."""
    made: dict[str, dict[str, np.ndarray]] = {}
    for case in CASES:
        made[case.path] = _series(case, seed)
    _share_overlaps(made)
    for case in CASES:
        _write_parquet(folder / "dataset" / f"{case.path}.parquet", case, made[case.path], seed)
    (folder / "dataset" / "dataset.ini").write_text(DATASET_INI, encoding="utf-8")
    for case in OLD_CASES:
        series = _series(case, seed)
        if case.path.startswith("1/WELL-00001"):
            later = made["1/WELL-00001_20170201010207"]
            series = {name: values[HOUR:] for name, values in later.items()}
        _write_csv(folder / "3w_1.x" / f"{case.path}.csv", case, series)


def _rng(seed: int, *words: str) -> np.random.Generator:
    return np.random.default_rng([seed, *(byte for word in words for byte in word.encode())])


def _series(case: Case, seed: int) -> dict[str, np.ndarray]:
    """Return the seven sensors of one instance, including defects."""
    name = case.path.split("/")[1]
    site = _rng(seed, name.split("_")[0] if name.startswith("WELL") else case.path)
    rng = _rng(seed, case.path, case.start)
    rows = sum(rows for _, _, rows in case.periods)
    fault = next((p[0].rstrip("+") for p in case.periods if p[0] != "0"), "0")
    amplitude = rng.uniform(0.55, 1.25)
    progress = _progress(case.periods) * amplitude
    swing = _swing(rng, fault, rows)
    out: dict[str, np.ndarray] = {}
    for channel, (centre, spread) in LEVEL.items():
        level = centre + spread * site.normal() * (0.8 if name.startswith("WELL") else 0.3)
        pull = PULL.get(fault, {}).get(channel, 0.0) * rng.uniform(0.6, 1.3) * progress
        values = level + spread * (pull + swing.get(channel, 0.0) + _drift(rng, rows))
        if channel == "QGL":
            floor = -0.0089 if name.startswith("SIMULATED") else 0.0
            values = np.maximum(values, floor)
        if channel in case.live:
            out[channel] = np.round(values, 6 - int(np.log10(centre)))
        elif channel in case.frozen:
            out[channel] = np.full(rows, case.frozen[channel])
    for channel, value, span in case.defects:
        if span is None:
            out[channel] = np.full(rows, value)
        else:
            out[channel][slice(*span)] = value
    return out


def _progress(periods: Sequence[Period]) -> np.ndarray:
    """Return how far the fault has developed at each row, 0 to 1."""
    parts = []
    for what, _, rows in periods:
        if what == "0":
            parts.append(np.zeros(rows))
        elif what.endswith("+"):
            parts.append(np.linspace(0.0, 1.0, rows) ** 0.6)
        else:
            parts.append(np.ones(rows))
    return np.concatenate(parts)


def _swing(rng: np.random.Generator, fault: str, rows: int) -> dict[str, np.ndarray]:
    if fault not in SWING:
        return {}
    shortest, longest, amplitudes = SWING[fault]
    period = rng.uniform(shortest, longest)
    wander = np.cumsum(rng.normal(0.0, 0.01, rows))
    phase = 2 * np.pi * np.arange(rows) / period + wander + rng.uniform(0, 2 * np.pi)
    wave = np.sin(phase) + 0.35 * np.sin(2 * phase + 0.8)
    scale = rng.uniform(0.7, 1.3)
    return {channel: scale * size * wave for channel, size in amplitudes.items()}


def _drift(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Return slow drift and noise of the readings, about 33 seconds apart and joined by straight lines."""
    times = np.concatenate([[0.0], np.cumsum(rng.integers(15, 52, rows // 15 + 2))])
    readings = 0.02 * np.cumsum(rng.normal(0.0, 1.0, len(times))) + rng.normal(0.0, 0.1, len(times))
    return np.interp(np.arange(rows), times, readings)


def _share_overlaps(made: dict[str, dict[str, np.ndarray]]) -> None:
    """Make instances of one well equal where they overlap: the later one takes the earlier one's values."""
    for well in ("3/WELL-00014", "4/WELL-00011"):
        cases = [c for c in CASES if c.path.startswith(well)]
        for earlier, later in zip(cases[:-1], cases[1:], strict=True):
            lag = int((np.datetime64(later.start) - np.datetime64(earlier.start)) / np.timedelta64(1, "s"))
            for channel, values in made[later.path].items():
                tail = made[earlier.path][channel][lag:]
                values[: len(tail)] = tail


def _codes(case: Case) -> list[int | None]:
    return [code for _, code, rows in case.periods for _ in range(rows)]


def _write_parquet(file: Path, case: Case, series: Mapping[str, np.ndarray], seed: int) -> None:
    import pandas as pd

    codes = _codes(case)
    rng = _rng(seed, case.path, "others")
    start = np.datetime64(case.start, "ns")
    columns: dict[str, object] = {}
    for name in VARIABLES:
        if name in series:
            columns[name] = pd.array(series[name], dtype="float64")
        elif name.startswith("ESTADO") and case.path.split("/")[1].startswith("WELL"):
            columns[name] = np.full(len(codes), float(rng.integers(0, 2)))
        else:
            columns[name] = np.full(len(codes), np.nan)
    columns["class"] = pd.array(codes, dtype="Int16")
    columns["state"] = pd.array([None if c is None else 0 for c in codes], dtype="Int16")
    index = pd.DatetimeIndex(start + np.arange(len(codes)) * np.timedelta64(1, "s"), name="timestamp")
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(columns, index=index).to_parquet(file, compression="brotli", engine="pyarrow")


def _write_csv(file: Path, case: Case, series: Mapping[str, np.ndarray]) -> None:
    codes = _codes(case)
    start = np.datetime64(case.start, "us")
    times = np.datetime_as_string(start + np.arange(len(codes)) * np.timedelta64(1, "s"))
    cells: dict[str, list[str]] = {name: [""] * len(codes) for name in CSV_COLUMNS}
    cells["timestamp"] = [t.replace("T", " ") for t in times.tolist()]
    for name, values in series.items():
        cells[name] = [f"{v:.6e}" for v in values.tolist()]
    cells["class"] = ["" if c is None else str(c) for c in codes]
    end = "\r\n" if case.path in CRLF else "\n"
    lines = [",".join(CSV_COLUMNS), *(",".join(row) for row in zip(*cells.values(), strict=True))]
    closing = "" if case.path.startswith("0/") else end
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes((end.join(lines) + closing).encode())


DATASET_INI = """\
# 3W Dataset's main configuration file.

[VERSION]
DATASET = 2.0.0

[PARQUET_FILE_PROPERTIES]
timestamp = Instant at which observation was generated
ABER-CKGL = Opening of the GLCK (gas lift choke) [%%]
ABER-CKP = Opening of the PCK (production choke) [%%]
ESTADO-DHSV = State of the DHSV (downhole safety valve) [0, 0.5, or 1]
P-PDG = Pressure at the PDG (permanent downhole gauge) [Pa]
class = Label of the observation
state = Well operational status

[EVENTS]
NAMES = NORMAL, ABRUPT_INCREASE_OF_BSW, SPURIOUS_CLOSURE_OF_DHSV,
    SEVERE_SLUGGING, FLOW_INSTABILITY, RAPID_PRODUCTIVITY_LOSS,
    QUICK_RESTRICTION_IN_PCK, SCALING_IN_PCK,
    HYDRATE_IN_PRODUCTION_LINE, HYDRATE_IN_SERVICE_LINE
EXTRA_INSTANCES_TRAINING = -1
TRANSIENT_OFFSET = 100

[SPURIOUS_CLOSURE_OF_DHSV]
LABEL = 2
TRANSIENT = True
WINDOW = 180
STEP = 15

[PARQUET_SETTINGS]
PARQUET_ENGINE = pyarrow
PARQUET_COMPRESSION = brotli
"""
