"""Reading a release that somebody else may have damaged: what cannot be read is one line that says what to do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.verify.manifest import require_manifest

UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, pl.exceptions.PolarsError, OSError)
"""What a damaged Parquet file may raise."""


def read_manifest(release: Path) -> dict[str, Any]:
    """The manifest of the release in a folder. ``ReadbenchError`` where there is none or it is not one."""
    path = release / layout.MANIFEST
    if not path.is_file():
        raise ReadbenchError(f"{release}: no {layout.MANIFEST}: this is not a finished release")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ReadbenchError(f"{path}: not JSON ({error})") from error
    return require_manifest(found, str(path))


def read_audit(release: Path, dataset: str, columns: Sequence[str]) -> pl.DataFrame:
    """Columns of the audit table of a dataset. ``ReadbenchError`` where there is none or it cannot be read."""
    path = release / layout.audit(dataset)
    if not path.is_file():
        known = sorted(p.stem for p in (release / "audit").glob("*.parquet"))
        raise ReadbenchError(f"{release} has no audit table of {dataset}; it has {', '.join(known) or 'none'}")
    try:
        return pl.read_parquet(path, columns=list(columns))
    except UNREADABLE as error:
        raise damaged(path, release, error) from error


def find_audit_rows(release: Path, beginning: str) -> list[dict[str, Any]]:
    """The audit rows of any dataset whose entry_id begins so; at most two a dataset are looked at."""
    found: list[dict[str, Any]] = []
    for path in sorted(release / name for name in read_manifest(release)["files"] if name.startswith("audit/")):
        try:
            ids = pl.scan_parquet(path).select("entry_id").with_row_index("at")
            at = ids.filter(pl.col("entry_id").str.starts_with(beginning)).head(2).collect()["at"].to_list()
            found.extend(pl.scan_parquet(path).slice(row, 1).collect().row(0, named=True) for row in at)
        except UNREADABLE as error:
            raise damaged(path, release, error) from error
    return found


def iter_entries(release: Path, path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Columns of an entry file, row group by row group. ``ReadbenchError`` where it cannot be read."""
    try:
        with pq.ParquetFile(release / path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=list(columns))
    except UNREADABLE as error:
        raise damaged(release / path, release, error) from error


def damaged(path: Path, release: Path, error: Exception) -> ReadbenchError:
    """The error of a file of a release that cannot be read."""
    said = str(error).splitlines()[0].rstrip(".")[:120]
    return ReadbenchError(f"{path}: cannot be read ({said}): `readbench verify {release}` says what else is damaged")
