"""Descriptions of the columns of the window index and of the audit table, for the lineage view.

Belongs here: one line per column. Does not: the schemas
(``readbench_data.windows.index``, ``readbench_data.release.parquet``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import dagster as dg

MEANING = {
    "entry_id": "hash of dataset, recording, start and stop; does not reveal the class",
    "dataset": "name of the source",
    "recording_id": "recording the window is cut from",
    "segment": "number of the curated stretch of that recording",
    "start": "first step in the segment",
    "stop": "step after the last one in the segment",
    "unit": "split unit: never on both sides",
    "native_split": "split assigned by the source itself",
    "source_file": "original file",
    "source_sha256": "checksum of the original file",
    "row_start": "first position in the original file, in its own unit",
    "row_stop": "position after the last one in the original file",
    "context_start": "first position to read in order to derive the values again, including filled ones",
    "context_stop": "position after the last one to read in order to derive the values again",
    "time_start": "time of the first step",
    "time_stop": "time of the step after the last one",
    "side": "query or corpus",
    "rule": "rule that determined the class",
    "votes": "votes per raw code, before codes are merged",
    "majority_share": "share of the votes for the class",
    "event_id": "event that determined the label",
    "event_coverage": "share of that event's extent that is in the window",
    "class_label": "fault type, or Normal; null if dropped",
    "outcome": "query, corpus, pool (retained, not selected) or dropped",
    "reason": "why the window was dropped or not selected",
    "rca_target": "root cause, if the source states it",
    "rca_affected": "affected components, if the source states them",
    "filled_fraction": "share of the cells that were filled",
    "sentinel_count": "cells that contained a sentinel and were masked",
    "channels": "names of the channels",
    "content_hash": "hash of the values: equal for identical windows",
    "shape_hash": "hash of the values after z-normalisation",
    "sketch": "64 numbers used to find similar windows",
    "constant_mask": "channels that are constant in the window",
    "extras": "JSON object with further metadata",
    "pollution": "lowest level whose corpus contains it (0, 10, 20)",
    "duplicate_of": "identical window that represents it",
    "draw_rank": "its rank in the seeded order of its class on its side",
}


def table_schema(schema: Iterable[Any]) -> dg.TableSchema:
    """Return an Arrow schema as a Dagster schema with a description per column."""
    return dg.TableSchema(
        columns=[dg.TableColumn(field.name, str(field.type), description=MEANING.get(field.name)) for field in schema]
    )
