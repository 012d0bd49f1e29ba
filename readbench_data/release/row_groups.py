"""Stable row groups and pages: they depend on the ids and sizes of the rows, not on how many rows come before them.

Row groups. ``entry_id`` is a hash, and rows are sorted by it. A row group contains a dyadic range of ids (all ids that
begin with the same bits): the largest such range with at most ``ROW_GROUP_BYTES`` of values. Adding or removing entries
elsewhere therefore moves no entry between groups; only a group that exceeds the limit is split, in two.

Pages. The Hub stores chunks of about 64 KB and uploads only new ones, so a new version costs little if its pages are
byte-for-byte identical to the old ones. The writer's own pages, of 256 KB to 1 MB, contain many windows; if a window is
added or removed, the writer resynchronises only after many pages. With one page per window no resynchronisation is
needed. For smaller windows, where that would cost too much, pages are small. The sizes are this project's choice,
measured in ``benchmarks/publishing.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

ROW_GROUP_BYTES = 90_000_000
"""Most bytes of values in one row group; groups of a large file have about half of that or more (32 to 100 MB read
well everywhere)."""

ID_BITS = 128

PAGE_A_WINDOW_FROM = 4096
"""A window with at least this many bytes of values gets its own page."""

# The writer counts 8 bytes per value: 4 of the value, 2 for each of two levels. A window that reaches the maximum size
# is the last of its page.
PAGE_A_WINDOW = {"min_chunk_size": 4 << 10, "max_chunk_size": 8 << 10, "norm_level": 0}
SMALL_PAGES = {"min_chunk_size": 1 << 10, "max_chunk_size": 128 << 10, "norm_level": 0}


def chunking(bytes_per_window: float) -> dict[str, int]:
    """Return the writer's content-defined chunking for windows with this average number of bytes of values."""
    return PAGE_A_WINDOW if bytes_per_window >= PAGE_A_WINDOW_FROM else SMALL_PAGES


def row_groups(
    rows: Iterable[T], place: Callable[[T], tuple[str, int]], limit: int = ROW_GROUP_BYTES
) -> Iterator[list[T]]:
    """Yield the rows in groups of at most ``limit`` bytes (at least one row per group).

    ``place`` returns the id (32 hex digits) and the bytes of a row. ``rows`` must be sorted by id. Little more than
    ``limit`` bytes are in memory at a time.
    """
    waiting: list[T] = []
    ids: list[int] = []
    sizes: list[int] = []
    held = floor = 0

    def group() -> list[T]:
        nonlocal held, floor
        count, floor = _first_group(ids, sizes, floor, limit)
        taken = waiting[:count]
        held -= sum(sizes[:count])
        del waiting[:count], ids[:count], sizes[:count]
        return taken

    for row in rows:
        name, size = place(row)
        waiting.append(row)
        ids.append(int(name, 16))
        sizes.append(size)
        held += size
        while held > limit and len(waiting) > 1:
            yield group()
    while waiting:
        yield group()


def _first_group(ids: list[int], sizes: list[int], floor: int, limit: int) -> tuple[int, int]:
    """Return the number of rows in the first non-empty dyadic range from ``floor`` on within the limit, and its end."""
    fitting = bisect_right(list(accumulate(sizes)), limit)
    bits = ID_BITS
    while True:
        if floor % (1 << bits) == 0:
            end = floor + (1 << bits)
            inside = bisect_left(ids, end)
            if inside and (inside <= fitting or bits == 0):
                return inside, end
            if not inside:  # the range is empty: the next one begins after it
                floor, bits = end, ID_BITS
                continue
        bits -= 1
