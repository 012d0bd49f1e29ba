"""Per-channel counts of missing, masked and filled cells, and of channels without information.

Stored as one row per recording; :func:`by_channel` adds them up to one row per channel of the dataset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl

_COUNTS = pa.list_(pa.int64())
TALLY_SCHEMA = pa.schema(
    [
        ("recording_id", pa.string()),
        ("source_file", pa.string()),
        ("rows", pa.int64()),
        ("channels", pa.list_(pa.string())),
        ("missing", _COUNTS),
        ("masked", _COUNTS),
        ("filled", _COUNTS),
        ("constant", pa.list_(pa.bool_())),
        ("removed", pa.list_(pa.bool_())),
    ]
)
"""One row per recording as it was read; its lists have one item per channel. ``missing``: cells without a value in the
source; ``masked``: cells that held a sentinel; ``filled``: cells of both kinds that curation filled; ``constant``: all
cells with a value have the same one; ``removed``: the channel is not in the curated recording."""


@dataclass(frozen=True)
class ChannelTally:
    """One recording's row of ``TALLY_SCHEMA``: ``channels`` C names, counts int64 [C], flags bool [C]."""

    recording_id: str
    source_file: str
    rows: int
    channels: tuple[str, ...]
    missing: np.ndarray
    masked: np.ndarray
    filled: np.ndarray
    constant: np.ndarray
    removed: np.ndarray


@dataclass
class ChannelTallies:
    """The tallies of a dataset's recordings, in the order read."""

    tallies: list[ChannelTally] = field(default_factory=list)

    def add(self, tally: ChannelTally) -> None:
        """Add the tally of the next recording."""
        self.tallies.append(tally)

    def table(self) -> pa.Table:
        """All of them as a table of ``TALLY_SCHEMA``."""
        sizes = [len(t.channels) for t in self.tallies]
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32))
        columns = []
        for column in TALLY_SCHEMA:
            if not pa.types.is_list(column.type):
                columns.append(pa.array([getattr(t, column.name) for t in self.tallies], column.type))
                continue
            if column.name == "channels":
                flat = pa.array([c for t in self.tallies for c in t.channels], pa.string())
            else:
                parts = [getattr(t, column.name) for t in self.tallies]
                flat = pa.array(np.concatenate(parts) if parts else [], column.type.value_type)
            columns.append(pa.ListArray.from_arrays(offsets, flat))
        return pa.table(columns, schema=TALLY_SCHEMA)


def by_channel(stream: IO[bytes]) -> pl.DataFrame:
    """One row per channel, in order of first appearance: ``channel``, ``recordings`` that have it, ``rows``,
    ``missing``, ``masked`` and ``filled`` cells, and the number of recordings in which it is ``absent`` (no value at
    all), ``constant`` and ``removed``.

    ``stream``: a Parquet file of ``TALLY_SCHEMA``.
    """
    import polars as pl

    lists = ["channels", "missing", "masked", "filled", "constant", "removed"]
    cells = pl.read_parquet(stream).select("rows", *lists).explode(lists, empty_as_null=False)
    return cells.group_by(channel="channels", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("recordings"),
        pl.col("rows", "missing", "masked", "filled").sum(),
        absent=(pl.col("missing") + pl.col("masked") == pl.col("rows")).cast(pl.Int64).sum(),
        constant=pl.col("constant").cast(pl.Int64).sum(),
        removed=pl.col("removed").cast(pl.Int64).sum(),
    )
