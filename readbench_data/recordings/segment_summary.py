"""The few numbers per curated segment that quality checks read instead of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from readbench_data.recordings.curation import Curation, sentinels
from readbench_data.recordings.segment import Segment
from readbench_data.recordings.segment_row import SEGMENT_SCHEMA, identity

SUMMARY_SCHEMA = pa.schema(
    [
        *(SEGMENT_SCHEMA.field(name) for name in ("recording_id", "segment", "steps")),
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
        SEGMENT_SCHEMA.field("source_file"),
    ]
)
"""One row per segment. ``rows_backwards`` and ``time_backwards`` count steps whose position or time is before that of
the previous step."""


def summarise(segment: Segment, policy: Curation) -> dict[str, Any]:
    """The summary row of a segment that was curated by ``policy``."""
    values, clock, known = segment.values, segment.clock, identity(segment)
    times = None if clock is None else clock.times
    return {
        "recording_id": known.recording_id,
        "segment": known.segment,
        "steps": known.steps,
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
        "source_file": known.source_file,
    }
