"""Decoded CAN captures: CSV with one frame per row, and the DBC that defines how many signals each id has.

The columns are ``Label,Time,ID,Signal_1_of_ID,...,Signal_22_of_ID``; a row contains the signals of its own id only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from readbench_data.errors import BadInput

SLOTS = 22
SIGNALS = tuple(f"Signal_{n}_of_ID" for n in range(1, SLOTS + 1))
COLUMNS = ("Label", "Time", "ID", *SIGNALS)
_BLOCK_BYTES = 16 << 20


@dataclass(frozen=True)
class Frames:
    """Some rows of a capture: the first row, ``label`` int64 [n], ``time`` seconds [n], ``id`` int64 [n] and the
    ``cells`` of its signals float64 [n][SLOTS], NaN where the id has no such signal."""

    first_row: int
    label: np.ndarray
    time: np.ndarray
    id: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True)
class Layout:
    """Columns of the pivoted table: sorted ``ids``, and ``column`` [n ids][SLOTS], -1 where an id has no signal."""

    ids: np.ndarray
    column: np.ndarray
    channels: tuple[str, ...]

    @classmethod
    def of(cls, signals: Mapping[int, int]) -> Layout:
        """Return the layout for a number of signals per id."""
        ids = np.array(sorted(signals), np.int64)
        column = np.full((len(ids), SLOTS), -1, np.int64)
        names: list[str] = []
        for place, number in enumerate(ids.tolist()):
            for slot in range(min(signals[number], SLOTS)):
                column[place, slot] = len(names)
                names.append(f"id_{number}_{slot + 1}")
        return cls(ids, column, tuple(names))


@dataclass(frozen=True)
class Capture:
    """A capture on a common clock: ``values`` float32 [T][C], the last value of each step, NaN if there is none;
    ``rows`` int64 [T + 1], the row at which each step begins; ``attacked``, the steps with a frame of Label 1."""

    values: np.ndarray
    rows: np.ndarray
    attacked: np.ndarray


def read_dbc(path: Path) -> dict[int, int]:
    """Return the number of signals per id, from the definitions ``BO_ <id> ...`` and ``SG_ ...`` below it."""
    counts: dict[int, int] = {}
    message: int | None = None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["BO_"] and len(words) > 1 and words[1].isdigit():
            message = int(words[1]) & 0x1FFFFFFF
            counts[message] = 0
        elif words[:1] == ["SG_"] and message is not None:
            counts[message] += 1
    if not any(counts.values()):
        raise BadInput(path, "defines no signal: it is not a DBC file")
    return counts


def scan(paths: Sequence[Path]) -> dict[int, int]:
    """Return the number of signals per id that the captures contain; used if there is no DBC."""
    counts: dict[int, int] = {}
    for path in paths:
        for frames in read_frames(path):
            filled = np.where(np.isfinite(frames.cells), np.arange(1, SLOTS + 1), 0).max(axis=1)
            for number in np.unique(frames.id).tolist():
                counts[number] = max(counts.get(number, 0), int(filled[frames.id == number].max()))
    return counts


def pivot(path: Path, layout: Layout, rate: float) -> Capture:
    """Return a capture at ``rate`` steps per second; frames after its last whole step are left out."""
    values = np.empty((0, len(layout.channels)), np.float32)
    steps_of_rows: list[np.ndarray] = []
    attacked: list[np.ndarray] = []
    last = 0.0
    for frames in read_frames(path):
        _check_times(path, frames, last)
        last = float(frames.time[-1])
        step = np.floor(frames.time * rate).astype(np.int64)
        column = layout.column[_places(path, layout, frames)]
        _check_defined(path, frames, column)
        values = _grown(values, int(step[-1]) + 1)
        for slot in range(SLOTS):
            held = np.flatnonzero(np.isfinite(frames.cells[:, slot]))
            values[step[held], column[held, slot]] = frames.cells[held, slot]  # the last one in a step wins
        steps_of_rows.append(step)
        attacked.append(np.unique(step[frames.label != 0]))
    steps = int(np.floor(last * rate))
    rows = np.searchsorted(np.concatenate(steps_of_rows), np.arange(steps + 1)).astype(np.int64)
    found = np.unique(np.concatenate(attacked))
    return Capture(values[:steps].copy(), rows, found[found < steps])


def _grown(values: np.ndarray, steps: int) -> np.ndarray:
    """Return the table with space for ``steps`` rows; if it has to grow, it is at least doubled."""
    if steps <= len(values):
        return values
    more = np.full((max(steps - len(values), len(values)), values.shape[1]), np.nan, np.float32)
    return np.concatenate([values, more])


def _places(path: Path, layout: Layout, frames: Frames) -> np.ndarray:
    place = np.minimum(np.searchsorted(layout.ids, frames.id), len(layout.ids) - 1)
    _refuse(path, frames, layout.ids[place] != frames.id, "the DBC does not define the id of the frame")
    return place


def _check_defined(path: Path, frames: Frames, column: np.ndarray) -> None:
    extra = (np.isfinite(frames.cells) & (column < 0)).any(axis=1)
    _refuse(path, frames, extra, "the frame has more signals than are defined for its id")


def _check_times(path: Path, frames: Frames, last: float) -> None:
    _refuse(path, frames, ~np.isfinite(frames.time), "the frame has no time")
    _refuse(path, frames, np.diff(frames.time, prepend=last) < 0, "time goes backwards")


def _refuse(path: Path, frames: Frames, wrong: np.ndarray, reason: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadInput(path, f"{reason} (id {frames.id[row]})", row=f"row {frames.first_row + row}")


def read_frames(path: Path) -> Iterator[Frames]:
    """Yield the frames of a capture in blocks. Raises ``BadInput`` if there is none or a cell cannot be read."""
    import pyarrow.csv as pc

    with path.open("rb") as stream:
        header = stream.readline().decode("utf-8", "replace").strip().split(",")
    absent = [c for c in COLUMNS if c not in header]
    if absent:
        raise BadInput(path, "is empty" if header == [""] else f"is missing the column {absent[0]!r}")
    types = {**dict.fromkeys(COLUMNS, pa.float64()), "Label": pa.int64(), "ID": pa.int64()}
    convert = pc.ConvertOptions(column_types=types, include_columns=list(COLUMNS))
    row = 0
    try:
        reader = pc.open_csv(path, pc.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES), convert_options=convert)
        for batch in reader:
            if not batch.num_rows:
                continue
            for place in (0, 2):
                if batch.column(place).null_count:
                    missing = int(np.argmax(batch.column(place).is_null().to_numpy(zero_copy_only=False)))
                    raise BadInput(path, f"the frame has no {COLUMNS[place]}", row=f"row {row + missing}")
            label, time, number, *cells = (c.to_numpy(zero_copy_only=False) for c in batch.columns)
            yield Frames(row, label, time, number, np.column_stack(cells))
            row += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        raise _explained(path, error) from error
    if row == 0:
        raise BadInput(path, "contains no frames")


def _explained(path: Path, error: Exception) -> BadInput:
    """Return Arrow's message with the row, counted from 0 without the header."""
    text = str(error).splitlines()[0]
    row = re.search(r"Row #(\d+):? ?", text)
    if row is None:
        return BadInput(path, text)
    return BadInput(path, text.replace(row[0], ""), row=f"row {int(row[1]) - 2}")
