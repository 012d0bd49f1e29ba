"""A small stand-in for ROAD: its layout, names, intervals and 664 signals, with made-up driving.

Every capture with decoded signals is there, attacks with their published intervals and about their true lengths.
Thinned: frames are about ten times less frequent than in the car (so there are fewer rows), ambient captures last a
minute, and raw logs have some dozen lines. The meaning and the course of the signals are made up.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.signal import lfilter

SLOTS = 22
CHANNELS = 664
SPEED, COOLANT, WHEELS = 0x0D0, 0x4E7, 0x6E0
NEVER_SEEN, SEEN_ONCE = 2015, 2000
SEEN_IN = "ambient_dyno_exercise_all_bits"
FILLER = "FFF"
KNOWN_IDS = {SPEED: 9, COOLANT: 7, WHEELS: 4, 1413: 13, 852: 4, 1505: 6, 51: 22, 354: 1, SEEN_ONCE: 3, NEVER_SEEN: 2}
"""Number of signals of some ids: three as in the published sample rows, and the largest and smallest possible."""

INJECTED = {
    "correlated_signal": (WHEELS, "595945450000FFFF"),
    "max_engine_coolant_temp": (COOLANT, "XXXXFFXXXXXXXXXX"),
    "max_speedometer": (SPEED, "XXXXXXXXFFXXXXXX"),
    "reverse_light_off": (SPEED, "XXXXXXXXXX0CXXXX"),
    "reverse_light_on": (SPEED, "XXXXXXXXXX04XXXX"),
}


@dataclass(frozen=True)
class Capture:
    """Name, seconds, driving mode, and seconds [start, end] of the injection if there is one."""

    name: str
    seconds: float
    mode: str
    start: float = 0.0
    end: float = 0.0

    @property
    def family(self) -> str:
        return self.name.partition("_attack")[0]


ATTACKS = (
    Capture("accelerator_attack_drive_1", 85.5, "runaway"),
    Capture("accelerator_attack_drive_2", 71.8, "runaway"),
    Capture("accelerator_attack_reverse_1", 60.3, "runaway"),
    Capture("accelerator_attack_reverse_2", 50.2, "runaway"),
    Capture("correlated_signal_attack_1", 33.1, "cruise", 9.191851, 30.050109),
    Capture("correlated_signal_attack_2", 29.2, "slow", 6.830477, 28.225908),
    Capture("correlated_signal_attack_3", 16.963905, "cruise", 4.318482, 16.95706),
    Capture("max_engine_coolant_temp_attack", 25.875548, "idle", 19.979078, 24.170183),
    Capture("max_speedometer_attack_1", 88.1, "slow", 42.009204, 66.449011),
    Capture("max_speedometer_attack_2", 60.4, "slow", 16.009225, 47.408246),
    Capture("max_speedometer_attack_3", 88.3, "cruise", 9.516489, 70.587285),
    Capture("reverse_light_off_attack_1", 28.109869, "reverse", 16.627923, 23.347311),
    Capture("reverse_light_off_attack_2", 40.2, "reverse", 13.168608, 36.87663),
    Capture("reverse_light_off_attack_3", 45.1, "reverse", 16.524085, 40.862015),
    Capture("reverse_light_on_attack_1", 42.2, "stop_and_go", 18.929177, 38.836015),
    Capture("reverse_light_on_attack_2", 62.3, "stop_and_go", 20.407134, 57.297253),
    Capture("reverse_light_on_attack_3", 55.4, "stop_and_go", 23.070278, 46.580686),
)
FUZZING = (("fuzzing_attack_1", 4.622975, 7.958234), ("fuzzing_attack_2", 11.367798, 13.346811),
           ("fuzzing_attack_3", 4.824447, 5.470669))  # fmt: skip
AMBIENT = tuple(
    Capture(f"ambient_{name}", 60.0, mode)
    for name, mode in (
        *(("dyno_drive_basic_long", "cruise"), ("dyno_drive_basic_short", "slow")),
        *(("dyno_drive_benign_anomaly", "cruise"), ("dyno_drive_extended_long", "stop_and_go")),
        *(("dyno_drive_extended_short", "slow"), ("dyno_drive_radio_infotainment", "cruise")),
        *(("dyno_drive_winter", "cruise"), ("dyno_exercise_all_bits", "idle")),
        *(("dyno_idle_radio_infotainment", "idle"), ("dyno_reverse", "reverse")),
        *(("highway_street_driving_diagnostics", "stop_and_go"), ("highway_street_driving_long", "cruise")),
    )
)


@dataclass(frozen=True)
class Signal:
    """One signal: ``gain`` times a latent state of the car plus ``offset``, or a counter."""

    latent: str
    gain: float
    offset: float


def signals() -> dict[int, list[Signal]]:
    """Return the 664 signals of 105 ids, the same for every seed."""
    rng = np.random.default_rng(664)
    others = [i for i in rng.permutation(np.arange(14, 1900)).tolist() if i not in KNOWN_IDS][: 105 - len(KNOWN_IDS)]
    sizes = rng.multinomial(CHANNELS - sum(KNOWN_IDS.values()) - len(others), np.ones(len(others)) / len(others)) + 1
    counts = {**KNOWN_IDS, **dict(zip(others, sizes.tolist(), strict=True))}
    found = {}
    for number in sorted(counts):
        kinds = rng.choice(
            ["still", "counter", *STATES], counts[number], p=[0.35, 0.12, *[0.53 / len(STATES)] * len(STATES)]
        )
        gains = rng.choice([1.0, 10.0, 100.0], counts[number], p=[0.6, 0.3, 0.1])
        offsets = rng.choice([0.0, 0.0, 128.0, 32765.0, 511.0], counts[number])
        found[number] = [
            Signal(k, g, o) for k, g, o in zip(kinds.tolist(), gains.tolist(), offsets.tolist(), strict=True)
        ]
    found[WHEELS] = [Signal("speed", 10.0, 0.0)] * 4
    found[SPEED][4:6] = [Signal("speed", 1.0, 0.0), Signal("reversing", 8.0, 4.0)]
    found[COOLANT][2] = Signal("heat", 1.0, 0.0)
    return found


STATES = ("speed", "revs", "pedal", "heat", "reversing", "steering")


def states(mode: str, seconds: float, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return the car at 20 steps per second: speed (km/h), revolutions (in tens per minute), pedal and so on."""
    n = int(seconds * 20) + 2
    t = np.arange(n) / 20
    wander = lfilter([0.02], [1, -0.98], rng.normal(0, 1, n))
    phase, haste = rng.uniform(0, 6), rng.uniform(0.4, 1.6)
    speed = {
        "idle": 0 * t,
        "cruise": 60 + 4 * np.sin(t / 9 + phase) + 3 * wander,
        "slow": 25 + 5 * np.sin(t / 6 + phase) + 2 * wander,
        "reverse": 6 + 2 * np.sin(t / 5 + phase) + wander,
        "stop_and_go": np.maximum(0, 35 * np.sin(t / 7 + phase)),
        "runaway": 42 + 12 * np.sin(t / 2.5 + phase) + 2 * wander,
    }[mode] * haste
    stuck = mode == "runaway"
    revs = 80 + 2.4 * speed + (60 + 25 * np.sin(t * 1.7 + phase) if stuck else 0 * t) + rng.normal(0, 1, n)
    return {
        "speed": np.maximum(speed, 0),
        "revs": revs,
        "pedal": np.clip(0 * t if stuck else speed / 2 + 10 * np.sin(t / 3), 0, 100),
        "heat": 120 + 10 * (1 - np.exp(-t / 60)) + rng.uniform(-20, 20),
        "reversing": np.full(n, float(mode == "reverse")),
        "steering": 10 * wander,
    }


