"""One trace of Exathlon: its time span, and selected metrics on a grid of whole seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from readbench_data.errors import BadInput
from sources.formats.split_zip import ZIP_ERRORS, open_csv

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Grid:
    """Consecutive seconds from ``start`` (Unix time): ``values`` float64 [T][C], NaN where a second has no row.

    ``rows`` and ``row_stops`` int64 [T]: the rows of the file behind each second, an empty range for none.
    """

    start: int
    values: np.ndarray
    rows: np.ndarray
    row_stops: np.ndarray


def metric_name(column: str) -> str:
    """Return a column's name without the words that differ per trace (job, port, rate and batch of the stream)."""
    words = column.split("_")
    if words[0] != "driver" or "StreamingMetrics" not in words:
        return column
    return "_".join(["driver", *words[words.index("StreamingMetrics") :]])


def open_trace(file: Path, parts: Sequence[Path]) -> IO[bytes]:
    """Open the CSV of a trace, zipped, split or plain."""
    return file.open("rb") if file.suffix == ".csv" else open_csv(file, parts)


def time_span(file: Path, parts: Sequence[Path]) -> tuple[int, int]:
    """Return the first and last Unix second of a trace, without parsing the rows between them."""
    try:
        with open_trace(file, parts) as stream:
            _header(file, stream)
            first = stream.readline()
            last = first
            while block := stream.read(_BLOCK):
                last = (last + block)[-_BLOCK:]
    except ZIP_ERRORS as error:
        raise BadInput(file, f"cannot be unpacked ({error})") from error
    return _second(file, first), _second(file, last.rstrip(b"\r\n").rsplit(b"\n", 1)[-1])


def read_trace(file: Path, parts: Sequence[Path], metrics: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return Unix seconds int64 [rows], in the order of the file, and the metrics float64 [rows][C]."""
    import pyarrow as pa
    from pyarrow import csv

    try:
        with open_trace(file, parts) as stream:
            names = _header(file, stream)
            column = {metric_name(name): name for name in names}
            absent = [m for m in metrics if m not in column]
            if absent:
                raise BadInput(file, f"is missing the metric {absent[0]} ({len(names)} columns)")
            wanted = [column[m] for m in metrics]
            table = csv.read_csv(
                pa.PythonFile(stream, "r"),
                read_options=csv.ReadOptions(use_threads=False, column_names=names, block_size=8 << 20),
                convert_options=csv.ConvertOptions(
                    column_types={"t": pa.int64(), **dict.fromkeys(wanted, pa.float64())},
                    include_columns=["t", *wanted],
                    null_values=["", "NaN", "nan"],
                ),
            )
    except ZIP_ERRORS as error:
        raise BadInput(file, f"cannot be unpacked ({error})") from error
    except pa.ArrowException as error:
        text = str(error).strip().splitlines()[0].rstrip(".")
        line = re.search(r"Row #(\d+)", text)
        raise BadInput(
            file, f"is not an Exathlon CSV ({text})", None if line is None else f"row {int(line[1]) - 1}"
        ) from error
    if table.num_rows == 0:
        raise BadInput(file, "contains no rows")
    times = table.column("t")
    if times.null_count:
        raise BadInput(file, "has no time", f"row {int(np.argmax(times.is_null().to_numpy()))}")
    seconds = times.to_numpy()
    back = np.diff(seconds) < 0
    if back.any():
        row = int(np.argmax(back)) + 1
        raise BadInput(file, f"time goes backwards ({seconds[row]} after {seconds[row - 1]})", f"row {row}")
    return seconds, np.column_stack([table.column(name).to_numpy() for name in wanted])


def to_grids(seconds: np.ndarray, values: np.ndarray, max_gap: int) -> list[Grid]:
    """Put rows on whole seconds without gaps: rows of one second become their maximum, a missing second an empty step.

    A new grid begins after a gap of more than ``max_gap`` seconds between two rows.
    """
    first = np.flatnonzero(np.diff(seconds, prepend=seconds[0] - 1))
    stop = np.append(first[1:], len(seconds))
    unique, merged = seconds[first], np.fmax.reduceat(values, first, axis=0)
    breaks = (np.flatnonzero(np.diff(unique) > max_gap) + 1).tolist()
    grids = []
    for a, b in zip([0, *breaks], [*breaks, len(unique)], strict=True):
        offset = unique[a:b] - unique[a]
        steps = np.arange(int(offset[-1]) + 1)
        following = np.searchsorted(offset, steps)
        there = offset[following] == steps
        full = np.full((len(steps), values.shape[1]), np.nan)
        full[offset] = merged[a:b]
        rows = first[a:b][following]
        grids.append(Grid(int(unique[a]), full, rows, np.where(there, stop[a:b][following], rows)))
    return grids


def _header(file: Path, stream: IO[bytes]) -> list[str]:
    names = stream.readline().decode("utf-8", "replace").rstrip("\r\n").split(",")
    if names == [""]:
        raise BadInput(file, "is empty")
    if names[0] != "t":
        raise BadInput(file, f"has {names[0][:40]!r} as first column, not t")
    return names


def _second(file: Path, line: bytes) -> int:
    text = line.split(b",", 1)[0].decode("utf-8", "replace")
    if not text:
        raise BadInput(file, "contains no rows")
    try:
        return int(text)
    except ValueError as error:
        raise BadInput(file, f"{text[:40]!r} is not a Unix second") from error
