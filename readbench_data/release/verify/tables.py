"""Checks Parquet files: they are readable, have the fixed schema, and match the rows and content in the manifest."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.release.content import ContentHash
from readbench_data.release.verify.report import Check


def read_groups(check: Check, path: str, schema: pa.Schema, called: str = "fixed") -> Iterator[pa.Table]:
    """Yield the row groups of a file, one in memory at a time; stops at the first problem, which is reported.

    At the end, the number of rows and the logical content are compared with the manifest.
    """
    state, rows = ContentHash(schema), 0
    try:
        with check.release.open_read(path) as stream:
            file = pq.ParquetFile(stream)
            if not _same_schema(file.schema_arrow, schema):
                check.breach(path, "schema_error", f"its columns or types are not those of the {called} schema")
                return
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                state.update(table.cast(schema))
                rows += table.num_rows
                yield table
            if not file.num_row_groups:
                yield schema.empty_table()
    except (pa.ArrowException, OSError) as error:
        check.breach(path, "schema_error", f"cannot be read as Parquet ({str(error).splitlines()[0]})")
        return
    _stated(check, path, rows, state.hexdigest())


def _stated(check: Check, path: str, rows: int, content: str) -> None:
    stated = check.manifest.files.get(path)
    if stated is not None and stated.rows != rows:
        check.breach(path, "row_error", f"{rows} rows, but {stated.rows} in the manifest")
    if stated is not None and stated.content_sha256 != content:
        check.breach(path, "checksum_error", "its content does not match the manifest (content_sha256)")


def _same_schema(found: pa.Schema, fixed: pa.Schema) -> bool:
    return found.names == fixed.names and all(
        _plain(a.type) == _plain(b.type) for a, b in zip(found, fixed, strict=True)
    )


def _plain(kind: pa.DataType) -> str:
    return str(kind).replace("item:", "element:").replace(" not null", "")
