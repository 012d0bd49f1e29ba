"""Stage windows: cuts and labels every window; writes the window index with the evidence for each label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.errors import ReadbenchError
from readbench_data.lane.base import INDEX, SHARD, Gate, Lane, histogram, require, staged
from readbench_data.recordings.segment import Segment
from readbench_data.recordings.shards import iter_segments
from readbench_data.release.lane_records import WindowCounts, WindowsRecord
from readbench_data.store.records import StageRecord
from readbench_data.store.store import digest
from readbench_data.windows.index import INDEX_SCHEMA, IndexRows, index_batch, index_table
from readbench_data.windows.windowing import WindowPlan

_INDEX_ROWS = 20_000
_BATCH_SEGMENTS = 500
_BATCH_BYTES = 16 << 20


def windows(lane: Lane, gate: Gate | None = None) -> WindowsRecord:
    """Cut and label every window and write the window index with the evidence for each label.

    ``gate`` receives the finished index. If it raises, the earlier result stays current.
    """
    before = require(lane, "recordings", StageRecord)
    key = windows_key(lane, before.key)
    shard = f"{lane.stage('recordings').place(before.key)}/{SHARD}"
    return staged(lane, "windows", key, WindowsRecord, lambda place: _write_index(lane, shard, place, gate))


def windows_key(lane: Lane, recordings: str) -> str:
    """Return the key of the stage from the key of stage recordings."""
    settings = lane.settings
    return digest(
        {
            "recordings": recordings,
            "length": settings.length,
            "stride": settings.stride,
            "rule": asdict(lane.rule),
            "code": lane.version("windows"),
        }
    )


def _write_index(lane: Lane, shard: str, place: str, gate: Gate | None) -> WindowsRecord:
    plan = WindowPlan(lane.settings.length, lane.settings.stride)
    tables = [INDEX_SCHEMA.empty_table()]
    parts: list[IndexRows] = []
    labelled_windows = short_segments = 0

    with lane.store.open_read(shard) as stream:
        for segments in _batches(iter_segments(stream)):
            for rows in index_batch(lane.name, segments, plan, lane.rule, lane.source.labels):
                if rows is None:
                    short_segments += 1
                    continue
                labelled_windows += len(rows)
                parts.append(rows)
                if len(parts) == _BATCH_SEGMENTS:
                    tables.append(index_table(parts))
                    parts = []
                    lane.progress(f"labelled {labelled_windows:,} windows")
    index = pa.concat_tables([*tables, index_table(parts)])
    lane.progress(f"labelled {index.num_rows:,} windows")
    if index.num_rows != len(set(index["entry_id"].to_pylist())):
        raise ReadbenchError(f"{lane.name}: two windows have the same position in the same recording")
    checks = gate(index) if gate is not None else []
    with lane.store.open_write(f"{place}/{INDEX}") as stream:
        pq.write_table(index, stream, row_group_size=_INDEX_ROWS, compression="zstd", compression_level=1)
    labelled = pl.from_arrow(index.select(["class_label", "reason"]))
    assert isinstance(labelled, pl.DataFrame)
    return WindowsRecord(
        counts=WindowCounts(windows=labelled_windows, short_segments=short_segments),
        classes=histogram(labelled["class_label"]),
        dropped=histogram(labelled["reason"]),
        checks=tuple(checks),
    )


def _batches(segments: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Yield the segments in lists of bounded number and size; a segment beyond the size is alone."""
    batch: list[Segment] = []
    size = 0
    for segment in segments:
        if batch and (len(batch) == _BATCH_SEGMENTS or size + segment.values.nbytes > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(segment)
        size += segment.values.nbytes
    if batch:
        yield batch


def load_index(lane: Lane) -> pl.DataFrame:
    """Return the current window index of a lane, without the sketches."""
    before = require(lane, "windows", StageRecord)
    columns = [name for name in INDEX_SCHEMA.names if name not in ("sketch", "shape_hash", "constant_mask")]
    with lane.store.open_read(f"{lane.stage('windows').place(before.key)}/{INDEX}") as stream:
        frame = pl.from_arrow(pq.read_table(stream, columns=columns))
    assert isinstance(frame, pl.DataFrame)
    return frame
