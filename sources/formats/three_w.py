"""One instance of the 3W Dataset, from Parquet (2.0.0) or CSV (1.x), as plain arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from readbench_data.errors import BadInput
from readbench_data.recordings.recording import NULL_CODE

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class Instance:
    """``values`` float64 [T][C], missing as NaN; ``codes`` int64 [T], ``NULL_CODE`` for null; ``times``
    datetime64[ns] [T], strictly increasing."""

    values: np.ndarray
    codes: np.ndarray
    times: np.ndarray

    def stretches(self) -> list[tuple[int, int]]:
        """Return the maximal row ranges [start, stop) in which steps are exactly one second apart."""
        jumps = (np.flatnonzero(np.diff(self.times) != _SECOND) + 1).tolist()
        return list(zip([0, *jumps], [*jumps, len(self.times)], strict=True))


def read_instance(file: Path, channels: Sequence[str], vocabulary: Sequence[int]) -> Instance:
    """Read the given channels of one file. Raises ``BadInput`` with the row that is wrong."""
    table = _read_parquet(file, channels) if file.suffix == ".parquet" else _read_csv(file, channels)
    if table.num_rows == 0:
        raise BadInput(file, "contains no rows")
    return Instance(
        values=np.column_stack([_numbers(file, table, name) for name in channels]),
        codes=_codes(file, _numbers(file, table, "class"), vocabulary),
        times=_times(file, table.column("timestamp")),
    )


def _read_parquet(file: Path, channels: Sequence[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            columns = _columns(file, channels, parquet.schema_arrow.names)
            return parquet.read(columns=columns, use_pandas_metadata=False)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(file, f"is not a readable Parquet file ({_first_line(error)})") from error


def _read_csv(file: Path, channels: Sequence[str]) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    try:
        with file.open("rb") as stream:
            header = stream.readline().decode("utf-8", "replace").rstrip("\r\n")
        columns = _columns(file, channels, header.split(",") if header else [])
        types = {name: pa.float64() for name in columns} | {"timestamp": pa.timestamp("ns")}
        return csv.read_csv(
            file,
            read_options=csv.ReadOptions(use_threads=False),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=columns, null_values=["", "NaN", "nan"]
            ),
        )
    except (pa.ArrowException, OSError) as error:
        text = _first_line(error)
        line = re.search(r"Row #(\d+)", text)
        row = None if line is None else f"row {int(line[1]) - 2}"
        raise BadInput(file, f"is not a 3W CSV ({text})", row) from error


def _columns(file: Path, channels: Sequence[str], present: Sequence[str]) -> list[str]:
    wanted = [*channels, "class", "timestamp"]
    absent = [name for name in wanted if name not in present]
    if absent:
        found = f"it has {len(present)} columns" if present else "it is empty"
        raise BadInput(file, f"is missing the column {', '.join(absent)} ({found})")
    return wanted


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _numbers(file: Path, table: Any, name: str) -> np.ndarray:
    import pyarrow as pa

    column = table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type) or pa.types.is_null(column.type)):
        raise BadInput(file, f"column {name} contains {column.type}, not numbers")
    return column.cast(pa.float64()).to_numpy()


def _codes(file: Path, raw: np.ndarray, vocabulary: Sequence[int]) -> np.ndarray:
    null = np.isnan(raw)
    strange = ~null & ~np.isin(raw, vocabulary)
    if strange.any():
        row = int(np.argmax(strange))
        known = ", ".join(map(str, vocabulary))
        raise BadInput(file, f"class code {raw[row]:g} is not one of the known codes ({known})", f"row {row}")
    return np.where(null, NULL_CODE, np.nan_to_num(raw)).astype(np.int64)


def _times(file: Path, column: Any) -> np.ndarray:
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        raise BadInput(file, f"column timestamp contains {column.type}, not times")
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy()))
        raise BadInput(file, "has no timestamp", f"row {row}")
    times = column.cast(pa.timestamp("ns")).to_numpy()
    stuck = np.diff(times) <= np.timedelta64(0, "ns")
    if stuck.any():
        row = int(np.argmax(stuck)) + 1
        raise BadInput(file, f"time repeats or goes backwards ({times[row]} after {times[row - 1]})", f"row {row}")
    return times