def frames(capture: Capture, layout: dict[int, list[Signal]], rng: np.random.Generator) -> pl.DataFrame:
    """Return the decoded frames of a capture in order of time, in the columns of the signal CSV."""
    car = states(capture.mode, capture.seconds, rng)
    blocks = []
    for place, (number, own) in enumerate(layout.items()):
        if number == NEVER_SEEN or (number == SEEN_ONCE and capture.name != SEEN_IN):
            continue
        period = 0.1 if place % 12 == 0 or number in (SPEED, COOLANT, WHEELS) else 1.0 if place % 3 == 0 else 2.0
        times = np.arange(rng.uniform(0, period), capture.seconds, period) + rng.uniform(0, 0.004)
        at = np.minimum((times * 20).astype(int), len(car["speed"]) - 1)
        cells = np.full((len(times), SLOTS), np.nan)
        for slot, signal in enumerate(own):
            if signal.latent == "counter":
                cells[:, slot] = np.arange(len(times)) % 16
            elif signal.latent == "still":
                cells[:, slot] = signal.offset
            else:
                cells[:, slot] = np.round(signal.gain * car[signal.latent][at] + signal.offset)
        attacked = _inject(capture, number, times, cells)
        blocks.append((attacked, times, np.full(len(times), number), cells))
    label, times, ids = (np.concatenate([b[i] for b in blocks]) for i in range(3))
    cells = np.concatenate([b[3] for b in blocks])
    order = np.argsort(times, kind="stable")
    times = times[order] - times[order][0]
    times[-1] = capture.seconds
    columns: dict[str, object] = {"Label": label[order], "Time": times, "ID": ids[order]}
    for slot in range(SLOTS):
        columns[f"Signal_{slot + 1}_of_ID"] = cells[order, slot]
    table = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))
    return table.with_columns(pl.col("Signal_1_of_ID").cast(pl.Int64))


