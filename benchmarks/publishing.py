"""Publishing: row groups on real shapes, what a changed version uploads, and a large pool in bounded memory.

    python -m benchmarks publishing                    small: a pool of 1 GB
    python -m benchmarks.publishing --gigabytes 20     the pool of the aim (needs twice that of disk in TMPDIR)

1. Row groups: uncompressed bytes of each (aim: 32 to 100 MB) for the widest windows, ROAD 664 x 256 and voraus
   130 x 1024, and for the smallest, MIT-BIH 2 x 256.
2. A second version in which 1 % of the entries are others: bytes that are new under chunk-level deduplication. The
   chunks are cut by a gear hash, 64 KB on average, a stand-in for the Hub's storage; with content-defined chunking of
   the Parquet pages and without.
3. A pool: written entry by entry, then a plan of its upload, with peak memory (aim: under 1.5 GB).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.entry import VALUES_LEAF
from readbench_data.hub.client import Hub, Refs, RemoteFile
from readbench_data.hub.publisher import Publisher
from readbench_data.release.parquet import Entry, entries_table, write_entries
from readbench_data.release.pool import write_pool
from readbench_data.store import Store

SHAPES = {"road": (256, 664), "voraus": (1024, 130), "mit_bih": (256, 2)}
GEAR = np.random.default_rng(42).integers(0, 2**63, 256, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
AVERAGE_BITS, SHORTEST, LONGEST = 16, 8192, 131072


def entry(number: int, shape: tuple[int, int], values: np.ndarray | None = None) -> Entry:
    """A window of a random walk whose id is, as everywhere, a hash."""
    if values is None:
        rng = np.random.default_rng(number)
        values = np.cumsum(rng.normal(size=shape), axis=0).astype(np.float32)
    name = hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).hexdigest()
    channels = tuple(f"c{i}" for i in range(shape[1]))
    return Entry(name, values, channels, "anomaly", f"fault {number % 7}", None, (), "train", "{}")


def chunks(path: Path) -> dict[bytes, int]:
    """Content-defined chunks of a file, digest -> bytes, cut where a gear hash of the last 64 bytes ends in zeros."""
    data = np.fromfile(path, dtype=np.uint8)
    rolling = GEAR[data]
    reach = 1
    while reach < 64:
        shifted = np.zeros_like(rolling)
        shifted[reach:] = rolling[:-reach] << np.uint64(reach)
        rolling = rolling + shifted
        reach *= 2
    cuts = np.flatnonzero((rolling >> np.uint64(64 - AVERAGE_BITS)) == 0) + 1
    out: dict[bytes, int] = {}
    raw, start = data.tobytes(), 0
    while start < len(raw):
        at = int(np.searchsorted(cuts, start + SHORTEST))
        end = int(cuts[at]) if at < len(cuts) and cuts[at] <= start + LONGEST else min(start + LONGEST, len(raw))
        out.setdefault(hashlib.blake2b(raw[start:end], digest_size=16).digest(), end - start)
        start = end
    return out


def write(path: Path, entries: list[Entry], chunked: bool) -> None:
    """As a release does it, or the same without content-defined chunking."""
    entries = sorted(entries, key=lambda e: e.entry_id)
    if chunked:
        with path.open("wb") as stream:
            write_entries(stream, "bench", entries)
        return
    table: pa.Table = entries_table("bench", entries)
    rows = max(1, int(len(entries) * (64 << 20) // table.nbytes))
    pq.write_table(
        table,
        path,
        row_group_size=rows,
        compression="zstd",
        compression_level=3,
        use_dictionary=["dataset", "channels.list.element", "label", "class_label", "native_split", "extras"],
        use_byte_stream_split=[VALUES_LEAF],
        write_page_index=True,
    )


def row_groups(folder: Path) -> None:
    print("row groups, MB uncompressed (aim 32 to 100)")
    for name, shape in SHAPES.items():
        count = (200 << 20) // (4 * shape[0] * shape[1])
        base = np.cumsum(np.random.default_rng(0).normal(size=shape), axis=0).astype(np.float32)
        path = folder / f"{name}.parquet"
        began = time.perf_counter()
        with path.open("wb") as stream:
            write_entries(stream, name, (entry(i, shape, base + np.float32(i)) for i in range(count)))
        took = time.perf_counter() - began
        meta = pq.read_metadata(path)
        sizes = [meta.row_group(i).total_byte_size / 1e6 for i in range(meta.num_row_groups)]
        rows = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        print(
            f"  {name:8} {shape[1]:>3} x {shape[0]:<4} {count:>6} entries  rows a group {min(rows)}-{max(rows)}  "
            f"{' '.join(f'{s:.0f}' for s in sizes)}  ({took:.1f} s)"
        )
        path.unlink()


def second_version(folder: Path) -> None:
    print("a second version with 1 % of the entries changed: new MB under deduplication of 64 KB chunks")
    rng = np.random.default_rng(7)
    for name, count in (("mit_bih", 20_000), ("road", 100), ("voraus", 120)):
        shape = SHAPES[name]
        old = [entry(i, shape) for i in range(count)]
        gone = {int(i) for i in rng.choice(count, max(1, count // 100), replace=False)}
        swapped = [entry(count + i, shape) if i in gone else e for i, e in enumerate(old)]
        more = [*old, *(entry(count + i, shape) for i in gone)]
        for title, new in (("other windows", swapped), ("added windows", more)):
            told = []
            for chunked in (True, False):
                write(folder / "old.parquet", old, chunked)
                write(folder / "new.parquet", new, chunked)
                known, wanted = chunks(folder / "old.parquet"), chunks(folder / "new.parquet")
                fresh = sum(size for digest, size in wanted.items() if digest not in known)
                whole = (folder / "new.parquet").stat().st_size
                word = "content-defined" if chunked else "plain"
                told.append(f"{word} {fresh / 1e6:5.1f} of {whole / 1e6:.1f} ({100 * fresh / whole:.0f} %)")
            print(f"  {name:8} {count:>6} entries, {len(gone):>3} {title}: {', '.join(told)}")


class HalfFilled(Hub):
    """A repository that holds every other file of the pool already; nothing is asked of a network."""

    def __init__(self, held: dict[str, RemoteFile]) -> None:
        super().__init__("bench/pool", "http://127.0.0.1:9")
        self.held = held

    def refs(self) -> Refs:
        return Refs("0" * 40, frozenset())

    def find_commit(self, title: str) -> None:
        return None

    def tree(self, revision: str) -> dict[str, RemoteFile]:
        return self.held


def pool(folder: Path, gigabytes: float) -> None:
    shape = SHAPES["voraus"]
    base = np.cumsum(np.random.default_rng(0).normal(size=shape), axis=0).astype(np.float32)
    count = int(gigabytes * 1e9 / base.nbytes)

    def entries() -> Iterator[Entry]:
        for i in range(count):
            yield entry(i, shape, base)  # repeated values: the disk is spared, memory is not

    store = Store(str(folder))
    began = time.perf_counter()
    written = write_pool(store, "data/voraus/pool", "voraus", entries(), count * base.nbytes)
    took = time.perf_counter() - began
    print(f"pool of {count * base.nbytes / 1e9:.1f} GB: {len(written)} files, {took:.0f} s, {_peak()}")
    plan(folder, {f"data/voraus/pool/{n}": w.rows for n, w in written.items()})


def sparse(folder: Path, gigabytes: float) -> None:
    """The plan of a pool of files that are all holes: sizes are real, the disk is spared."""
    files: dict[str, int] = {}
    for number in range(max(2, int(gigabytes * 4))):
        path = f"data/voraus/pool/part-{number:03d}.parquet"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as stream:
            stream.write(f"part {number}".encode())
            stream.truncate(int(2.5e8))
        files[path] = 1
    plan(folder, files)


def plan(folder: Path, rows: dict[str, int]) -> None:
    """Hash every file, as verification does, and plan the upload beside a repository that holds every other one."""
    began = time.perf_counter()
    files = {}
    for path, number in sorted(rows.items()):
        with (folder / path).open("rb") as stream:
            sha = hashlib.file_digest(stream, "sha256").hexdigest()
        size = (folder / path).stat().st_size
        files[path] = {"sha256": sha, "bytes": size, "rows": number, "content_sha256": sha}
    (folder / "manifest.json").write_text(json.dumps({"version": "0.0.1", "files": files}))
    held = {p: RemoteFile(f["bytes"], f["sha256"], "") for p, f in list(files.items())[::2]}
    made = Publisher(HalfFilled(held), folder, "0.0.1").plan()
    total = sum(f["bytes"] for f in files.values())
    print(
        f"  plan of {total / 1e9:.2f} GB in {len(files)} files: {len(made.add)} to send ({made.bytes / 1e9:.2f} GB), "
        f"{made.unchanged} there; {time.perf_counter() - began:.0f} s, {_peak()}"
    )


def _peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the pool's values (default 1)")
    parser.add_argument("--part", choices=["rows", "version", "pool", "sparse"], help="only this part")
    wanted = parser.parse_args()
    parts = {
        "pool": lambda folder: pool(folder, wanted.gigabytes),
        "sparse": lambda folder: sparse(folder, max(wanted.gigabytes, 20.0)),
        "rows": row_groups,
        "version": second_version,
    }
    for name, run in parts.items():  # the pool first: peak memory is that of the process
        if wanted.part in (None, name):
            with tempfile.TemporaryDirectory(prefix="readbench-bench-") as folder:
                run(Path(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
