"""Row groups, encodings and page index of the files, on the widest windows."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from readbench_data.entry import VALUES_LEAF
from readbench_data.release.parquet import Entry, write_entries

WIDEST = {"road": (256, 664), "voraus": (1024, 130)}


def entry(number: int, values: np.ndarray) -> Entry:
    channels = tuple(f"c{i}" for i in range(values.shape[1]))
    name = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).hexdigest()
    return Entry(name, values, channels, "anomaly", "fault", None, (), "train", "{}")


@pytest.mark.parametrize("name", WIDEST)
def test_row_groups_hold_32_to_100_mb_and_the_values_are_split_by_byte(name: str) -> None:
    values = np.cumsum(np.random.default_rng(1).normal(size=WIDEST[name]), axis=0).astype(np.float32)
    count = int(200e6 // values.nbytes)
    stream = io.BytesIO()
    entries = sorted((entry(i, values) for i in range(count)), key=lambda e: e.entry_id)
    assert write_entries(stream, name, entries).rows == count
    meta = pq.read_metadata(stream)
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    assert len(groups) == 4
    assert all(32e6 < group.total_byte_size < 100e6 for group in groups)
    for group in groups:
        columns = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
        leaf = columns[VALUES_LEAF]
        assert "BYTE_STREAM_SPLIT" in leaf.encodings
        assert {c.compression for c in columns.values()} == {"ZSTD"}
        assert all(c.has_column_index and c.has_offset_index for c in columns.values()), "a page index"
        assert columns["entry_id"].statistics.has_min_max


def test_the_same_table_gives_the_same_bytes() -> None:
    values = np.arange(64, dtype=np.float32).reshape(16, 4)
    streams = [io.BytesIO(), io.BytesIO()]
    for stream in streams:
        write_entries(stream, "pump", (entry(i, values) for i in range(9)))
    assert streams[0].getvalue() == streams[1].getvalue()
