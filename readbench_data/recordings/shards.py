"""Curated recordings on disk: one Parquet file a dataset, one row a segment, read and written in pieces.

A row group holds about 64 MB of values, or one segment where that is larger, so memory is bounded by the
largest recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from types import TracebackType
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.recordings.curation import Segment
from readbench_data.recordings.recording import Clock, Event, Evidence, UnitSpans

ROW_GROUP_BYTES = 64 << 20

_INTS = pa.large_list(pa.int64())
SEGMENT_SCHEMA = pa.schema(
    [
        ("recording_id", pa.string()),
        ("segment", pa.int32()),
        ("steps", pa.int64()),
        ("channels", pa.list_(pa.string())),
        ("values", pa.large_list(pa.float32())),
        ("evidence", pa.string()),
        ("unit", pa.string()),
        ("source_file", pa.string()),
        ("source_sha256", pa.string()),
        ("native_split", pa.string()),
        ("clock", pa.string()),
        ("times", _INTS),
        ("first_row", pa.int64()),
        ("rows", _INTS),
        ("row_stops", _INTS),
        ("window_starts", _INTS),
        ("filled", pa.large_list(pa.int32())),
        ("masked", pa.large_list(pa.int32())),
        ("filled_cells", pa.large_binary()),
        ("masked_cells", pa.large_binary()),
        ("context", _INTS),
        ("extras", pa.string()),
    ]
)


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
        size = segment.values.nbytes
        if self._rows and self._bytes + size > ROW_GROUP_BYTES:
            self._flush()
        self._rows.append(_row(segment))
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


def _lists(items: list[np.ndarray | None], kind: pa.DataType) -> pa.Array:
    """A large list column from whole arrays, None for null."""
    lengths = np.array([0 if i is None else i.size for i in items], np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]))
    dtype = kind.value_type.to_pandas_dtype()
    parts = [np.ascontiguousarray(i, dtype=dtype).reshape(-1) for i in items if i is not None]
    flat = pa.array(np.concatenate(parts) if parts else np.empty(0, dtype), kind.value_type)
    missing = pa.array([i is None for i in items])
    return pa.LargeListArray.from_arrays(offsets, flat, mask=missing)


def _row(segment: Segment) -> dict[str, Any]:
    clock, times = _pack_clock(segment.clock)
    return {
        "recording_id": segment.recording_id,
        "segment": segment.number,
        "steps": segment.steps,
        "channels": list(segment.channels),
        "values": segment.values,
        "evidence": _pack_evidence(segment.evidence),
        "unit": json.dumps(segment.unit if isinstance(segment.unit, str) else asdict(segment.unit)),
        "source_file": segment.source_file,
        "source_sha256": segment.source_sha256,
        "native_split": segment.native_split,
        "clock": clock,
        "times": times,
        "first_row": segment.first_row,
        "rows": segment.rows,
        "row_stops": segment.row_stops,
        "window_starts": segment.window_starts,
        "filled": segment.filled,
        "masked": segment.masked,
        "filled_cells": None if segment.filled_cells is None else segment.filled_cells.tobytes(),
        "masked_cells": None if segment.masked_cells is None else segment.masked_cells.tobytes(),
        "context": segment.context,
        "extras": json.dumps(segment.extras, sort_keys=True),
    }


def _pack_evidence(evidence: Evidence) -> str:
    spans = evidence.spans
    columns: dict[str, Any] = {
        "code": [s.code for s in spans],
        "start": [s.start for s in spans],
        "stop": [s.stop for s in spans],
    }
    if any(s.event_id or s.rca_target or s.rca_affected for s in spans):
        columns |= {
            "event_id": [s.event_id for s in spans],
            "rca_target": [s.rca_target for s in spans],
            "rca_affected": [list(s.rca_affected) for s in spans],
        }
    return json.dumps({"kind": evidence.kind, "spans": columns, "unlabelled": [list(u) for u in evidence.unlabelled]})


def _unpack_evidence(text: str) -> Evidence:
    plain = json.loads(text)
    columns = plain["spans"]
    n = len(columns["code"])
    spans = tuple(
        Event(code, start, stop, event_id, target, tuple(affected))
        for code, start, stop, event_id, target, affected in zip(
            columns["code"],
            columns["start"],
            columns["stop"],
            columns.get("event_id", [""] * n),
            columns.get("rca_target", [None] * n),
            columns.get("rca_affected", [[]] * n),
            strict=True,
        )
    )
    return Evidence(plain["kind"], spans, tuple((a, b) for a, b in plain["unlabelled"]))


def _pack_clock(clock: Clock | None) -> tuple[str | None, np.ndarray | None]:
    """A clock as JSON and, where its times are explicit, as the 64 bits of each of them."""
    if clock is None:
        return None, None
    if clock.times is not None:
        kind, times = _bits(clock.times)
        end = None if clock.end is None else int(_bits(np.asarray([clock.end]))[1][0])
        return json.dumps({"times": kind, "end": end}), times
    kind, start = _bits(np.asarray([clock.start]))
    return json.dumps({kind: _times(kind, start).tolist()[0], "step": clock.step}), None


def _unpack_clock(text: str | None, times: np.ndarray | None) -> Clock | None:
    if text is None:
        return None
    plain = json.loads(text)
    if "times" in plain:
        assert times is not None
        end = plain.get("end")
        known = None if end is None else _times(plain["times"], np.array([end], np.int64))[0]
        return Clock(times=_times(plain["times"], times), end=known)
    if "datetime" in plain:
        return Clock(np.datetime64(plain["datetime"], "ns"), plain["step"])
    return Clock(plain["seconds"], plain["step"])


def _bits(times: np.ndarray) -> tuple[str, np.ndarray]:
    """The kind of times, and the 64 bits of each as int64: nanoseconds since 1970, or those of the float."""
    if np.issubdtype(times.dtype, np.datetime64):
        return "datetime", times.astype("datetime64[ns]").astype(np.int64)
    return "seconds", times.astype(np.float64).view(np.int64)


def _times(kind: str, bits: np.ndarray) -> np.ndarray:
    """The inverse of :func:`_bits`."""
    return bits.view("datetime64[ns]" if kind == "datetime" else np.float64)


def _segments(table: pa.Table, rows: Iterable[int]) -> Iterator[Segment]:
    table = table.combine_chunks()
    lists = {f.name: table.column(f.name) for f in SEGMENT_SCHEMA if pa.types.is_large_list(f.type)}
    plain = table.drop_columns(list(lists))

    def flat(name: str, row: int) -> np.ndarray | None:
        cell = lists[name][row]
        return np.asarray(cell.values) if cell.is_valid else None

    for row in rows:
        scalar = {
            name: column[0].as_py()
            for name, column in zip(plain.column_names, plain.slice(row, 1).columns, strict=True)
        }
        values = flat("values", row)
        assert values is not None
        unit = json.loads(scalar["unit"])
        context = flat("context", row)
        yield Segment(
            recording_id=scalar["recording_id"],
            number=scalar["segment"],
            values=values.reshape(scalar["steps"], len(scalar["channels"])),
            channels=tuple(scalar["channels"]),
            evidence=_unpack_evidence(scalar["evidence"]),
            unit=unit if isinstance(unit, str) else UnitSpans(tuple(unit["starts"]), tuple(unit["names"])),
            source_file=scalar["source_file"],
            source_sha256=scalar["source_sha256"],
            native_split=scalar["native_split"],
            clock=_unpack_clock(scalar["clock"], flat("times", row)),
            rows=flat("rows", row),
            row_stops=flat("row_stops", row),
            first_row=scalar["first_row"],
            window_starts=flat("window_starts", row),
            extras=json.loads(scalar["extras"]),
            filled=flat("filled", row),
            masked=flat("masked", row),
            context=None if context is None else context.reshape(-1, 2),
            filled_cells=_cells(scalar.get("filled_cells"), scalar["steps"]),
            masked_cells=_cells(scalar.get("masked_cells"), scalar["steps"]),
        )


def _cells(packed: bytes | None, steps: int) -> np.ndarray | None:
    return None if packed is None else np.frombuffer(packed, np.uint8).reshape(steps, -1)


def iter_segments(stream: IO[bytes]) -> Iterator[Segment]:
    """Every segment in the order written, one row group in memory at a time."""
    file = pq.ParquetFile(stream)
    for group in range(file.num_row_groups):
        table = file.read_row_group(group)
        yield from _segments(table, range(table.num_rows))


def read_segments(stream: IO[bytes], wanted: set[tuple[str, int]]) -> Iterator[Segment]:
    """The wanted (recording_id, segment) only, in the order written; other row groups are not read."""
    file = pq.ParquetFile(stream)
    for group in range(file.num_row_groups):
        names = file.read_row_group(group, columns=["recording_id", "segment"])
        pairs = zip(names["recording_id"].to_pylist(), names["segment"].to_pylist(), strict=True)
        rows = [row for row, pair in enumerate(pairs) if pair in wanted]
        if rows:
            yield from _segments(file.read_row_group(group), rows)


def read_cells(stream: IO[bytes], recording_id: str, segment: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Filled and masked cells of one segment, packed; its values are not read. None where there are none, or where the
    lane is older than they are."""
    file = pq.ParquetFile(stream)
    if "filled_cells" not in file.schema_arrow.names:
        return None, None
    for group in range(file.num_row_groups):
        names = file.read_row_group(group, columns=["recording_id", "segment", "steps"]).to_pylist()
        for at, row in enumerate(names):
            if (row["recording_id"], row["segment"]) == (recording_id, segment):
                found = file.read_row_group(group, columns=["filled_cells", "masked_cells"]).slice(at, 1)
                filled, masked = (_cells(column[0].as_py(), row["steps"]) for column in found.columns)
                return filled, masked
    return None, None


def iter_evidence(stream: IO[bytes]) -> Iterator[Segment]:
    """Every segment with its label evidence, unit and window starts, but without its values (a zero stands for all)."""
    columns = ["recording_id", "segment", "steps", "channels", "evidence", "unit", "source_file", "source_sha256"]
    file = pq.ParquetFile(stream)
    for group in range(file.num_row_groups):
        for row in file.read_row_group(group, columns=[*columns, "window_starts"]).to_pylist():
            unit, starts = json.loads(row["unit"]), row["window_starts"]
            yield Segment(
                recording_id=row["recording_id"],
                number=row["segment"],
                values=np.broadcast_to(np.float32(0), (row["steps"], len(row["channels"]))),
                channels=tuple(row["channels"]),
                evidence=_unpack_evidence(row["evidence"]),
                unit=unit if isinstance(unit, str) else UnitSpans(tuple(unit["starts"]), tuple(unit["names"])),
                source_file=row["source_file"],
                source_sha256=row["source_sha256"],
                native_split=None,
                clock=None,
                rows=None,
                row_stops=None,
                first_row=0,
                extras={},
                window_starts=None if starts is None else np.array(starts, np.int64),
            )
