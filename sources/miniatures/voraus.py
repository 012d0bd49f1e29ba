"""A small stand-in for voraus-AD: one Parquet with the 137 columns, their types, and the stored index.

The cycle is made up: each signal follows a smooth course over fifteen actions. Counts of samples are about a
seventh of the true ones, so that after a 70/30 split the largest class is still about 15.6 times the smallest.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

AXES = 6
PER_AXIS = (
    *("target_position", "target_velocity", "target_acceleration", "target_torque"),
    *("computed_inertia", "computed_torque", "motor_position", "motor_velocity"),
    *("joint_position", "joint_velocity", "motor_torque", "torque_sensor_a", "torque_sensor_b"),
    *("motor_iq", "motor_id", "power_motor_el", "power_motor_mech", "power_load_mech"),
    *("motor_voltage", "supply_voltage", "brake_voltage"),
)
SIGNALS = (
    *("robot_voltage", "robot_current", "io_current", "system_current"),
    *(f"{signal}_{axis}" for axis in range(1, AXES + 1) for signal in PER_AXIS),
)
META = (
    pa.field("time", pa.float64()),
    pa.field("sample", pa.int64()),
    pa.field("anomaly", pa.bool_()),
    pa.field("category", pa.int64()),
    pa.field("setting", pa.int64()),
    pa.field("action", pa.uint8()),
    pa.field("active", pa.int64()),
)
ANOMALOUS = (21, 23, 10, 7, 3, 2, 11, 11, 2, 2, 13, 5)
"""Samples per category."""
NORMAL = 12
NORMAL_SETTINGS = {72: 26, 73: 9, 74: 1, 75: 1, 76: 1}
SHORTEST, MEDIAN, LONGEST = 986, 1096, 1164
STEP = 0.010067
LEVELS = 1 / 32
"""Values are multiples of this, so that the file is small."""


def write(folder: Path, seed: int = 42) -> None:
    """Write voraus-ad-dataset-100hz.parquet into ``folder``, in row groups of about ten samples."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    course = nominal_course(rng)
    schema = pa.schema([pa.field("index", pa.int64()), *META, *(pa.field(s, pa.float64()) for s in SIGNALS)])
    samples = schedule(rng)
    path = folder / "voraus-ad-dataset-100hz.parquet"
    row = 0
    with pq.ParquetWriter(path, schema, compression="snappy", write_statistics=False) as writer:
        for first in range(0, len(samples), 10):
            pieces = []
            for sample, category, setting, rows in samples[first : first + 10]:
                pieces.append(_cycle(course, row, sample, category, setting, rows, rng))
                row += rows
            columns = [np.concatenate(c) for c in zip(*pieces, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))


def schedule(rng: np.random.Generator) -> list[tuple[int, int, int, int]]:
    """Return sample id, category, setting and rows of every cycle: normal first, then normal and anomalous mixed."""
    before = [(NORMAL, 72)] * NORMAL_SETTINGS[72]
    rest = [(NORMAL, setting) for setting, n in NORMAL_SETTINGS.items() if setting != 72 for _ in range(n)]
    faults = [(c, 6 * c + int(rng.integers(6))) for c, n in enumerate(ANOMALOUS) for _ in range(n)]
    order = [*before, *((rest + faults)[i] for i in rng.permutation(len(rest) + len(faults)))]
    ids = np.sort(rng.choice(2122, len(order), replace=False))
    rows = np.clip(rng.normal(MEDIAN, 35, len(order)).round(), SHORTEST, LONGEST).astype(int)
    rows[[3, 40, 60]] = SHORTEST, LONGEST, 1024
    return [(int(i), c, s, int(n)) for i, (c, s), n in zip(ids, order, rows, strict=True)]


def nominal_course(rng: np.random.Generator) -> np.ndarray:
    """Return the signals over one cycle, float64 [LONGEST][130]: constant voltages, and moves from pose to pose."""
    steps = np.arange(LONGEST)
    starts = np.linspace(0, LONGEST - 60, 8)
    course = np.empty((LONGEST, len(SIGNALS)))
    for i, name in enumerate(SIGNALS):
        if "voltage" in name and not name.startswith("motor"):
            course[:, i] = 48.0
            continue
        moves = rng.normal(0, 1, len(starts))
        ramps = 1 / (1 + np.exp(-(steps[:, None] - starts - 30) / 12))
        position = ramps @ moves
        course[:, i] = position if "position" in name else 20 * np.gradient(position)
    return course


def _cycle(
    course: np.ndarray, first_row: int, sample: int, category: int, setting: int, rows: int, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return the columns of one cycle: the nominal course at its own speed, deformed by its category, plus noise."""
    steps = np.arange(rows)
    place = np.minimum((steps * rng.uniform(0.985, 1.0)).astype(np.int64) + int(rng.integers(0, 12)), LONGEST - 1)
    values = course[place]
    if category != NORMAL:
        deform(values, category, rng)
    noisy = values + 0.15 * rng.standard_normal(values.shape, dtype=np.float32)
    noisy[:, [i for i, s in enumerate(SIGNALS) if s.startswith("supply_voltage")]] = 48.0
    time = float(rng.choice([0.0, 0.004, 0.008])) + steps * STEP + rng.uniform(-4e-5, 4e-5, rows)
    meta = [
        first_row + steps,
        np.maximum(time, 0),
        np.full(rows, sample),
        np.full(rows, category != NORMAL),
        np.full(rows, category),
        np.full(rows, setting),
        np.minimum(steps * 15 // rows, 14).astype(np.uint8),
        np.ones(rows, np.int64),
    ]
    return [*meta, *(np.round(noisy / LEVELS) * LEVELS).T]


def deform(values: np.ndarray, category: int, rng: np.random.Generator) -> None:
    """Deform the torques and currents of an axis as a kind of anomaly does (in place); the shapes are made up."""
    rows = len(values)
    steps = np.arange(rows)
    axis = category % AXES
    chosen = [i for i, s in enumerate(SIGNALS) if s in (f"motor_torque_{axis + 1}", f"motor_iq_{axis + 1}")]
    shape: np.ndarray
    size = rng.uniform(0.3, 1.5)
    onset = int(rng.integers(rows // 5, rows // 2))
    if category in (0, 1, 7):
        shape = size * (0.6 + 0.4 * category) * np.ones(rows)
    elif category in (2, 3, 4):
        shape = 8 * size * np.exp(-np.maximum(steps - onset, 0) / (30 * (category - 1))) * (steps >= onset)
    elif category in (5, 6):
        shape = -2 * size * (steps >= onset)
    elif category == 8:
        shape = 4 * size * np.maximum(steps - onset, 0) / rows
    elif category == 9:
        shape = 3 * size * np.sin(np.pi * steps / rows)
    elif category == 10:
        shape = 2 * size * np.sin(2 * np.pi * steps / 20 + rng.uniform(0, 6))
    else:
        shape = 2 * size * np.sin(2 * np.pi * steps / 150 + rng.uniform(0, 6))
    values[:, chosen] += shape[:, None]
