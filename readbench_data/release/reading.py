"""Reading a release that somebody else may have damaged: what cannot be read is one line that says what to do."""

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
"""What a damaged Parquet file may raise."""


def read_manifest(release: Path) -> Manifest:
    """The manifest of the release in a folder. ``ReadbenchError`` where there is none or it is not one."""
    path = release / layout.MANIFEST
    if not path.is_file():
        raise ReadbenchError(f"{release}: no {layout.MANIFEST}: this is not a finished release")
    return manifest_of(path.read_bytes(), str(path))


def manifest_in(store: Store, folder: str = "") -> Manifest:
    """:func:`read_manifest` in a folder of a store."""
    path = f"{folder}/{layout.MANIFEST}" if folder else layout.MANIFEST
    if not store.exists(path):
        raise ReadbenchError(f"{store.url(folder)}: no {layout.MANIFEST}: this is not a finished release")
    return manifest_of(store.read_bytes(path), store.url(path))


def manifest_of(data: bytes, name: str) -> Manifest:
    """The manifest in the bytes of a file called ``name``. ``ReadbenchError`` where it is not one."""
    try:
        found = json.loads(data)
    except ValueError as error:
        raise ReadbenchError(f"{name}: not JSON ({error})") from error
    return parse_manifest(found, name)


def read_composition(release: Path) -> ReleaseComposition:
    """``composition.json`` of the release in a folder. ``ReadbenchError`` where there is none or it is not one."""
    return composition_in(Store(str(release)))


def composition_in(store: Store, folder: str = "") -> ReleaseComposition:
    """:func:`read_composition` in a folder of a store."""
    path = f"{folder}/{layout.COMPOSITION}" if folder else layout.COMPOSITION
    advice = f"`readbench verify {store.url(folder)}` says what else is damaged"
    if not store.exists(path):
        raise ReadbenchError(f"{store.url(path)}: file is missing: {advice}")
    try:
        return ReleaseComposition.parse(store.read_json(path))
    except ValueError as error:
        raise ReadbenchError(f"{store.url(path)}: not the composition of a release ({error}): {advice}") from error


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


def find_audit_rows(release: Path, beginning: str) -> list[AuditRow]:
    """The audit rows of all datasets whose entry_id begins with the prefix; at most two per dataset are read."""
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
