"""A segment: one curated stretch of a recording, without and with its values."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from readbench_data.recordings.recording import Clock, Evidence, UnitSpans


@dataclass(frozen=True, kw_only=True)
class SegmentInfo:
    """Everything that is known of a segment of T = ``steps`` steps and C channels, except its values.

    ``number`` counts the segments of a recording from 0. ``rows`` and ``row_stops`` int64 [T]: position of each step
    in the original file and the position after it; without ``rows``, step i is position ``first_row + i``.
    ``window_starts`` int64 [n]: steps at which the source's own windows start.

    What curation did, None where it did nothing: ``filled`` and ``masked`` int32 [T] count, per step, the cells that
    were filled and the cells that held a sentinel. ``filled_cells`` and ``masked_cells`` uint8 [T][ceil(C / 8)] mark
    these cells: bit c of a step is that of channel c (see :func:`cells_by_channel`). ``context`` int64 [T][2]: first
    and last step (exclusive, in steps of this segment) that must be read to derive the step again.
    """

    recording_id: str
    number: int
    steps: int
    channels: tuple[str, ...]
    evidence: Evidence
    unit: str | UnitSpans
    source_file: str
    source_sha256: str
    native_split: str | None = None
    clock: Clock | None = None
    first_row: int = 0
    rows: np.ndarray | None = None
    row_stops: np.ndarray | None = None
    window_starts: np.ndarray | None = None
    extras: dict[str, object]
    filled: np.ndarray | None = None
    masked: np.ndarray | None = None
    filled_cells: np.ndarray | None = None
    masked_cells: np.ndarray | None = None
    context: np.ndarray | None = None

    def with_values(self, values: np.ndarray) -> Segment:
        """This segment with its values, float32 [T][C]."""
        return Segment(**{f.name: getattr(self, f.name) for f in fields(SegmentInfo)}, values=values)

    def row_span(self, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions in the original file of the half-open step ranges [starts, stops)."""
        if self.rows is None:
            return self.first_row + starts, self.first_row + stops
        ends = self.rows + 1 if self.row_stops is None else self.row_stops
        return self.rows[starts], ends[stops - 1]


@dataclass(frozen=True, kw_only=True)
class Segment(SegmentInfo):
    """A segment with its ``values``: float32 [T][C], finite after curation.

    Raises ValueError where the values are not of T steps and C channels.
    """

    values: np.ndarray

    def __post_init__(self) -> None:
        if self.values.shape != (self.steps, len(self.channels)):
            raise ValueError(
                f"{self.recording_id}, segment {self.number}: values of shape {self.values.shape} for {self.steps} "
                f"steps of {len(self.channels)} channels"
            )


def pack_cells(cells: np.ndarray) -> np.ndarray:
    """Cells bool [T][C] as uint8 [T][ceil(C / 8)]: bit c of a step is that of channel c."""
    return np.packbits(cells, axis=1, bitorder="little")


def cells_by_channel(packed: np.ndarray, channels: int) -> np.ndarray:
    """Packed cells [T][ceil(C / 8)] as bool [T][C]."""
    return np.unpackbits(packed, axis=1, count=channels, bitorder="little").astype(bool)
