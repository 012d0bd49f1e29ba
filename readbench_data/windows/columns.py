"""The dictionary of columns: every column of the window index, the audit table and the entry files, described once.

The Arrow schemas of the index and of the audit table, the column descriptions in Dagster, the tables of the dataset
card and ``docs/columns.md`` are all made from these records. To add or reword a column, change it here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa

from readbench_data.entry import ENTRY_SCHEMA
from readbench_data.windows.fingerprint import SKETCH_SIZE

SetBy = Literal["reader", "curation", "windowing", "labeling", "fingerprint", "split", "sampling"]
"""The step of the pipeline that decides a column's value."""


@dataclass(frozen=True)
class Column:
    """One column of a table.

    ``unit``: what its numbers count or measure. ``bound``: for the two ends of a half-open interval, whether the
    value itself belongs to the interval. ``set_by``: the step that decides the value. ``nullable``: as in the Arrow
    schema.
    """

    name: str
    type: pa.DataType
    meaning: str
    set_by: SetBy
    unit: str = ""
    bound: Literal["", "inclusive", "exclusive"] = ""
    nullable: bool = True

    @property
    def type_name(self) -> str:
        """The Arrow type in short: ``int64``, ``list<list<float32>>``."""
        return _type_name(self.type)

    @property
    def description(self) -> str:
        """Meaning, unit and bound in one line."""
        details = [self.unit, self.bound, f"set by {self.set_by}"]
        return f"{self.meaning} ({'; '.join(d for d in details if d)})"


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The Arrow schema of a table with these columns."""
    return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in columns])


HEADER = ("column", "type", "meaning", "unit", "bound", "set by")


def table_rows(columns: Iterable[Column], width: int = len(HEADER)) -> list[list[str]]:
    """The first ``width`` cells of each column's row in a Markdown table, in the order of ``HEADER``."""
    rows = ([f"`{c.name}`", f"`{c.type_name}`", c.meaning, c.unit, c.bound, c.set_by] for c in columns)
    return [row[:width] for row in rows]


def _type_name(kind: pa.DataType) -> str:
    if pa.types.is_fixed_size_list(kind):
        return f"list<{_type_name(kind.value_type)}>[{kind.list_size}]"
    if pa.types.is_list(kind):
        return f"list<{_type_name(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {_type_name(field.type)}' for field in kind)}>"
    return {"float": "float32", "double": "float64"}.get(str(kind), str(kind))


VOTE = pa.struct([("code", pa.string()), ("class_label", pa.string()), ("count", pa.int64())])

_STEP = "step of the segment, from 0"
_ROW = "row of the original file (in some sources a line, frame, column or sample)"
_TIME = "ISO 8601 time as the source writes it, or seconds such as 12.8s"
_SHARE = "share, 0 to 1"

INDEX_COLUMNS: tuple[Column, ...] = (
    Column(
        "entry_id",
        pa.string(),
        "opaque name of the window: a hash of its dataset, recording and rows, and of nothing else",
        "windowing",
    ),
    Column("dataset", pa.string(), "name of the dataset", "reader"),
    Column("recording_id", pa.string(), "recording the window was cut from", "reader"),
    Column("segment", pa.int32(), "number of the curated segment in its recording, from 0", "curation"),
    Column("start", pa.int64(), "first step of the window", "windowing", _STEP, "inclusive"),
    Column("stop", pa.int64(), "step after the last one of the window", "windowing", _STEP, "exclusive"),
    Column("unit", pa.string(), "split unit of the window, before units are joined", "reader"),
    Column("native_split", pa.string(), "side that the source itself puts the window on; null without one", "reader"),
    Column("source_file", pa.string(), "original file, relative to the dataset's folder", "reader"),
    Column("source_sha256", pa.string(), "SHA-256 of the original file", "reader"),
    Column("row_start", pa.int64(), "first row of the window in the original file", "windowing", _ROW, "inclusive"),
    Column("row_stop", pa.int64(), "row after the last one of the window", "windowing", _ROW, "exclusive"),
    Column(
        "context_start",
        pa.int64(),
        "first row that must be read to derive the values again, filled cells included",
        "curation",
        _ROW,
        "inclusive",
    ),
    Column(
        "context_stop",
        pa.int64(),
        "row after the last one that must be read to derive the values again",
        "curation",
        _ROW,
        "exclusive",
    ),
    Column(
        "time_start",
        pa.string(),
        "time of the first step; null where the source has no clock",
        "windowing",
        _TIME,
        "inclusive",
    ),
    Column(
        "time_stop",
        pa.string(),
        "time of the step after the last one; at the end of a recording with irregular times, the last time plus the "
        "typical step",
        "windowing",
        _TIME,
        "exclusive",
    ),
    Column("rule", pa.string(), "rule that decided the class", "labeling"),
    Column(
        "votes",
        pa.list_(VOTE),
        "votes of every raw code, before onset codes are merged into their class",
        "labeling",
        "timesteps, or beats",
    ),
    Column(
        "majority_share",
        pa.float64(),
        "share of the votes for the class, or for the strongest class where the window was dropped",
        "labeling",
        _SHARE,
    ),
    Column("event_id", pa.string(), "event that the label comes from; null for none", "labeling"),
    Column("event_coverage", pa.float64(), "share of that event's extent inside the window", "labeling", _SHARE),
    Column("class_label", pa.string(), "fault type, or Normal; null where the window has no class", "labeling"),
    Column("reason", pa.string(), "why the window has no class; null where it has one", "labeling"),
    Column("rca_target", pa.string(), "root cause of the event, where the source names one; else null", "reader"),
    Column(
        "rca_affected", pa.list_(pa.string()), "components the event affects, where the source names them", "reader"
    ),
    Column("filled_fraction", pa.float64(), "share of the window's cells that were filled", "curation", _SHARE),
    Column("sentinel_count", pa.int64(), "cells that held a sentinel and were masked", "curation", "cells"),
    Column("channels", pa.list_(pa.string()), "names of the channels, in the order of the values", "curation"),
    Column("content_hash", pa.string(), "hash of channels and values: equal for identical windows", "fingerprint"),
    Column("shape_hash", pa.string(), "the same hash after z-normalisation per channel", "fingerprint"),
    Column(
        "sketch",
        pa.list_(pa.float32(), SKETCH_SIZE),
        "numbers that change little when a window is shifted, for near-duplicate search",
        "fingerprint",
    ),
    Column("constant_mask", pa.string(), "hex bit mask: bit c is set where channel c is constant", "fingerprint"),
    Column("extras", pa.string(), "JSON object with what else the source says of the recording", "reader"),
)
"""Columns of the window index, in order."""

