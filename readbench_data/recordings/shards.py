"""Curated recordings on disk: one Parquet file per dataset, one row per segment, read and written in pieces.

A row group holds about 64 MB of values, or one segment where that is larger, so memory is bounded by the
largest recording.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from types import TracebackType
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.recordings.segment import Segment, SegmentInfo
from readbench_data.recordings.segment_row import SEGMENT_SCHEMA, VALUES, pack, unpack

ROW_GROUP_BYTES = 64 << 20

KEY = ("recording_id", "segment")
Key = tuple[str, int]
"""Recording and number of a segment."""


class SegmentWriter:
    """Writes segments as they come; use as a context manager."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._writer = pq.ParquetWriter(
            stream,
            SEGMENT_SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=["recording_id", "unit", "source_file", "source_sha256", "native_split"],
            use_byte_stream_split=["values.list.element"],
        )
        self._rows: list[dict[str, Any]] = []
        self._bytes = 0

    def __enter__(self) -> SegmentWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()

    def write(self, segment: Segment) -> None:
        """Add a segment; it is on disk at the latest when the writer is closed."""
        size = segment.values.nbytes
        if self._rows and self._bytes + size > ROW_GROUP_BYTES:
            self._flush()
        self._rows.append(pack(segment) | {VALUES: segment.values})
        self._bytes += size

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = []
        for column in SEGMENT_SCHEMA:
            items = [row[column.name] for row in self._rows]
            columns.append(
                _lists(items, column.type) if pa.types.is_large_list(column.type) else pa.array(items, column.type)
            )
        self._writer.write_table(pa.table(columns, schema=SEGMENT_SCHEMA))
        self._rows, self._bytes = [], 0


def iter_segments(stream: IO[bytes]) -> Iterator[Segment]:
    """Every segment in the order written, one row group in memory at a time."""
    yield from _with_values(_rows(stream))


def read_segments(stream: IO[bytes], wanted: Collection[Key]) -> Iterator[Segment]:
    """The wanted segments only, in the order written; other row groups are not read."""
    yield from _with_values(_rows(stream, wanted))


def read_values(stream: IO[bytes], wanted: Collection[Key]) -> Iterator[tuple[Key, np.ndarray]]:
    """The values [T][C] of the wanted segments, in the order written; nothing else of them is read."""
    for row in _rows(stream, wanted, columns=(*KEY, "steps", VALUES)):
        yield (row["recording_id"], row["segment"]), row[VALUES].reshape(row["steps"], -1)


def iter_info(stream: IO[bytes], wanted: Collection[Key] | None = None) -> Iterator[SegmentInfo]:
    """Every segment, or the wanted ones only, in the order written; values are not read."""
    for row in _rows(stream, wanted, columns=[name for name in SEGMENT_SCHEMA.names if name != VALUES]):
        yield unpack(row)


def _with_values(rows: Iterator[dict[str, Any]]) -> Iterator[Segment]:
    for row in rows:
        info = unpack(row)
        yield info.with_values(row[VALUES].reshape(info.steps, len(info.channels)))


def _rows(
    stream: IO[bytes], wanted: Collection[Key] | None = None, columns: Sequence[str] = SEGMENT_SCHEMA.names
) -> Iterator[dict[str, Any]]:
    """Stored rows, one row group in memory at a time; lists and bytes as flat numpy arrays, which are not copied."""
    file = pq.ParquetFile(stream)
    columns = [name for name in file.schema_arrow.names if name in columns]
    for group in range(file.num_row_groups):
        chosen: list[int] | None = None
        if wanted is not None:
            keys = file.read_row_group(group, columns=[*KEY]).to_pydict()
            pairs = zip(keys["recording_id"], keys["segment"], strict=True)
            chosen = [row for row, key in enumerate(pairs) if key in wanted]
            if not chosen:
                continue
        table = file.read_row_group(group, columns=columns).combine_chunks()
        arrays = {f.name: table.column(f.name) for f in table.schema if _is_array(f.type)}
        places = range(table.num_rows) if chosen is None else chosen
        plain = table.drop_columns(list(arrays)).take(pa.array(places, pa.int64()))
        for at, row in zip(places, plain.to_pylist(), strict=True):
            yield row | {name: _flat(column[at]) for name, column in arrays.items()}


def _is_array(kind: pa.DataType) -> bool:
    return bool(pa.types.is_large_list(kind) or pa.types.is_large_binary(kind))


def _flat(cell: pa.Scalar) -> np.ndarray | None:
    """A list or bytes as a flat array, None for null."""
    if not cell.is_valid:
        return None
    if pa.types.is_large_binary(cell.type):
        return np.frombuffer(cell.as_buffer(), np.uint8)
    return np.asarray(cell.values)


def _lists(items: list[np.ndarray | None], kind: pa.DataType) -> pa.Array:
    """A large list column from whole arrays, None for null."""
    lengths = np.array([0 if i is None else i.size for i in items], np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]))
    dtype = kind.value_type.to_pandas_dtype()
    parts = [np.ascontiguousarray(i, dtype=dtype).reshape(-1) for i in items if i is not None]
    flat = pa.array(np.concatenate(parts) if parts else np.empty(0, dtype), kind.value_type)
    missing = pa.array([i is None for i in items])
    return pa.LargeListArray.from_arrays(offsets, flat, mask=missing)
