"""One CSV file of HAI, plain or gzipped, as arrays."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from readbench_data.errors import BadInput

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class Table:
    """``values`` float32 [T][C], missing as NaN; ``attack`` bool [T]; ``times`` datetime64[ns] [T], increasing."""

    values: np.ndarray
    attack: np.ndarray
    times: np.ndarray

    def attack_runs(self) -> list[tuple[int, int]]:
        """Return the maximal row ranges [start, stop) under attack."""
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.attack.astype(np.int8), [0]])))
        return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]

    def stretches(self) -> list[tuple[int, int]]:
        """Return the maximal row ranges [start, stop) without a missing second."""
        jumps = (np.flatnonzero(np.diff(self.times) != _SECOND) + 1).tolist()
        return list(zip([0, *jumps], [*jumps, len(self.times)], strict=True))


def read_header(file: Path) -> str:
    """Return the first line; empty if there is none."""
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as stream:
            return stream.readline(1 << 16).decode("utf-8", "replace").rstrip("\r\n")
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(file, f"cannot be read ({error})") from error


def read_table(file: Path, header: Sequence[str], channels: Sequence[str]) -> Table:
    """Read a whole file. Raises ``BadInput`` if its header is not ``header``."""
    import pyarrow as pa
    from pyarrow import csv

    _check_header(file, header)
    types = dict.fromkeys(header, pa.float64()) | {header[0]: pa.timestamp("ns")}
    try:
        table = csv.read_csv(
            file,
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=csv.ConvertOptions(column_types=types, null_values=["", "NaN", "nan"]),
        )
    except (pa.ArrowException, OSError, EOFError) as error:
        text = str(error).strip().splitlines()[0].rstrip(".")
        line = re.search(r"Row #(\d+)", text)
        row = None if line is None else f"row {int(line[1]) - 2}"
        raise BadInput(file, f"is not a HAI CSV ({text})", row) from error
    if table.num_rows == 0:
        raise BadInput(file, "contains no rows")
    values = np.empty((table.num_rows, len(channels)), np.float32)
    with np.errstate(over="ignore"):
        for column, name in enumerate(channels):
            values[:, column] = table.column(name).to_numpy()
    return Table(values, _flags(file, table.column("attack").to_numpy()), _times(file, table.column(0)))


def _check_header(file: Path, header: Sequence[str]) -> None:
    names = read_header(file).split(",")
    if names == [""]:
        raise BadInput(file, "is empty")
    absent = [name for name in header if name not in names]
    if absent:
        raise BadInput(
            file, f"is missing the column {', '.join(absent[:3])} ({len(names)} columns instead of {len(header)})"
        )
    if names != list(header):
        raise BadInput(file, f"has {len(names)} columns that are not the {len(header)} of HAI 21.03 in their order")


def _flags(file: Path, column: np.ndarray) -> np.ndarray:
    strange = ~np.isin(column, (0, 1))
    if strange.any():
        row = int(np.argmax(strange))
        raise BadInput(file, f"attack is {column[row]:g}, not 0 or 1", f"row {row}")
    return column == 1


def _times(file: Path, column: Any) -> np.ndarray:
    if column.null_count:
        raise BadInput(file, "has no time", f"row {int(np.argmax(column.is_null().to_numpy()))}")
    times = column.to_numpy()
    stuck = np.diff(times) <= np.timedelta64(0, "ns")
    if stuck.any():
        row = int(np.argmax(stuck)) + 1
        raise BadInput(file, f"time repeats or goes backwards ({times[row]} after {times[row - 1]})", f"row {row}")
    return times
