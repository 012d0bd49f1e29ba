"""The dictionary of columns is complete and consistent, and every schema and table is made from it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from readbench_data.entry import ENTRY_SCHEMA
from readbench_data.release.parquet import AUDIT_SCHEMA
from readbench_data.windows.columns import AUDIT_COLUMNS, ENTRY_COLUMNS, INDEX_COLUMNS, Column, arrow_schema
from readbench_data.windows.index import INDEX_SCHEMA

TABLES = {"index": INDEX_COLUMNS, "audit": AUDIT_COLUMNS, "entries": ENTRY_COLUMNS}
FIXED_AUDIT = [
    "entry_id",
    "dataset",
    "recording_id",
    "unit",
    "native_split",
    "source_file",
    "source_sha256",
    "row_start",
    "row_stop",
    "context_start",
    "context_stop",
    "time_start",
    "time_stop",
    "side",
    "rule",
    "votes",
    "majority_share",
    "event_id",
    "event_coverage",
    "class_label",
    "outcome",
    "reason",
    "filled_fraction",
    "sentinel_count",
    "pollution",
    "duplicate_of",
    "draw_rank",
]


def test_the_schemas_are_made_from_the_dictionary() -> None:
    assert arrow_schema(INDEX_COLUMNS) == INDEX_SCHEMA
    assert arrow_schema(AUDIT_COLUMNS) == AUDIT_SCHEMA
    assert arrow_schema(ENTRY_COLUMNS).equals(ENTRY_SCHEMA)


def test_the_audit_table_keeps_its_columns_and_types() -> None:
    """Other people's scripts rely on them."""
    assert AUDIT_SCHEMA.names == FIXED_AUDIT
    assert {str(AUDIT_SCHEMA.field(name).type) for name in ("row_start", "context_stop", "pollution")} == {"int64"}
    assert AUDIT_SCHEMA.field("time_stop").type == pa.string()
    vote = AUDIT_SCHEMA.field("votes").type.value_type
    assert [(f.name, str(f.type)) for f in vote] == [("code", "string"), ("class_label", "string"), ("count", "int64")]


@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_named_once_and_says_what_it_means(table: str) -> None:
    columns = TABLES[table]
    assert len({c.name for c in columns}) == len(columns)
    assert len({c.meaning for c in columns}) == len(columns)
    assert all(len(c.meaning) > 8 and c.set_by for c in columns)


@pytest.mark.parametrize("table", TABLES)
def test_every_start_is_inclusive_and_has_an_exclusive_stop_of_the_same_unit(table: str) -> None:
    by_name = {c.name: c for c in TABLES[table]}
    starts = {n for n in by_name if n == "start" or n.endswith("_start")}
    stops = {n for n in by_name if n == "stop" or n.endswith("_stop")}
    assert {n.replace("start", "stop") for n in starts} == stops
    for name in starts:
        first, last = by_name[name], by_name[name.replace("start", "stop")]
        assert (first.bound, last.bound) == ("inclusive", "exclusive")
        assert first.unit
        assert (first.unit, first.type) == (last.unit, last.type)
    assert {c.name for c in TABLES[table] if c.bound} == starts | stops


def test_a_column_describes_itself_in_one_line() -> None:
    column = Column("stop", pa.int64(), "step after the last one", "windowing", "step", "exclusive")
    assert column.description == "step after the last one (step; exclusive; set by windowing)"
    assert Column("rule", pa.string(), "rule", "labeling").description == "rule (set by labeling)"


@pytest.mark.parametrize(
    ("kind", "short"),
    [
        (pa.int64(), "int64"),
        (pa.float64(), "float64"),
        (pa.list_(pa.list_(pa.float32())), "list<list<float32>>"),
        (pa.list_(pa.float32(), 64), "list<float32>[64]"),
        (pa.list_(pa.struct([("code", pa.string())])), "list<struct<code: string>>"),
    ],
)
def test_types_are_written_in_short(kind: pa.DataType, short: str) -> None:
    assert Column("x", kind, "anything", "reader").type_name == short
