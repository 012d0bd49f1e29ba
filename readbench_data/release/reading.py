"""Reads releases that may be damaged: a file that cannot be read gives a one-line error with advice."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.audit_row import AuditRow
from readbench_data.release.composition import ReleaseComposition
from readbench_data.release.manifest import Manifest, parse_manifest
from readbench_data.store.records import InvalidRecord
from readbench_data.store.store import Store

UNREADABLE: tuple[type[Exception], ...] = (pa.ArrowException, pl.exceptions.PolarsError, OSError, InvalidRecord)
"""Exceptions that a damaged Parquet file may raise."""


def read_manifest(release: Path) -> Manifest:
    """Return the manifest of the release in a folder. Raises ``ReadbenchError`` if it is missing or invalid."""
    path = release / layout.MANIFEST
    if not path.is_file():
        raise ReadbenchError(f"{release}: no {layout.MANIFEST}: this is not a finished release")
    return manifest_of(path.read_bytes(), str(path))


def manifest_in(store: Store, folder: str = "") -> Manifest:
    """Return the manifest of the release in a folder of a store; see :func:`read_manifest`."""
    path = f"{folder}/{layout.MANIFEST}" if folder else layout.MANIFEST
    if not store.exists(path):
        raise ReadbenchError(f"{store.url(folder)}: no {layout.MANIFEST}: this is not a finished release")
    return manifest_of(store.read_bytes(path), store.url(path))


def manifest_of(data: bytes, name: str) -> Manifest:
    """Parse the bytes of a manifest called ``name``. Raises ``ReadbenchError`` if they are invalid."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise ReadbenchError(f"{name}: not JSON ({error})") from error
    return parse_manifest(found, name)


def read_composition(release: Path) -> ReleaseComposition:
    """Return the composition of the release in a folder. Raises ``ReadbenchError`` if it is missing or invalid."""
    return composition_in(Store(str(release)))


def composition_in(store: Store, folder: str = "") -> ReleaseComposition:
    """Return the composition of the release in a folder of a store; see :func:`read_composition`."""
    path = f"{folder}/{layout.COMPOSITION}" if folder else layout.COMPOSITION
    advice = f"`readbench verify {store.url(folder)}` lists all damaged files"
    if not store.exists(path):
        raise ReadbenchError(f"{store.url(path)}: file is missing: {advice}")
    try:
        return ReleaseComposition.parse(store.read_json(path))
    except ValueError as error:
        raise ReadbenchError(f"{store.url(path)}: not the composition of a release ({error}): {advice}") from error


def read_audit(release: Path, dataset: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns of the audit table of a dataset. Raises ``ReadbenchError`` if it is missing or unreadable."""
    path = release / layout.audit(dataset)
    if not path.is_file():
        known = sorted(p.stem for p in (release / "audit").glob("*.parquet"))
        raise ReadbenchError(f"{release} has no audit table of {dataset}; it has {', '.join(known) or 'none'}")
    try:
        return pl.read_parquet(path, columns=list(columns))
    except UNREADABLE as error:
        raise damaged(path, release, error) from error


def find_audit_rows(release: Path, beginning: str) -> list[AuditRow]:
    """Return the audit rows, of any dataset, whose entry_id has this beginning; at most two per dataset."""
    found: list[AuditRow] = []
    for path in sorted(release / name for name in read_manifest(release).files if name.startswith("audit/")):
        try:
            ids = pl.scan_parquet(path).select("entry_id").with_row_index("at")
            at = ids.filter(pl.col("entry_id").str.starts_with(beginning)).head(2).collect()["at"].to_list()
            rows = [pl.scan_parquet(path).slice(row, 1).collect().row(0, named=True) for row in at]
            found.extend(AuditRow.parse(row) for row in rows)
        except UNREADABLE as error:
            raise damaged(path, release, error) from error
    return found


def iter_entries(release: Path, path: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield columns of an entry file, one row group at a time. Raises ``ReadbenchError`` if it cannot be read."""
    try:
        with pq.ParquetFile(release / path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=list(columns))
    except UNREADABLE as error:
        raise damaged(release / path, release, error) from error


def damaged(path: Path, release: Path, error: Exception) -> ReadbenchError:
    """Return the error for a file of a release that cannot be read."""
    cause = str(error).splitlines()[0].rstrip(".")[:120]
    return ReadbenchError(f"{path}: cannot be read ({cause}): `readbench verify {release}` lists all damaged files")
