"""A table of numbers with a time in its first column, CSV or Parquet, read block by block."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from readbench_data.errors import BadInput


def read_blocks(path: Path, columns: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield times datetime64[s] [n] and the other ``columns`` float64 [n][C], in any order in the file.

    ``columns[0]`` is the time. Raises ``BadInput`` with the line for a missing column or a cell that cannot be parsed.
    """
    try:
        for batch in _parquet_batches(path, columns) if path.suffix == ".parquet" else _csv_batches(path, columns):
            if batch.num_rows:
                numbers = [batch.column(i).cast(pa.float64()) for i in range(1, len(columns))]
                table = np.column_stack([n.to_numpy(zero_copy_only=False) for n in numbers])
                yield batch.column(0).to_numpy(zero_copy_only=False).astype("datetime64[s]"), table
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise _unreadable(path, str(error).splitlines()[0]) from error
    except KeyError as error:
        raise BadInput(path, f"has no column {error.args[0]!r}") from error


def _unreadable(path: Path, message: str) -> BadInput:
    """Return the error for Arrow's message; the line, counted from 1 with the header, becomes its position."""
    line = re.search(r"Row #(\d+): ", message)
    if line is None:
        return BadInput(path, f"cannot be read: {message}")
    return BadInput(path, f"cannot be read: {message.replace(line[0], '')}", f"line {line[1]}")


def _csv_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv as arrow_csv

    with path.open("rb") as stream:
        header = stream.readline().decode("utf-8", "replace").rstrip("\r\n").split(",")
    _require(header, columns)
    types = {columns[0]: pa.timestamp("ns"), **dict.fromkeys(columns[1:], pa.float64())}
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(use_threads=False, block_size=8 << 20),
        convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=list(columns)),
    )
    with reader:
        yield from reader


def _parquet_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches; the time is a column, or the stored index of a data frame under its own name or pandas' name."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 16) as file:
        names = [columns[0] if n == "__index_level_0__" else n for n in file.schema_arrow.names]
        _require(names, columns)
        stored = [file.schema_arrow.names[names.index(c)] for c in columns]
        for batch in file.iter_batches(batch_size=1 << 16, columns=stored):
            yield batch.select(stored)


def _require(names: Sequence[str], columns: Sequence[str]) -> None:
    missing = [c for c in columns if c not in names]
    if missing:
        raise KeyError(missing[0])
