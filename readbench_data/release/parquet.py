"""Writes entries, audit tables and pools as Parquet files that suit the Hub and its readers.

zstd compression, byte-stream split on the values, content-defined chunking and stable row groups (so that unchanged
data is not uploaded again, see ``row_groups``), and a page index. The same table gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.entry import ENTRY_SCHEMA, VALUES_LEAF, nest, unnest
from readbench_data.release.content import ContentHash
from readbench_data.release.row_groups import chunking, row_groups
from readbench_data.windows.columns import AUDIT_COLUMNS, arrow_schema

TABLE_CHUNKING = {"min_chunk_size": 256 << 10, "max_chunk_size": 1 << 20, "norm_level": 0}

AUDIT_SCHEMA = arrow_schema(AUDIT_COLUMNS)
"""Arrow schema of the audit table; ``readbench_data.windows.columns`` documents its columns."""


@dataclass(frozen=True)
class Written:
    """A written file, for the manifest: number of ``rows`` and ``content_sha256`` (logical)."""

    rows: int
    content_sha256: str


@dataclass(frozen=True)
class Entry:
    """One window to publish: ``values`` float32 [T][C] and the other columns of the entry schema."""

    entry_id: str
    values: np.ndarray
    channels: tuple[str, ...]
    label: str
    class_label: str
    rca_target: str | None
    rca_affected: tuple[str, ...]
    native_split: str
    extras: str


def entries_table(dataset: str, entries: Sequence[Entry]) -> pa.Table:
    """Return entries as a table of the entry schema, in the given order."""
    columns: dict[str, Any] = {
        "entry_id": pa.array([e.entry_id for e in entries], pa.string()),
        "dataset": pa.repeat(pa.scalar(dataset), len(entries)),
        "ts_values": nest([e.values for e in entries]),
        "channels": pa.array([list(e.channels) for e in entries], pa.list_(pa.string())),
        "label": pa.array([e.label for e in entries], pa.string()),
        "class_label": pa.array([e.class_label for e in entries], pa.string()),
        "rca_target": pa.array([e.rca_target for e in entries], pa.string()),
        "rca_affected": pa.array([list(e.rca_affected) for e in entries], pa.list_(pa.string())),
        "native_split": pa.array([e.native_split for e in entries], pa.string()),
        "extras": pa.array([e.extras for e in entries], pa.string()),
    }
    return pa.table(columns, schema=ENTRY_SCHEMA)


def write_entries(stream: IO[bytes], dataset: str, entries: Iterable[Entry]) -> Written:
    """Write entries, sorted by id, to a Parquet file, with one row group in memory at a time."""
    groups = row_groups(entries, lambda entry: (entry.entry_id, entry.values.nbytes))
    return _write(stream, (entries_table(dataset, group) for group in groups))


def write_entry_table(stream: IO[bytes], table: pa.Table) -> Written:
    """Write a table of the entry schema, with rows in any order, to one Parquet file sorted by id.

    One row group is copied at a time.
    """
    ids = table["entry_id"].to_pylist()
    windows = unnest(table["ts_values"])
    others = table.drop_columns("ts_values").combine_chunks()
    order = sorted(range(len(ids)), key=ids.__getitem__)
    values = ENTRY_SCHEMA.get_field_index("ts_values")

    def gathered(rows: list[int]) -> pa.Table:
        made = others.take(pa.array(rows))
        return made.add_column(values, ENTRY_SCHEMA.field(values), nest([windows[row] for row in rows]))

    groups = row_groups(order, lambda row: (ids[row], windows[row].nbytes))
    return _write(stream, (gathered(rows) for rows in groups))


def _write(stream: IO[bytes], groups: Iterable[pa.Table]) -> Written:
    """Write row groups to one file; the average window size of the first group sets the page size."""
    waiting = iter(groups)
    first = next(waiting, ENTRY_SCHEMA.empty_table())
    state = ContentHash(ENTRY_SCHEMA)
    rows = 0
    with (
        ThreadPoolExecutor(1) as hasher,
        pq.ParquetWriter(
            stream,
            ENTRY_SCHEMA,
            compression="zstd",
            compression_level=3,
            use_dictionary=["dataset", "channels.list.element", "label", "class_label", "native_split", "extras"],
            use_byte_stream_split=[VALUES_LEAF],
            use_content_defined_chunking=chunking(_bytes_per_window(first)),
            write_page_index=True,
            write_statistics=True,
        ) as writer,
    ):
        for table in chain([first], waiting):
            hashed = hasher.submit(state.update, table)
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            hashed.result()
            rows += table.num_rows
    return Written(rows, state.hexdigest())


def _bytes_per_window(table: pa.Table) -> float:
    leaves = sum(len(chunk.flatten().flatten()) for chunk in table["ts_values"].chunks)
    return 4 * leaves / max(1, table.num_rows)


def write_table(stream: IO[bytes], table: pa.Table) -> Written:
    """Write a flat table (audit) to one Parquet file; row groups of 100,000 rows make finding one row quick."""
    pq.write_table(
        table,
        stream,
        row_group_size=100_000,
        compression="zstd",
        compression_level=3,
        use_content_defined_chunking=TABLE_CHUNKING,
        write_page_index=True,
    )
    state = ContentHash(table.schema)
    state.update(table)
    return Written(table.num_rows, state.hexdigest())
