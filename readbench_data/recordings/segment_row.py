"""A segment as a row of a table: the one place where its fields become columns and columns become fields again.

Shards store the whole row, summaries and the window index its :class:`Identity`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from readbench_data.recordings.recording import Clock, Event, Evidence, UnitSpans
from readbench_data.recordings.segment import SegmentInfo

_INTS = pa.large_list(pa.int64())
SEGMENT_SCHEMA = pa.schema(
    [
        ("recording_id", pa.string()),
        ("segment", pa.int32()),
        ("steps", pa.int64()),
        ("channels", pa.list_(pa.string())),
        ("values", pa.large_list(pa.float32())),
        ("evidence", pa.string()),
        ("unit", pa.string()),
        ("source_file", pa.string()),
        ("source_sha256", pa.string()),
        ("native_split", pa.string()),
        ("clock", pa.string()),
        ("times", _INTS),
        ("first_row", pa.int64()),
        ("rows", _INTS),
        ("row_stops", _INTS),
        ("window_starts", _INTS),
        ("filled", pa.large_list(pa.int32())),
        ("masked", pa.large_list(pa.int32())),
        ("filled_cells", pa.large_binary()),
        ("masked_cells", pa.large_binary()),
        ("context", _INTS),
        ("extras", pa.string()),
    ]
)
"""One row per segment. Arrays are stored flat; evidence, unit, clock and extras as JSON."""

VALUES = "values"


@dataclass(frozen=True, slots=True)
class Identity:
    """The columns that name a segment and say where it comes from; ``extras`` as JSON text."""

    recording_id: str
    segment: int
    steps: int
    channels: tuple[str, ...]
    source_file: str
    source_sha256: str
    native_split: str | None
    extras: str


_NAMES = tuple(field.name for field in fields(Identity))


def identity(info: SegmentInfo) -> Identity:
    """The identity of a segment: small, and without a reference to any of its arrays."""
    return Identity(
        recording_id=info.recording_id,
        segment=info.number,
        steps=info.steps,
        channels=info.channels,
        source_file=info.source_file,
        source_sha256=info.source_sha256,
        native_split=info.native_split,
        extras=json.dumps(info.extras, sort_keys=True, ensure_ascii=False),
    )


def pack(info: SegmentInfo) -> dict[str, Any]:
    """The row of a segment: every column of ``SEGMENT_SCHEMA`` but the values. Arrays stay numpy arrays."""
    clock, times = _pack_clock(info.clock)
    named = identity(info)
    return {
        **{name: getattr(named, name) for name in _NAMES},
        "evidence": _pack_evidence(info.evidence),
        "unit": json.dumps(info.unit if isinstance(info.unit, str) else asdict(info.unit)),
        "clock": clock,
        "times": times,
        "first_row": info.first_row,
        "rows": info.rows,
        "row_stops": info.row_stops,
        "window_starts": info.window_starts,
        "filled": info.filled,
        "masked": info.masked,
        "filled_cells": None if info.filled_cells is None else info.filled_cells.tobytes(),
        "masked_cells": None if info.masked_cells is None else info.masked_cells.tobytes(),
        "context": info.context,
    }


def unpack(row: Mapping[str, Any]) -> SegmentInfo:
    """The segment of a row: the inverse of :func:`pack`. Lists and bytes are given as flat numpy arrays, or None.

    A column that the row does not have (of a lane that an earlier version of the code built) counts as None.
    """
    unit, steps, context = json.loads(row["unit"]), row["steps"], row["context"]
    cells = {
        name: None if packed is None else packed.reshape(steps, -1)
        for name, packed in ((name, row.get(name)) for name in ("filled_cells", "masked_cells"))
    }
    return SegmentInfo(
        recording_id=row["recording_id"],
        number=row["segment"],
        steps=steps,
        channels=tuple(row["channels"]),
        evidence=_unpack_evidence(row["evidence"]),
        unit=unit if isinstance(unit, str) else UnitSpans(tuple(unit["starts"]), tuple(unit["names"])),
        source_file=row["source_file"],
        source_sha256=row["source_sha256"],
        native_split=row["native_split"],
        clock=_unpack_clock(row["clock"], row["times"]),
        first_row=row["first_row"],
        rows=row["rows"],
        row_stops=row["row_stops"],
        window_starts=row["window_starts"],
        extras=json.loads(row["extras"]),
        filled=row["filled"],
        masked=row["masked"],
        context=None if context is None else context.reshape(-1, 2),
        **cells,
    )


def _pack_evidence(evidence: Evidence) -> str:
    spans = evidence.spans
    columns: dict[str, Any] = {
        "code": [s.code for s in spans],
        "start": [s.start for s in spans],
        "stop": [s.stop for s in spans],
    }
    if any(s.event_id or s.rca_target or s.rca_affected for s in spans):
        columns |= {
            "event_id": [s.event_id for s in spans],
            "rca_target": [s.rca_target for s in spans],
            "rca_affected": [list(s.rca_affected) for s in spans],
        }
    return json.dumps({"kind": evidence.kind, "spans": columns, "unlabelled": [list(u) for u in evidence.unlabelled]})


def _unpack_evidence(text: str) -> Evidence:
    plain = json.loads(text)
    columns = plain["spans"]
    n = len(columns["code"])
    spans = tuple(
        Event(code, start, stop, event_id, target, tuple(affected))
        for code, start, stop, event_id, target, affected in zip(
            columns["code"],
            columns["start"],
            columns["stop"],
            columns.get("event_id", [""] * n),
            columns.get("rca_target", [None] * n),
            columns.get("rca_affected", [[]] * n),
            strict=True,
        )
    )
    return Evidence(plain["kind"], spans, tuple((a, b) for a, b in plain["unlabelled"]))


def _pack_clock(clock: Clock | None) -> tuple[str | None, np.ndarray | None]:
    """A clock as JSON and, where its times are explicit, the 64 bits of each of them as int64."""
    if clock is None:
        return None, None
    if clock.times is not None:
        kind, times = _bits(clock.times)
        end = None if clock.end is None else int(_bits(np.asarray([clock.end]))[1][0])
        return json.dumps({"times": kind, "end": end}), times
    if isinstance(clock.start, np.datetime64):
        nanoseconds = int(_bits(np.asarray([clock.start]))[1][0])
        return json.dumps({"datetime": nanoseconds, "step": clock.step}), None
    return json.dumps({"seconds": float(clock.start), "step": clock.step}), None


def _unpack_clock(text: str | None, times: np.ndarray | None) -> Clock | None:
    if text is None:
        return None
    plain = json.loads(text)
    if "times" in plain:
        assert times is not None
        end = plain.get("end")
        known = None if end is None else _times(plain["times"], np.array([end], np.int64))[0]
        return Clock(times=_times(plain["times"], times), end=known)
    if "datetime" in plain:
        return Clock(np.datetime64(plain["datetime"], "ns"), plain["step"])
    return Clock(plain["seconds"], plain["step"])


def _bits(times: np.ndarray) -> tuple[str, np.ndarray]:
    """The kind of times, and 64 bits of each as int64: nanoseconds since 1970, or the bits of float seconds."""
    if np.issubdtype(times.dtype, np.datetime64):
        return "datetime", times.astype("datetime64[ns]").astype(np.int64)
    return "seconds", times.astype(np.float64).view(np.int64)


def _times(kind: str, bits: np.ndarray) -> np.ndarray:
    """The inverse of :func:`_bits`."""
    return bits.view("datetime64[ns]" if kind == "datetime" else np.float64)
