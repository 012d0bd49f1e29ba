"""Stable row groups: an entry keeps its row group and its bytes when other entries are added, removed or changed."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from readbench_data.entry import VALUES_LEAF
from readbench_data.release.parquet import Entry, entries_table, write_entries, write_entry_table
from readbench_data.release.pool import BUCKET_BYTES, bucket_count
from readbench_data.release.row_groups import PAGE_A_WINDOW, SMALL_PAGES, chunking, row_groups

Row = tuple[str, int]


def name(number: int) -> str:
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).hexdigest()


def rows(numbers: range, size: int = 100) -> list[Row]:
    return sorted((name(i), size) for i in numbers)


def groups(given: list[Row], limit: int) -> list[list[Row]]:
    return list(row_groups(given, lambda row: row, limit))


def test_groups_are_the_largest_halves_within_the_limit() -> None:
    ids = [f"{n:x}".ljust(32, "0") for n in range(16)]
    flat = [(i, 10) for i in ids]
    assert [len(g) for g in groups(flat, 160)] == [16]
    assert [len(g) for g in groups(flat, 159)] == [8, 8]
    heavy = [(i, 40 if n == 1 else 10) for n, i in enumerate(ids)]
    assert [len(g) for g in groups(heavy, 80)] == [4, 4, 8], "only the half above the limit is split again"
    assert [len(g) for g in groups([(i, 500) for i in ids[:3]], 80)] == [1, 1, 1]
    assert groups([], 80) == []
    assert [len(g) for g in groups([(f"{n:032x}", 10) for n in range(20)], 80)] == [8, 8, 4], "ids that are not hashes"


@pytest.mark.parametrize("limit", [1000, 7777, 10**6])
def test_all_rows_in_order_and_within_the_limit(limit: int) -> None:
    given = [(i, 50 + n % 90) for n, (i, _) in enumerate(rows(range(3000)))]
    made = groups(given, limit)
    assert [row for group in made for row in group] == given
    assert all(sum(size for _, size in group) <= limit for group in made)
    assert len(made) == 1 if limit == 10**6 else sum(s for _, s in given) / len(made) > limit / 2


def test_added_rows_move_no_other_row_between_groups() -> None:
    old = rows(range(4000))
    before = groups(old, 10_000)
    after = groups(sorted(old + rows(range(4000, 4040))), 10_000)
    outgrown = [g for g in before if not any({n for n, _ in g} <= {n for n, _ in h} for h in after)]
    assert len(before) > 30
    for group in outgrown:  # a group is split only if it exceeds the limit
        size = sum(1 for n, _ in old + rows(range(4000, 4040)) if group[0][0] <= n <= group[-1][0])
        assert size > 99
    unchanged = {n for g in before if g not in outgrown for n, _ in g}
    mates = {n: {m for m, _ in g} for g in before for n, _ in g}
    for group in after:
        ours = {n for n, _ in group} & unchanged
        assert all(ours == mates[n] for n in ours)
    assert len(outgrown) <= len(before) // 10


def test_a_page_a_window_but_for_the_smallest() -> None:
    assert chunking(4 * 256 * 2) == SMALL_PAGES
    assert chunking(4096) == PAGE_A_WINDOW


def entry(number: int, values: np.ndarray) -> Entry:
    channels = tuple(f"c{i}" for i in range(values.shape[1]))
    return Entry(name(number), values, channels, "anomaly", "fault", None, (), "train", "{}")


def walk(seed: int) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal(size=(256, 16)), axis=0).astype(np.float32)


def written(entries: list[Entry]) -> bytes:
    stream = io.BytesIO()
    write_entries(stream, "plant", sorted(entries, key=lambda e: e.entry_id))
    return stream.getvalue()


def pages(data: bytes) -> set[bytes]:
    """Return the 2000-byte pieces of a file that start at every possible start of a page of values."""
    column = pq.read_metadata(io.BytesIO(data)).row_group(0)
    leaf = next(column.column(i) for i in range(column.num_columns) if column.column(i).path_in_schema == VALUES_LEAF)
    start = leaf.data_page_offset
    return {data[i : i + 2000] for i in range(start, start + leaf.total_compressed_size)}


def test_an_entry_with_other_values_keeps_its_position_and_the_bytes_of_others() -> None:
    old = [entry(i, walk(i)) for i in range(40)]
    new = [*old[:7], entry(7, walk(700)), *old[8:]]
    first, second = written(old), written(new)
    tables = [pq.read_table(io.BytesIO(data)) for data in (first, second)]
    assert tables[0]["entry_id"] == tables[1]["entry_id"]
    lost = len(pages(first) - pages(second)) / len(pages(first))
    assert lost < 2 / 40, "only the page of that entry differs"


def test_an_added_entry_keeps_the_bytes_of_others() -> None:
    old = [entry(i, walk(i)) for i in range(40)]
    first, second = written(old), written([*old, entry(99, walk(99))])
    assert len(pages(first) - pages(second)) / len(pages(first)) < 1 / 40


def test_a_table_in_any_order_gives_the_file_of_its_entries() -> None:
    entries = [entry(i, walk(i)[: 100 + i]) for i in range(12)]
    stream = io.BytesIO()
    mixed = entries_table("plant", entries)
    assert mixed["entry_id"].to_pylist() != sorted(mixed["entry_id"].to_pylist())
    assert write_entry_table(stream, mixed).rows == 12
    assert stream.getvalue() == written(entries)


def test_a_pool_that_grows_a_little_keeps_its_files() -> None:
    assert [bucket_count(n * BUCKET_BYTES) for n in (0, 1, 2, 3, 5, 80)] == [1, 1, 2, 4, 8, 128]
    assert bucket_count(BUCKET_BYTES + 1) == 2
