"""Which rows share a row group, and how its pages are cut: by what the rows are, not by how many precede them.

Row groups. ``entry_id`` is a hash, and rows are ordered by it. A row group holds a dyadic range of ids (all that
begin with the same bits): the largest such range whose values are at most ``ROW_GROUP_BYTES``. An entry therefore
stays in its group whichever entries come or go elsewhere; only a group that outgrows the bound is split, in two.

Pages. The Hub keeps what it has seen in chunks of about 64 KB, so a new version costs little if its pages are the old
ones byte for byte. The writer's own cut, at 256 KB to 1 MB of content, puts many windows into a page, and where one
comes or goes it resynchronises only after many pages. With one page per window that is not needed. For windows too
small for that, pages are small. The sizes are this project's choice, measured in ``benchmarks/publishing.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

T = TypeVar("T")

ROW_GROUP_BYTES = 90_000_000
"""Most bytes of values in one row group; groups of a large file hold from about half of it on (32 to 100 MB read well
everywhere)."""

ID_BITS = 128

PAGE_A_WINDOW_FROM = 4096
"""Bytes of values per window from which each window gets its own page."""

# The writer counts 8 bytes a value: its 4 bytes and two levels of 2. A page ends with the window that reaches the most.
PAGE_A_WINDOW = {"min_chunk_size": 4 << 10, "max_chunk_size": 8 << 10, "norm_level": 0}
SMALL_PAGES = {"min_chunk_size": 1 << 10, "max_chunk_size": 128 << 10, "norm_level": 0}


def chunking(bytes_per_window: float) -> dict[str, int]:
    """Content-defined chunking of the writer for windows of so many bytes of values on average."""
    return PAGE_A_WINDOW if bytes_per_window >= PAGE_A_WINDOW_FROM else SMALL_PAGES


def row_groups(
    rows: Iterable[T], place: Callable[[T], tuple[str, int]], limit: int = ROW_GROUP_BYTES
) -> Iterator[list[T]]:
    """Rows in groups of at most ``limit`` bytes (at least one row per group).

    ``place`` gives the id (32 hex digits) and the bytes of a row; rows come in the order of their ids. Little more
    than ``limit`` bytes are held.
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
    """Number of rows in the first dyadic range from ``floor`` on that holds any and keeps to the limit; its end."""
    fitting = bisect_right(list(accumulate(sizes)), limit)
    bits = ID_BITS
    while True:
        if floor % (1 << bits) == 0:
            end = floor + (1 << bits)
            inside = bisect_left(ids, end)
            if inside and (inside <= fitting or bits == 0):
                return inside, end
            if not inside:  # nobody lives there: the next range begins after it
                floor, bits = end, ID_BITS
                continue
        bits -= 1
