"""Exathlon's ground truth: which fault disturbed which trace, and when."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from readbench_data.errors import BadInput
from sources.formats.split_zip import ZIP_ERRORS, open_csv

UNKNOWN = "unknown"
"""A type without a class: windows that touch it get no label."""

_COLUMNS = (
    "trace_name",
    "trace_type",
    "anomaly_type",
    "anomaly_details",
    "root_cause_start",
    "root_cause_end",
    "extended_effect_end",
)


@dataclass(frozen=True)
class Disturbance:
    """One row of the table in Unix seconds; ``stop`` is the second after the end, which the source includes.

    The end is that of the extended effect, or of the root cause if no effect is given.
    """

    trace: str
    kind: str
    details: str
    start: int
    stop: int
    row: int


def read_ground_truth(file: Path, kinds: Sequence[str]) -> list[Disturbance]:
    """Return the rows of ``ground_truth.csv``, plain or zipped, in its order. ``kinds``: the types with a class."""
    try:
        if file.suffix == ".csv":
            text = file.read_text(encoding="utf-8")
        else:
            with open_csv(file) as stream:
                text = stream.read().decode("utf-8")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        lines = list(reader)
    except (*ZIP_ERRORS, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(file, f"is not a readable ground truth ({error})") from error
    absent = [c for c in _COLUMNS if c not in (reader.fieldnames or ())]
    if absent:
        raise BadInput(file, f"is missing the column {', '.join(absent)}")
    return [_disturbance(file, row, line, (*kinds, UNKNOWN)) for row, line in enumerate(lines)]


def _disturbance(file: Path, row: int, line: Mapping[str, str | None], kinds: Sequence[str]) -> Disturbance:
    cell = {name: (line[name] or "").strip() for name in _COLUMNS}
    kind = cell["anomaly_type"]
    if kind not in kinds:
        raise BadInput(file, f"anomaly type {kind!r} is not one of {', '.join(kinds)}", f"row {row}")
    try:
        start = int(float(cell["root_cause_start"]))
        end = int(float(cell["extended_effect_end"] or cell["root_cause_end"]))
    except (ValueError, OverflowError) as error:
        raise BadInput(file, "a start or an end is not a number of seconds", f"row {row}") from error
    if end < start:
        raise BadInput(file, f"{kind} ends ({end}) before it starts ({start})", f"row {row}")
    return Disturbance(cell["trace_name"], kind, cell["anomaly_details"], start, end + 1, row)
