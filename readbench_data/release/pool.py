"""Writes the pool, all retained windows sorted by entry_id, in bounded memory.

Windows arrive recording by recording and must be sorted by entry_id, so that their order does not reveal the class. One
pass spills them to buckets on disk by the first bits of ``entry_id``; each bucket then fits in memory, is sorted, and
becomes one Parquet file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from readbench_data.entry import ENTRY_SCHEMA
from readbench_data.release.parquet import Entry, Written, entries_table, write_entry_table
from readbench_data.store.store import Store

BUCKET_BYTES = 256 << 20
_SPILL_BYTES = 8 << 20


def write_pool(
    store: Store, folder: str, dataset: str, entries: Iterable[Entry], total_bytes: int
) -> dict[str, Written]:
    """Write ``part-000.parquet`` and so on to ``folder``; ``total_bytes``: expected size of all values."""
    buckets = bucket_count(total_bytes)
    written = {}
    with tempfile.TemporaryDirectory(prefix="readbench-pool-") as temporary:
        spill = _Spill(Path(temporary), dataset, buckets)
        for entry in entries:
            spill.add(entry)
        spill.close()
        for number in range(buckets):
            if spill.holds(number):
                name = f"part-{number:03d}.parquet"
                with store.open_write(f"{folder}/{name}") as stream:
                    written[name] = write_entry_table(stream, spill.bucket(number))
                spill.forget(number)
    return written


def bucket_count(total_bytes: int) -> int:
    """Return a power of two, so that every entry stays in its file if the pool grows a little."""
    return min(1 << max(0, -(-total_bytes // BUCKET_BYTES) - 1).bit_length(), 4096)


class _Spill:
    """Entries spilled to local disk, by bucket."""

    def __init__(self, folder: Path, dataset: str, buckets: int) -> None:
        self._folder, self._dataset, self._buckets = folder, dataset, buckets
        self._waiting: dict[int, list[Entry]] = {}
        self._bytes = 0
        self._files: dict[int, pa.ipc.RecordBatchStreamWriter] = {}

    def add(self, entry: Entry) -> None:
        bucket = int(entry.entry_id[:8], 16) * self._buckets >> 32
        self._waiting.setdefault(bucket, []).append(entry)
        self._bytes += entry.values.nbytes
        if self._bytes > _SPILL_BYTES * min(self._buckets, 8):
            self._flush()

    def close(self) -> None:
        self._flush()
        for file in self._files.values():
            file.close()

    def holds(self, bucket: int) -> bool:
        return bucket in self._files

    def bucket(self, bucket: int) -> pa.Table:
        """Return a bucket in the order of arrival, read at once: a memory map would read sorted rows one by one."""
        return pa.ipc.open_stream(pa.py_buffer(self._path(bucket).read_bytes())).read_all()

    def forget(self, bucket: int) -> None:
        """Delete the file of a bucket."""
        self._path(bucket).unlink()

    def _path(self, bucket: int) -> Path:
        return self._folder / f"{bucket:04d}.arrow"

    def _flush(self) -> None:
        for bucket, entries in self._waiting.items():
            if bucket not in self._files:
                self._files[bucket] = pa.ipc.new_stream(str(self._path(bucket)), ENTRY_SCHEMA)
            self._files[bucket].write_table(entries_table(self._dataset, entries))
        self._waiting, self._bytes = {}, 0
