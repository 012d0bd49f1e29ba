"""Checks entry files: values, channels, labels and order, and each entry against its row of the audit table."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from readbench_data.entry import ENTRY_SCHEMA, NORMAL
from readbench_data.release.verify.report import Check
from readbench_data.release.verify.tables import read_groups
from readbench_data.windows.outcomes import Outcome


def check_entries(check: Check, path: str, name: str, expected: pl.DataFrame) -> pa.Table | None:
    """Check one entry file by row groups. Returns classes and shapes for the composition, None if unreadable."""
    parts = [_check_values(check, path, name, table) for table in read_groups(check, path, ENTRY_SCHEMA, "entry")]
    if not parts:
        return None
    shapes = pa.concat_tables(parts)
    _check_order(check, path, shapes["entry_id"].to_pylist())
    _check_against_audit(check, path, shapes, expected)
    return shapes


def check_pool(check: Check, paths: list[str], name: str, kept: pl.DataFrame) -> None:
    """Check every file of the pool, and that together they contain exactly the retained windows."""
    ids: list[str] = []
    for path in paths:
        own: list[str] = []
        for table in read_groups(check, path, ENTRY_SCHEMA, "entry"):
            _check_values(check, path, name, table)
            own.extend(table["entry_id"].to_pylist())
        _check_order(check, path, own)
        ids.extend(own)
    if len(ids) != kept.height or set(ids) != set(kept["entry_id"]):
        check.breach(
            paths[0], "unresolved", "the pool does not contain exactly the retained windows of the audit table"
        )


def _check_order(check: Check, path: str, ids: list[str]) -> None:
    if ids != sorted(ids):
        check.breach(path, "order_error", "rows are not sorted by entry_id")
    if len(set(ids)) != len(ids):
        check.breach(path, "order_error", "an entry_id occurs twice")


def _check_values(check: Check, path: str, name: str, table: pa.Table) -> pa.Table:
    column = table["ts_values"].combine_chunks()
    lengths = np.asarray(pc.fill_null(column.value_lengths(), 0), np.int64)
    steps = column.flatten()
    inner = np.asarray(pc.fill_null(steps.value_lengths(), 0))
    leaf = np.asarray(steps.flatten())
    step_of_bad = np.searchsorted(np.cumsum(inner), np.flatnonzero(~np.isfinite(leaf)), side="right")
    bad = len(set(np.repeat(np.arange(len(lengths)), lengths)[step_of_bad].tolist()))
    if bad:
        check.breach(path, "nan_values", f"{bad} entries have a value that is not finite", bad)
    widths = [len(c) for c in table["channels"].to_pylist()]
    if column.null_count or steps.null_count or (inner != np.repeat(widths, lengths)).any():
        check.breach(path, "shape_error", "a step does not have one value per channel")
    if set(table["dataset"].to_pylist()) - {name}:
        check.breach(path, "label_error", "an entry names another dataset")
    for label, extras in zip(table["class_label"].to_pylist(), table["extras"].to_pylist(), strict=True):
        problem = _extras_problem(label, extras)
        if problem:
            check.breach(path, "label_error", problem)
            break
    keep = ["entry_id", "class_label", "label", "native_split"]
    return (
        table.select(keep)
        .append_column("length", pa.array(lengths))
        .append_column("width", pa.array(widths, pa.int64()))
    )


def _check_against_audit(check: Check, path: str, shapes: pa.Table, expected: pl.DataFrame) -> None:
    rows = pl.from_arrow(shapes)
    assert isinstance(rows, pl.DataFrame)
    known = expected.select("entry_id", pl.col("class_label").alias("audited"), "outcome")
    joined = rows.join(known, on="entry_id", how="left")
    lost = joined.filter(pl.col("audited").is_null()).height + max(0, expected.height - rows.height)
    if lost:
        check.breach(path, "unresolved", f"{lost} entries do not match the audit table", lost)
    normal = pl.col("class_label") == NORMAL
    side = pl.when(pl.col("outcome") == Outcome.QUERY).then(pl.lit("test")).otherwise(pl.lit("train"))
    wrong = joined.filter(
        (pl.col("class_label") != pl.col("audited"))
        | (pl.when(normal).then(pl.lit("normal")).otherwise(pl.lit("anomaly")) != pl.col("label"))
        | (side != pl.col("native_split"))
        | (normal & (pl.col("outcome") == Outcome.QUERY))
    ).height
    if wrong:
        check.breach(
            path, "label_error", f"{wrong} entries whose label, class or side does not match the audit table", wrong
        )


def _extras_problem(label: str, extras: str) -> str | None:
    try:
        plain = json.loads(extras)
    except ValueError:
        return "extras is not JSON"
    if not isinstance(plain, dict):
        return "extras is not a JSON object"
    for text in _texts(plain):
        if text == label or (label != NORMAL and len(label) > 2 and label in text):
            return f"extras names the class {label!r}"
    return None


def _texts(plain: object) -> Iterator[str]:
    """Yield every key and value of plain data as text."""
    if isinstance(plain, dict):
        for key, value in plain.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(plain, list):
        for value in plain:
            yield from _texts(value)
    else:
        yield str(plain)
