"""One row of the audit table."""

from __future__ import annotations

from readbench_data.store.records import Number, Record


class Vote(Record):
    """The number of steps (or beats) of a window with one raw code, and the class of that code."""

    code: str
    class_label: str
    count: int


class AuditRow(Record):
    """Columns of the audit table, in their fixed order. ``row_*`` and ``context_*`` are positions in the original
    file; every stop is exclusive."""

    entry_id: str
    dataset: str
    recording_id: str
    unit: str
    native_split: str | None
    source_file: str
    source_sha256: str
    row_start: int
    row_stop: int
    context_start: int
    context_stop: int
    time_start: str | None
    time_stop: str | None
    side: str | None
    rule: str
    votes: tuple[Vote, ...] | None
    majority_share: Number | None
    event_id: str | None
    event_coverage: Number | None
    class_label: str | None
    outcome: str
    reason: str | None
    filled_fraction: Number
    sentinel_count: int
    pollution: int | None
    duplicate_of: str | None
    draw_rank: int | None