_INDEX = {column.name: column for column in INDEX_COLUMNS}

_AUDIT_ONLY = {
    column.name: column
    for column in (
        replace(
            _INDEX["unit"],
            meaning="split unit: all its windows are on one side; units that share an identical window are joined",
            set_by="split",
        ),
        Column("side", pa.string(), "query or corpus: the side of the window's unit; null without a class", "split"),
        Column("outcome", pa.string(), "query, corpus, pool (retained, not selected) or dropped", "sampling"),
        replace(
            _INDEX["reason"],
            meaning="why the window was dropped, or why it was not selected; null for queries and corpus entries",
            set_by="sampling",
        ),
        Column(
            "pollution",
            pa.int64(),
            "lowest pollution level whose corpus holds the window (0, 10, 20); null outside the corpus",
            "sampling",
            "percent",
        ),
        Column("duplicate_of", pa.string(), "entry_id of the identical window that represents this one", "sampling"),
        Column(
            "draw_rank",
            pa.int64(),
            "place of the window in the seeded order of its class on its side, from 1",
            "sampling",
            "windows",
        ),
    )
}

AUDIT_COLUMNS: tuple[Column, ...] = tuple(
    _AUDIT_ONLY.get(name) or _INDEX[name]
    for name in (
        *("entry_id", "dataset", "recording_id", "unit", "native_split", "source_file", "source_sha256"),
        *("row_start", "row_stop", "context_start", "context_stop", "time_start", "time_stop", "side"),
        *("rule", "votes", "majority_share", "event_id", "event_coverage", "class_label", "outcome", "reason"),
        *("filled_fraction", "sentinel_count", "pollution", "duplicate_of", "draw_rank"),
    )
)
"""Columns of the audit table, in their fixed order: those of the index that people ask for, and what the split and
the sampling add."""

_ENTRY: dict[str, tuple[str, SetBy]] = {
    "entry_id": ("opaque name of the window", "windowing"),
    "dataset": ("dataset the window was cut from", "reader"),
    "ts_values": ("values, [T][C]: one row per timestep, one column per channel", "curation"),
    "channels": ("names of the C channels", "curation"),
    "label": ("normal or anomaly", "labeling"),
    "class_label": ("fault type, or Normal: two entries with the same one are relevant to each other", "labeling"),
    "rca_target": ("faulty component, where the source names one; else null", "reader"),
    "rca_affected": ("channels the fault shows in, where the source names them", "reader"),
    "native_split": ("side of the split: test for queries, train for the corpus", "split"),
    "extras": ("more about the window, as a JSON object", "reader"),
}

ENTRY_COLUMNS: tuple[Column, ...] = tuple(
    Column(field.name, field.type, *_ENTRY[field.name], nullable=field.nullable) for field in ENTRY_SCHEMA
)
"""Columns of the entry files (queries, corpora, pool); their types are fixed in ``readbench_data.entry``."""
