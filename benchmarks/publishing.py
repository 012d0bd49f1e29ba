"""Measures publishing: row groups for real window shapes, and a large pool in bounded memory.

    python -m benchmarks publishing                    small: a pool of 1 GB
    python -m benchmarks.publishing --gigabytes 20     the target size (needs twice that disk space in TMPDIR)

1. Row groups: uncompressed bytes per row group (target: 32 to 100 MB) for the widest windows, ROAD 664 x 256 and voraus
   130 x 1024, for medium ones, and for the smallest, MIT-BIH 2 x 256.
2. A pool: written entry by entry, then a plan of its upload, with peak memory (target: under 1.5 GB).

``benchmarks/deduplication.py`` measures what a second version uploads.
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
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from readbench_data.hub.client import CommittedFile, Hub, Refs
from readbench_data.hub.publisher import Publisher
from readbench_data.release.parquet import Entry, write_entries
from readbench_data.release.pool import write_pool
from readbench_data.store.store import Store

SHAPES = {
    "road": (256, 664),
    "voraus": (1024, 130),
    "hai": (256, 79),
    "tennessee_eastman": (256, 52),
    "mit_bih": (256, 2),
}
"""[T][C] of windows, the widest first."""


def name_of(number: int) -> str:
    return hashlib.blake2b(number.to_bytes(8, "big"), digest_size=16).hexdigest()


def entry(number: int, shape: tuple[int, int], values: np.ndarray | None = None) -> Entry:
    """Return a window of a random walk; its id is a hash, as in a release."""
    if values is None:
        rng = np.random.default_rng(number)
        values = np.cumsum(rng.normal(size=shape), axis=0).astype(np.float32)
    channels = tuple(f"c{i}" for i in range(shape[1]))
    return Entry(name_of(number), values, channels, "anomaly", f"fault {number % 7}", None, (), "train", "{}")


def row_groups(folder: Path) -> None:
    print("row groups, MB uncompressed (target 32 to 100)")
    for name, shape in SHAPES.items():
        count = (200 << 20) // (4 * shape[0] * shape[1])
        order = sorted(range(count), key=name_of)
        base = np.cumsum(np.random.default_rng(0).normal(size=shape), axis=0).astype(np.float32)
        path = folder / f"{name}.parquet"
        began = time.perf_counter()
        with path.open("wb") as stream:
            write_entries(stream, name, (entry(i, shape, base + np.float32(i)) for i in order))
        took = time.perf_counter() - began
        meta = pq.read_metadata(path)
        sizes = [meta.row_group(i).total_byte_size / 1e6 for i in range(meta.num_row_groups)]
        rows = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        print(
            f"  {name:8} {shape[1]:>3} x {shape[0]:<4} {count:>6} entries  rows per group {min(rows)}-{max(rows)}  "
            f"{' '.join(f'{s:.0f}' for s in sizes)}  ({took:.1f} s)"
        )
        path.unlink()


class HalfFilled(Hub):
    """A repository that already has every other file of the pool; it makes no network requests."""

    def __init__(self, held: dict[str, CommittedFile]) -> None:
        super().__init__("bench/pool", "http://127.0.0.1:9")
        self.held = held

    def refs(self) -> Refs:
        return Refs("0" * 40, frozenset())

    def find_commit(self, title: str) -> None:
        return None

    def tree(self, revision: str) -> dict[str, CommittedFile]:
        return self.held


def pool(folder: Path, gigabytes: float) -> None:
    shape = SHAPES["voraus"]
    base = np.cumsum(np.random.default_rng(0).normal(size=shape), axis=0).astype(np.float32)
    count = int(gigabytes * 1e9 / base.nbytes)

    def entries() -> Iterator[Entry]:
        for i in range(count):
            yield entry(i, shape, base)  # repeated values save disk space but not memory

    store = Store(str(folder))
    began = time.perf_counter()
    written = write_pool(store, "data/voraus/pool", "voraus", entries(), count * base.nbytes)
    took = time.perf_counter() - began
    print(f"pool of {count * base.nbytes / 1e9:.1f} GB: {len(written)} files, {took:.0f} s, {_peak()}")
    plan(folder, {f"data/voraus/pool/{n}": w.rows for n, w in written.items()})


def sparse(folder: Path, gigabytes: float) -> None:
    """Plan the upload of a pool of sparse files: real sizes without the disk space."""
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
    """Hash every file, as verification does, and plan the upload to a repository that has every other file."""
    began = time.perf_counter()
    files: dict[str, dict[str, Any]] = {}
    for path, number in sorted(rows.items()):
        with (folder / path).open("rb") as stream:
            sha = hashlib.file_digest(stream, "sha256").hexdigest()
        size = (folder / path).stat().st_size
        files[path] = {"sha256": sha, "bytes": size, "rows": number, "content_sha256": sha}
    (folder / "manifest.json").write_text(
        json.dumps({"version": "0.0.1", "datasets": {}, "config": {}, "files": files})
    )
    held = {p: CommittedFile(f["bytes"], f["sha256"], "") for p, f in list(files.items())[::2]}
    made = Publisher(HalfFilled(held), folder, "0.0.1").plan()
    total = sum(f["bytes"] for f in files.values())
    print(
        f"  plan of {total / 1e9:.2f} GB in {len(files)} files: {len(made.add)} to send ({made.bytes / 1e9:.2f} GB), "
        f"{made.unchanged} already there; {time.perf_counter() - began:.0f} s, {_peak()}"
    )


def _peak() -> str:
    return f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0, help="size of the pool's values (default 1)")
    parser.add_argument("--part", choices=["rows", "pool", "sparse"], help="only this part")
    wanted = parser.parse_args()
    parts = {
        "pool": lambda folder: pool(folder, wanted.gigabytes),
        "sparse": lambda folder: sparse(folder, max(wanted.gigabytes, 20.0)),
        "rows": row_groups,
    }
    for name, run in parts.items():  # the pool first: peak memory is that of the process
        if wanted.part in (None, name):
            with tempfile.TemporaryDirectory(prefix="readbench-bench-") as folder:
                run(Path(folder))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
