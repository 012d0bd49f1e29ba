"""voraus-AD: pick-and-place cycles of a six-axis robot, 130 signals at 100 Hz, twelve kinds of anomaly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import Conflict, SourceOptions, setting
from readbench_data.dataset.provenance import OURS, STATED
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Evidence, Recording
from readbench_data.windows.labeling import LabelMap

FILE = "voraus-ad-dataset-100hz.parquet"
SHA256 = "c90ab1c78af52651b954d41787f7e89d750f0a128b57600b0e5ceec22621f704"
SIZE = 1_115_942_833

ROBOT = ("robot_voltage", "robot_current", "io_current", "system_current")
PER_AXIS = (
    *("target_position", "target_velocity", "target_acceleration", "target_torque"),
    *("computed_inertia", "computed_torque", "motor_position", "motor_velocity"),
    *("joint_position", "joint_velocity", "motor_torque", "torque_sensor_a", "torque_sensor_b"),
    *("motor_iq", "motor_id", "power_motor_el", "power_motor_mech", "power_load_mech"),
    *("motor_voltage", "supply_voltage", "brake_voltage"),
)
CHANNELS = (*ROBOT, *(f"{signal}_{axis}" for axis in range(1, 7) for signal in PER_AXIS))
"""The 130 machine signals in the order of the file: 4 of the robot, then 21 an axis."""

CATEGORIES = (
    *("AXIS_FRICTION", "AXIS_WEIGHT", "COLLISION_FOAM", "COLLISION_CABLE", "COLLISION_CARTON", "MISS_CAN"),
    *("LOSE_CAN", "CAN_WEIGHT", "ENTANGLED", "INVALID_POSITION", "MOTOR_COMMUTATION", "WOBBLING_STATION"),
)
NORMAL_OPERATION = len(CATEGORIES)
PRE_A = 72
"""The setting whose cycles are the publisher's train part; it holds no anomaly."""

LONGEST_CYCLE = 100_000
"""Rows of the longest cycle that is made: a real one has about 1,100."""


class VorausOptions(SourceOptions):
    """What is decided for voraus-AD only."""

    longest_window: ClassVar[int] = LONGEST_CYCLE

    cycle_rows: int = setting(
        provenance=STATED, follows=(1, 0), ge=1, le=LONGEST_CYCLE, description="steps that every cycle is fitted to"
    )
    fit: Literal["crop_or_pad", "resample"] = setting(
        "crop_or_pad",
        provenance=OURS,
        description="how a cycle is fitted: its end is cut off or filled, or the whole cycle is stretched",
    )
    min_rows: int = setting(
        provenance=OURS,
        follows=(0.5, 0),
        ge=0,
        le=LONGEST_CYCLE,
        description="cycles of fewer rows than this have no label and are dropped",
    )

    def conflict(self, length: int, stride: int) -> Conflict | None:
        """A window is cut from one cycle, so it is not longer than a cycle."""
        if length <= self.cycle_rows:
            return None
        return "cycle_rows", f"a whole number of at least the window length, {length}"


def locate(files: FileSet, options: VorausOptions) -> Located:
    """The 100 Hz file; the 500 Hz file and the publisher's test extract are named where they are all there is."""
    found = files.glob(FILE)
    others = dict.fromkeys(files.glob("*500hz.parquet"), "the same cycles at 500 Hz")
    others |= dict.fromkeys(files.glob("test.parquet"), "an extract with the first second of four cycles")
    if not found:
        there = "".join(f"; {name} is {what}" for name, what in others.items())
        raise NoData(f"{FILE} is not there{there}")
    return Located(found[:1], {**others, **dict.fromkeys(found[1:], f"second copy of {found[0]}")})


@dataclass
class Cycle:
    """Consecutive rows of one sample as they are gathered: ``first_row`` in the file, and pieces of
    time [n], labels int64 [n][anomaly, category, setting] and signals float64 [n][130]."""

    sample: int
    first_row: int
    times: list[np.ndarray]
    labels: list[np.ndarray]
    values: list[np.ndarray]


def read(files: FileSet, located: Located, options: VorausOptions) -> Iterator[Recording]:
    """One recording a cycle, fitted to ``cycle_rows`` steps, in the order of the file."""
    (name,) = located.inputs
    steps = options.cycle_rows
    for cycle in read_cycles(files.path(name)):
        category, setting = _constant_labels(files.path(name), cycle)
        recorded = np.concatenate(cycle.values)
        values, first, last = (resample if options.fit == "resample" else crop_or_pad)(recorded, steps)
        evidence = Evidence.native(str(category), steps)
        whole = len(recorded) >= options.min_rows
        yield Recording(
            recording_id=f"sample_{cycle.sample:04d}",
            values=values,
            channels=CHANNELS,
            evidence=evidence if whole else Evidence("native", evidence.spans, ((0, steps),)),
            unit=f"sample_{cycle.sample:04d}",
            source_file=name,
            source_sha256=files.sha256(name),
            native_split="train" if setting == PRE_A else "test",
            clock=Clock(times=np.concatenate(cycle.times)[first]),
            rows=cycle.first_row + first,
            row_stops=cycle.first_row + last,
        )


