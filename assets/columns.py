"""The dictionary of columns in Dagster's terms: the column schema of a table in the lineage view.

Belongs here: the translation. Does not: names, types and meanings of columns (``readbench_data.windows.columns``).
"""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from readbench_data.windows.columns import Column


def table_schema(columns: Iterable[Column]) -> dg.TableSchema:
    """Columns as a Dagster table schema, each described by its meaning, unit and bound."""
    return dg.TableSchema(columns=[dg.TableColumn(c.name, c.type_name, description=c.description) for c in columns])