def _inject(capture: Capture, number: int, times: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Replace the signals of the target id within the interval (a masquerade has no other frames); return which frames.

    As in the published tables the frames at the very ends of the interval are not labelled.
    """
    target, _ = INJECTED.get(capture.family, (None, ""))
    inside = (times >= capture.start) & (times <= capture.end) & (number == target)
    values = {
        "correlated_signal": {0: 0x5959, 1: 0x4545, 2: 0, 3: 0xFFFF},
        "max_engine_coolant_temp": {2: 255},
        "max_speedometer": {4: 255},
        "reverse_light_off": {5: 12 - 8},
        "reverse_light_on": {5: 4 + 8},
    }
    for slot, value in values.get(capture.family, {}).items():
        cells[inside, slot] = value
    labelled = inside.astype(np.int64)
    where = np.flatnonzero(inside)
    labelled[where[[0, -1]] if len(where) else where] = 0
    return labelled


def write(folder: Path, seed: int = 42) -> None:
    """Write the tree of road.zip, ``road/...``, into ``folder``."""
    road = folder / "road"
    extractions = road / "signal_extractions"
    for place in (
        "ambient",
        "attacks",
        "signal_extractions/ambient",
        "signal_extractions/attacks",
        "signal_extractions/DBC",
    ):
        (road / place).mkdir(parents=True)
    rng = np.random.default_rng(seed)
    layout = signals()
    for capture in (*ATTACKS, *AMBIENT):
        twin = "_masquerade" if capture.end else ""
        kind = "ambient" if capture in AMBIENT else "attacks"
        path = extractions / kind / f"{capture.name}{twin}.csv"
        frames(capture, layout, rng).write_csv(path)
        if kind == "attacks":
            shutil.copyfile(path, extractions / "ambient" / path.name)
    _write_dbc(extractions / "DBC" / "anonymized.dbc", layout)
    decoded = {c.name + ("_masquerade" if c.end else ""): _metadata(c, bool(c.end)) for c in ATTACKS}
    raw = {c.name + twin: _metadata(c, bool(twin)) for c in ATTACKS for twin in ("", "_masquerade")[: 1 + bool(c.end)]}
    raw |= {n: _entry(12.0, "XXX", "XXXXXXXXXXXXXXXX", (a, b), False) for n, a, b in FUZZING}
    quiet = {c.name: {"description": "made up", "elapsed_sec": c.seconds, "on_dyno": "dyno" in c.name} for c in AMBIENT}
    _write_json(extractions / "attacks" / "metadata.json", decoded)
    _write_json(extractions / "ambient" / "metadata.json", quiet)
    _write_json(road / "attacks" / "capture_metadata.json", raw)
    _write_json(road / "ambient" / "capture_metadata.json", quiet)
    for number, name in enumerate(raw):
        _write_log(road / "attacks" / f"{name}.log", name, number, rng)
    for number, name in enumerate(quiet):
        _write_log(road / "ambient" / f"{name}.log", name, number, rng)
    lines = ["capture,category", *(f"{n},attack" for n in raw), *(f"{n},ambient" for n in quiet)]
    (road / "data_table.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _metadata(capture: Capture, modified: bool) -> dict[str, object]:
    if not capture.end:
        return _entry(capture.seconds, None, None, None, False)
    target, payload = INJECTED[capture.family]
    return _entry(capture.seconds, hex(target), payload, (capture.start, capture.end), modified)


def _entry(
    seconds: float, target: str | None, payload: str | None, interval: tuple[float, float] | None, modified: bool
) -> dict[str, object]:
    return {
        "description": "made up",
        "elapsed_sec": seconds,
        "on_dyno": True,
        "injection_id": target,
        "injection_data_str": payload,
        "injection_interval": None if interval is None else list(interval),
        "modified": modified,
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=4) + "\n", encoding="utf-8", newline="\n")


def _write_dbc(path: Path, layout: dict[int, list[Signal]]) -> None:
    lines = ['VERSION ""', "", "NS_ :", "", "BS_:", "", "BU_: Vector__XXX", ""]
    for number, own in layout.items():
        lines.append(f"BO_ {number} ID_{number:03X}: 8 Vector__XXX")
        for slot in range(len(own)):
            lines.append(f' SG_ Unknown_{slot + 1} : {slot * 2}|2@0+ (1,0) [0|0] "" Vector__XXX')
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8", newline="\n")


def _write_log(path: Path, name: str, number: int, rng: np.random.Generator) -> None:
    """Write some raw frames: fillers, a repeated line, and in a fabrication legitimate next to injected frames."""
    target, payload = INJECTED.get(name.partition("_attack")[0], (SPEED, "XXXXXXXXXXXXXXXX"))
    base = 1_000_000_000 + 10_000_000 * number
    lines = []
    for i in range(40):
        own = i % 4 == 1
        hexadecimal = FILLER if i % 10 == 0 else f"{target:03X}" if own else f"{rng.integers(14, 1900):03X}"
        data = "0" * 16 if hexadecimal == FILLER else rng.bytes(8).hex().upper()
        lines.append(f"({base + i * 0.0004:.6f}) can0 {hexadecimal}#{data}")
        if own and "_attack" in name and "accelerator" not in name and 12 < i < 30:
            injected = "".join(p if p != "X" else d for p, d in zip(payload, data, strict=True))
            frame = f"({base + i * 0.0004 + 0.0001:.6f}) can0 {hexadecimal}#{injected}"
            lines = [*lines[:-1], frame] if name.endswith("_masquerade") else [*lines, frame]
    lines.append(lines[-1])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
