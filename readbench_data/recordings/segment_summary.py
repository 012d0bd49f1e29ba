"""Of each curated segment the few numbers that quality checks look at instead of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from readbench_data.recordings.curation import Curation, Segment, sentinels

SUMMARY_SCHEMA = pa.schema(
    [
        ("recording_id", pa.string()),
        ("segment", pa.int32()),
        ("steps", pa.int64()),
        ("n_channels", pa.int64()),
        ("distinct_channels", pa.int64()),
        ("non_finite", pa.int64()),
        ("minimum", pa.float64()),
        ("maximum", pa.float64()),
        ("sentinels_left", pa.int64()),
        ("filled_cells", pa.int64()),
        ("sentinel_cells", pa.int64()),
        ("first_row", pa.int64()),
        ("rows_backwards", pa.int64()),
        ("time_backwards", pa.int64()),
        ("unit", pa.string()),
        ("source_file", pa.string()),
    ]
)
"""One row a segment: what the quality checks look at instead of the values. ``rows_backwards`` and
``time_backwards`` count steps whose position or time lies before the one before it."""


def summarise(segment: Segment, policy: Curation) -> dict[str, Any]:
    """The summary row of a segment that was curated by ``policy``."""
    values, clock = segment.values, segment.clock
    times = None if clock is None else clock.times
    return {
        "recording_id": segment.recording_id,
        "segment": segment.number,
        "steps": segment.steps,
        "n_channels": len(segment.channels),
        "distinct_channels": len(set(segment.channels)),
        "non_finite": int(values.size - np.isfinite(values).sum()),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "sentinels_left": int(sentinels(values, segment.channels, policy).sum()),
        "filled_cells": 0 if segment.filled is None else int(segment.filled.sum()),
        "sentinel_cells": 0 if segment.masked is None else int(segment.masked.sum()),
        "first_row": segment.first_row if segment.rows is None else int(segment.rows[0]),
        "rows_backwards": 0 if segment.rows is None else int((np.diff(segment.rows) < 0).sum()),
        "time_backwards": 0 if times is None else int((times[1:] < times[:-1]).sum()),
        "unit": segment.unit if isinstance(segment.unit, str) else segment.unit.names[0],
        "source_file": segment.source_file,
    }
