"""The lineage view describes every column of the index and of the audit table by the dictionary of columns."""

from __future__ import annotations

from assets.columns import table_schema
from readbench_data.windows.columns import AUDIT_COLUMNS, INDEX_COLUMNS


def test_a_table_schema_has_every_column_with_type_and_description() -> None:
    for columns in (INDEX_COLUMNS, AUDIT_COLUMNS):
        made = table_schema(columns).columns
        assert [(c.name, c.type, c.description) for c in made] == [
            (c.name, c.type_name, c.description) for c in columns
        ]


def test_the_end_of_a_window_is_described_as_exclusive() -> None:
    stop = next(c for c in table_schema(AUDIT_COLUMNS).columns if c.name == "time_stop")
    assert stop.description is not None
    assert stop.description.startswith("time of the step after the last one")
    assert "exclusive" in stop.description