def crop_or_pad(recorded: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first ``steps`` rows; after the end of a shorter cycle missing, which curation fills with its last row.

    Also the first row and the row after the last that each step is made of, int64 [steps].
    """
    values = np.full((steps, recorded.shape[1]), np.nan)
    values[: len(recorded)] = recorded[:steps]
    rows = np.minimum(np.arange(steps), len(recorded) - 1)
    return values, rows, rows + 1


def resample(recorded: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The whole cycle at ``steps`` evenly spaced places, linear between rows; rows as in ``crop_or_pad``."""
    place = np.linspace(0, len(recorded) - 1, steps)
    low = place.astype(np.int64)
    high = np.minimum(low + 1, len(recorded) - 1)
    share = (place - low)[:, None]
    values = recorded[low] * (1 - share) + np.where(share > 0, recorded[high], 0) * share
    return values, low, np.where(share[:, 0] > 0, high, low) + 1


def read_cycles(path: Path) -> Iterator[Cycle]:
    """Runs of equal ``sample``, in the order of the file, read in batches of rows."""
    seen: set[int] = set()
    open_cycle: Cycle | None = None
    row = 0
    for times, samples, labels, values in _batches(path):
        cuts = np.flatnonzero(np.diff(samples)) + 1
        starts = [0, *cuts.tolist()]
        for start, stop in zip(starts, [*starts[1:], len(samples)], strict=True):
            sample = int(samples[start])
            if open_cycle is None or open_cycle.sample != sample:
                if open_cycle is not None:
                    yield open_cycle
                if sample in seen:
                    raise BadInput(path, f"sample {sample} comes back after another one", f"row {row + start}")
                seen.add(sample)
                open_cycle = Cycle(sample, row + start, [], [], [])
            open_cycle.times.append(times[start:stop])
            open_cycle.labels.append(labels[start:stop])
            open_cycle.values.append(values[start:stop])
        row += len(samples)
    if open_cycle is None:
        raise BadInput(path, "holds no row")
    yield open_cycle


def _batches(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Time [n], sample [n], labels [n][3] and signals [n][130], columns by name."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
            names = file.schema_arrow.names
            setting = "setting" if "setting" in names else "variant"
            labels = ["anomaly", "category", setting]
            wanted = ["time", "sample", *labels, *CHANNELS]
            missing = next((c for c in wanted if c not in names), None)
            if missing is not None:
                raise BadInput(path, f"has no column {'setting' if missing == 'variant' else missing!r}")
            for batch in file.iter_batches(batch_size=1 << 15, columns=wanted):
                for column in ("sample", *labels):
                    if batch.column(column).null_count:
                        raise BadInput(path, f"column {column!r} has a missing value")
                yield (
                    _numbers(batch, ["time"], pa.float64())[:, 0],
                    _numbers(batch, ["sample"], pa.int64())[:, 0],
                    _numbers(batch, labels, pa.int64()),
                    _numbers(batch, list(CHANNELS), pa.float64()),
                )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise BadInput(path, f"cannot be read as Parquet: {str(error).splitlines()[0]}") from error


def _numbers(batch: pa.RecordBatch, names: list[str], kind: pa.DataType) -> np.ndarray:
    """Columns of a batch as one array [n][len(names)]; missing as NaN."""
    columns = [batch.column(n).cast(kind).to_numpy(zero_copy_only=False) for n in names]
    out = np.empty((batch.num_rows, len(names)), columns[0].dtype)
    for i, column in enumerate(columns):
        out[:, i] = column
    return out


def _constant_labels(path: Path, cycle: Cycle) -> tuple[int, int]:
    """Category and setting of a cycle: the label is given to it as a whole, so it may not change inside."""
    labels = np.concatenate(cycle.labels)
    changed = np.flatnonzero((labels != labels[0]).any(axis=1))
    if changed.size:
        where = f"row {cycle.first_row + int(changed[0])}"
        raise BadInput(path, f"the label of sample {cycle.sample} changes inside the cycle", where)
    anomaly, category, setting = labels[0].tolist()
    if not 0 <= category <= NORMAL_OPERATION:
        raise BadInput(path, f"category {category} is not one of 0 to {NORMAL_OPERATION}", f"row {cycle.first_row}")
    if bool(anomaly) != (category != NORMAL_OPERATION):
        reason = f"anomaly and category {category} of sample {cycle.sample} contradict each other"
        raise BadInput(path, reason, f"row {cycle.first_row}")
    return category, setting


SOURCE = Source(
    **about(__file__),
    labels=LabelMap({**{str(i): c for i, c in enumerate(CATEGORIES)}, str(NORMAL_OPERATION): NORMAL}),
    curation=Curation(missing="fill"),
    config=DatasetConfig[VorausOptions](length=1024, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=(RemoteFile(FILE, f"https://media.vorausrobotik.com/{FILE}", sha256=SHA256, size=SIZE),),
    download_bytes=SIZE,
    known_sha256={FILE: SHA256},
    sampling_rate_hz=100.0,
)
