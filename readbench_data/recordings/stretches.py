"""Stretches of rows that two recordings share, whether or not a window was cut there.

The index finds identical windows only where both recordings were cut at the same place. Here every recording gets
anchors that depend on its values alone (rows whose hash ends in four zero bits), and at each anchor the next ``STEPS``
rows are hashed exactly. Two recordings that share a stretch share its anchors, wherever it starts in each of them.
Memory is a few bytes for every sixteenth row; stretches of constant values are left out. Anchors and length are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
import polars as pl
import xxhash

from readbench_data.recordings.segment import Segment
from readbench_data.recordings.shards import iter_segments

STEPS = 32
_SPARSE = 15


@dataclass(frozen=True)
class SharedStretch:
    """Rows [a_start, a_stop) of recording ``a`` that equal the rows of ``b`` from ``b_start`` on, in steps of their
    segments. The bounds are exact."""

    a: str
    b: str
    a_start: int
    a_stop: int
    b_start: int

    @property
    def steps(self) -> int:
        """Length of the stretch."""
        return self.a_stop - self.a_start

    def __str__(self) -> str:
        return f"{self.a} and {self.b} share {self.steps:,} steps (from step {self.a_start:,} and {self.b_start:,})"


def shared_stretches(stream: IO[bytes], most: int = 50) -> list[SharedStretch]:
    """Return the longest shared stretches of the curated recordings, longest first, at most one per pair of segments.

    The values are read twice: once for the anchors, once for the exact bounds of at most ``most`` pairs.
    """
    anchors = [_anchors(number, segment) for number, segment in enumerate(iter_segments(stream))]
    if not anchors:
        return []
    marks = pl.concat(anchors)
    marks = marks.filter(pl.len().over("hash").is_between(2, 50))
    pairs = (
        marks.join(marks, on="hash", suffix="_b")
        .filter(pl.col("segment") < pl.col("segment_b"))
        .with_columns(shift=pl.col("at_b") - pl.col("at"))
        .group_by("segment", "segment_b", "shift")
        .agg(pl.len().alias("n"), pl.col("at").min().alias("first"))
        .sort("n", "segment", "segment_b", "shift", descending=[True, False, False, False])
        .unique(["segment", "segment_b"], keep="first", maintain_order=True)
        .head(most)
    )
    wanted = {*pairs["segment"], *pairs["segment_b"]}
    stream.seek(0)
    kept: dict[int, Segment] = {n: s for n, s in enumerate(iter_segments(stream)) if n in wanted}
    found = [_exact(kept[a], kept[b], first, first + shift) for a, b, shift, _, first in pairs.iter_rows()]
    return sorted((s for s in found if s is not None), key=lambda s: (-s.steps, s.a, s.b))


def _anchors(number: int, segment: Segment) -> pl.DataFrame:
    """The anchors of a segment: ``segment, at, hash``."""
    return pl.DataFrame(
        list(_hashes(number, segment)), schema={"segment": pl.Int64, "at": pl.Int64, "hash": pl.UInt64}, orient="row"
    )


def _hashes(number: int, segment: Segment) -> Iterator[tuple[int, int, int]]:
    values = np.ascontiguousarray(segment.values, np.float32)
    if len(values) < STEPS:
        return
    weights = np.random.default_rng(1).integers(1, 2**63, values.shape[1], dtype=np.uint64) | np.uint64(1)
    mixed = (values.view(np.uint32).astype(np.uint64) * weights).sum(axis=1, dtype=np.uint64)
    mixed ^= mixed >> np.uint64(29)
    moving = np.concatenate([[False], (values[1:] != values[:-1]).any(axis=1)])
    at = np.flatnonzero((mixed & np.uint64(_SPARSE)) == 0)
    at = at[at + STEPS <= len(values)]
    moves = np.concatenate([[0], np.cumsum(moving)])
    at = at[moves[at + STEPS] - moves[at] > STEPS // 2]
    row = values.shape[1] * values.itemsize
    raw = values.reshape(-1).data.cast("B")
    names = "\0".join(segment.channels)
    for start in at.tolist():
        yield number, start, xxhash.xxh3_64_intdigest(raw[start * row : (start + STEPS) * row], seed=len(names))


def _exact(a: Segment, b: Segment, at_a: int, at_b: int) -> SharedStretch | None:
    """The whole stretch around a common place; None where only the hashes are equal."""
    if a.channels != b.channels:
        return None
    back = min(at_a, at_b)
    ahead = min(a.steps - at_a, b.steps - at_b)
    same = (a.values[at_a - back : at_a + ahead] == b.values[at_b - back : at_b + ahead]).all(axis=1)
    if not same[back]:
        return None
    before = np.flatnonzero(~same[:back])
    after = np.flatnonzero(~same[back:])
    start = at_a - back + (int(before[-1]) + 1 if len(before) else 0)
    stop = at_a + (int(after[0]) if len(after) else ahead)
    if stop - start < STEPS:
        return None
    return SharedStretch(a.recording_id, b.recording_id, start, stop, start + at_b - at_a)
