"""What the columns of the window index and of the audit table mean, for the lineage view.

Belongs here: one line a column. Does not: the schemas
(``readbench_data.windows.index``, ``readbench_data.release.parquet``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dagster as dg

MEANING = {
    "entry_id": "hash of dataset, recording, start and stop: says nothing of the class",
    "dataset": "name of the source",
    "recording_id": "recording the window is cut from",
    "segment": "number of the curated stretch of that recording",
    "start": "first step in the segment",
    "stop": "step after the last one in the segment",
    "unit": "split unit: never on both sides",
    "native_split": "what the source itself calls it",
    "source_file": "original file",
    "source_sha256": "checksum of the original file",
    "row_start": "first position in the original file, in its own unit",
    "row_stop": "position after the last one in the original file",
    "context_start": "from where the file must be read to derive the values again, fill included",
    "context_stop": "up to where the file must be read to derive the values again",
    "time_start": "time of the first step",
    "time_stop": "time of the step after the last one",
    "side": "query or corpus",
    "rule": "rule that made the class",
    "votes": "votes of every raw code, before codes are merged",
    "majority_share": "share of the votes for the class",
    "event_id": "event that stands for the label",
    "event_coverage": "share of that event's own extent in the window",
    "class_label": "fault type, or Normal; null where dropped",
    "outcome": "query, corpus, pool (kept, in no set) or dropped",
    "reason": "why dropped, or why in no set",
    "rca_target": "root cause, where the source tells it",
    "rca_affected": "affected components, where the source tells them",
    "filled_fraction": "share of the cells that were filled",
    "sentinel_count": "cells that held a sentinel and were masked",
    "channels": "names of the channels",
    "content_hash": "hash of the values: equal for identical windows",
    "shape_hash": "hash of the values after z-normalisation",
    "sketch": "64 numbers by which similar windows are found",
    "constant_mask": "channels that are constant in the window",
    "extras": "JSON object of what else is known",
    "pollution": "level from which on it is in the corpora (0, 10, 20)",
    "duplicate_of": "identical window that stands for it",
    "draw_rank": "its number in the seeded order of its class on its side",
}


def table_schema(schema: Iterable[Any]) -> dg.TableSchema:
    """An Arrow schema with the meaning of every column."""
    return dg.TableSchema(
        columns=[dg.TableColumn(field.name, str(field.type), description=MEANING.get(field.name)) for field in schema]
    )
