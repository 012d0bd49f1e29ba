"""A table of incidents: which rows of which file or asset each covers, and which incidents cannot be placed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.errors import BadInput
from sources.outside.tables.codes import canonical, names_of
from sources.outside.tables.declaration import Files, Incidents
from sources.outside.tables.frames import Frame, read_frame
from sources.outside.tables.times import times


@dataclass(frozen=True)
class Incident:
    """One row of the table. ``start``, ``stop``: times (datetime64[ns]) or row numbers, both as stated. ``where``: its
    place in the table, for messages."""

    where: str
    key: str
    start: np.datetime64 | int
    stop: np.datetime64 | int
    code: str
    unit: str
    root_cause: str | None
    affected: tuple[str, ...]


def read_incidents(path: Path, declared: Incidents, files: Files) -> list[Incident]:
    """Return the incidents in the order of the table. Raises ``BadInput`` with the line of one that has no start, stop,
    key or code, or that stops before it starts."""
    frame = read_frame(path, declared.separator)
    for key in ("key", "start", "stop", "code", "root_cause", "affected", "unit"):
        if name := getattr(declared, key):
            frame.require(name, f"which labels.incidents.{key} names")
    starts, stops = (_positions(frame, name, declared, files) for name in (declared.start, declared.stop))
    backwards = np.flatnonzero(stops < starts)
    if backwards.size:
        row = int(backwards[0])
        raise BadInput(path, f"stops at {stops[row]}, before it starts at {starts[row]}", frame.where(row))
    empty = pl.Series([None] * frame.cells.height, dtype=pl.String)
    texts = {k: frame.text(getattr(declared, k)) if getattr(declared, k) else empty for k in _TEXTS}
    for key in ("key", "code", "unit"):
        if getattr(declared, key) and texts[key].null_count():
            row = int(texts[key].is_null().arg_max() or 0)
            raise BadInput(path, f"column {getattr(declared, key)!r} is empty", frame.where(row))
    return [
        Incident(
            where=f"{path.name}, {frame.where(row)}",
            key=texts["key"][row] or "",
            start=starts[row],
            stop=stops[row],
            code=canonical(texts["code"][row]) if texts["code"][row] else "",
            unit=texts["unit"][row] or "",
            root_cause=texts["root_cause"][row],
            affected=tuple(part.strip() for part in (texts["affected"][row] or "").split(";") if part.strip()),
        )
        for row in range(frame.cells.height)
    ]


_TEXTS = ("key", "code", "unit", "root_cause", "affected")


def _positions(frame: Frame, name: str, declared: Incidents, files: Files) -> np.ndarray:
    column = frame.cells[name]
    if declared.position == "time":
        how = "" if isinstance(column.dtype, pl.Datetime) else files.timestamp_format
        return times(frame.path, name, column, how, files.timezone, frame.first_row).to_numpy()
    numbers = column.cast(pl.Int64, strict=False)
    wrong = numbers.is_null() | (numbers < 0)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        raise BadInput(frame.path, f"column {name!r}: {column[row]!r} is not a row number", frame.where(row))
    return numbers.to_numpy()


def about(incident: Incident, file: str, asset: str | None) -> bool:
    """Return whether an incident is about a file (:func:`names_of`) or an asset; without a key it is about all."""
    if incident.key == "":
        return True
    return incident.key == asset if asset is not None else incident.key in names_of(file)


def steps(incident: Incident, when: np.ndarray | None, rows: np.ndarray, included: bool) -> tuple[int, int]:
    """Return the steps [start, stop) of an incident in a recording; empty if it lies outside.

    ``when``: the time of each step, ``rows``: its row in the file; the one that incidents use is sorted.
    """
    positions = rows if isinstance(incident.start, int | np.integer) else when
    assert positions is not None
    first, last = np.array([incident.start]), np.array([incident.stop])
    start = np.searchsorted(positions, first, side="left")
    return int(start[0]), int(np.searchsorted(positions, last, side="right" if included else "left")[0])
