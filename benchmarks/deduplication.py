"""Measures what a second version uploads: the bytes that are new to a store of content-defined chunks.

    python -m benchmarks deduplication                               random walks in the shapes of five datasets
    python -m benchmarks.deduplication --windows data/mit_bih/pool/*.parquet     windows of a release

Four second versions: 1 % of the entries have another class, 1 % have other values (both keep ids and positions), 1 %
are replaced by other windows, 1 % are added. Each is written in three ways: as a release, with the Parquet writer's own
content-defined pages (256 KB to 1 MB, the setting of ``datasets``), and without content-defined chunking.

The store is a simulation of the Hub's: a gear hash over 64 bytes, chunks of 64 KB on average, 8 to 128 KB. ``least`` is
the lower bound for any format: every window is a block of random bytes, as long as a window is in the file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq

from benchmarks.publishing import SHAPES, entry
from readbench_data.entry import VALUES_LEAF, unnest
from readbench_data.release.parquet import Entry, entries_table, write_entries

GEAR = np.random.default_rng(42).integers(0, 2**63, 256, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
AVERAGE_BITS, SHORTEST, LONGEST = 16, 8192, 131072
COUNTS = {"mit_bih": 20_000, "tennessee_eastman": 900, "hai": 600, "road": 100, "voraus": 120}
OWN_CUT = {"min_chunk_size": 256 << 10, "max_chunk_size": 1 << 20, "norm_level": 0}

Make = Callable[[int, int], Entry]
"""(number of the entry, number of its values) -> entry."""


def chunks(raw: bytes) -> dict[bytes, int]:
    """Return the content-defined chunks (digest -> bytes), cut where a gear hash of the last 64 bytes ends in zeros."""
    rolling = GEAR[np.frombuffer(raw, dtype=np.uint8)]
    reach = 1
    while reach < 64:
        shifted = np.zeros_like(rolling)
        shifted[reach:] = rolling[:-reach] << np.uint64(reach)
        rolling = rolling + shifted
        reach *= 2
    cuts = np.flatnonzero((rolling >> np.uint64(64 - AVERAGE_BITS)) == 0) + 1
    out: dict[bytes, int] = {}
    start = 0
    while start < len(raw):
        at = int(np.searchsorted(cuts, start + SHORTEST))
        end = int(cuts[at]) if at < len(cuts) and cuts[at] <= start + LONGEST else min(start + LONGEST, len(raw))
        out.setdefault(hashlib.blake2b(raw[start:end], digest_size=16).digest(), end - start)
        start = end
    return out


def fresh(old: bytes, new: bytes) -> int:
    """Return the bytes of ``new`` in chunks that ``old`` does not contain."""
    known = chunks(old)
    return sum(size for digest, size in chunks(new).items() if digest not in known)


def as_released(entries: Sequence[Entry]) -> bytes:
    stream = io.BytesIO()
    write_entries(stream, "bench", entries)
    return stream.getvalue()


def as_usual(chunking: dict[str, int] | bool) -> Callable[[Sequence[Entry]], bytes]:
    """Return a writer with the same encodings and row groups of 64 MB, with the Parquet writer's chunking or none."""

    def write(entries: Sequence[Entry]) -> bytes:
        table = entries_table("bench", entries)
        stream = io.BytesIO()
        pq.write_table(
            table,
            stream,
            row_group_size=max(1, int(len(entries) * (64 << 20) // table.nbytes)),
            compression="zstd",
            compression_level=3,
            use_dictionary=["dataset", "channels.list.element", "label", "class_label", "native_split", "extras"],
            use_byte_stream_split=[VALUES_LEAF],
            use_content_defined_chunking=chunking,
            write_page_index=True,
        )
        return stream.getvalue()

    return write


def as_blocks(length: int) -> Callable[[Sequence[Entry]], bytes]:
    """Return a writer that replaces each window by random bytes derived from its values."""

    def write(entries: Sequence[Entry]) -> bytes:
        seeds = (hashlib.blake2b(e.entry_id.encode() + e.values.tobytes(), digest_size=8).digest() for e in entries)
        return b"".join(np.random.default_rng(int.from_bytes(seed, "big")).bytes(length) for seed in seeds)

    return write


def compare(name: str, count: int, make: Make) -> None:
    """Print the size and the new bytes of the four second versions, for each way of writing."""
    gone = {int(i) for i in np.random.default_rng(7).choice(count, max(1, count // 100), replace=False)}
    old = [make(i, i) for i in range(count)]
    versions = (
        [replace(e, class_label="another fault") if i in gone else e for i, e in enumerate(old)],
        [make(i, count + i) if i in gone else e for i, e in enumerate(old)],
        [make(count + i, count + i) if i in gone else e for i, e in enumerate(old)],
        [*old, *(make(count + i, count + i) for i in gone)],
    )
    first = sorted(old, key=lambda e: e.entry_id)
    whole = len(as_released(first))
    ways = {
        "as released": as_released,
        "256 KB to 1 MB": as_usual(OWN_CUT),
        "no chunking": as_usual(False),
        "least": as_blocks(whole // count),
    }
    raw = sum(e.values.nbytes for e in old)
    print(f"{name}: {count} windows of {raw / count / 1e3:.1f} KB, {len(gone)} changed")
    for way, write in ways.items():
        before = write(first)
        results = []
        for version in versions:
            after = write(sorted(version, key=lambda e: e.entry_id))
            new = fresh(before, after)
            results.append(f"{new / 1e6:6.2f} ({100 * new / len(after):3.0f} %)")
        print(f"  {way:15} {len(before) / 1e6:7.2f} MB; new: {'  '.join(results)}", flush=True)


def walks(shape: tuple[int, int]) -> Make:
    return lambda number, values: entry(number, shape, entry(values, shape).values)


def taken(files: Sequence[str]) -> list[np.ndarray]:
    """Return the windows of entry files in random order."""
    windows = [w for f in files for w in unnest(pq.read_table(f, columns=["ts_values"])["ts_values"])]
    return [windows[i] for i in np.random.default_rng(1).permutation(len(windows))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", nargs="+", metavar="FILE", help="entry files of a release, instead of the walks")
    parser.add_argument("--count", type=int, default=20_000, help="windows of the first version (default 20000)")
    wanted = parser.parse_args()
    print("new MB of a second version with 1 % of the entries relabelled, revalued, replaced, added")
    if wanted.windows:
        windows = taken(wanted.windows)
        count = min(wanted.count, int(len(windows) / 2))
        compare(wanted.windows[0], count, lambda number, values: entry(number, windows[values].shape, windows[values]))
        return 0
    for name, count in COUNTS.items():
        compare(name, count, walks(SHAPES[name]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
