"""Per-channel counts of missing, sentinel and filled cells of a dataset, and of recordings with a dead channel."""

from __future__ import annotations

from typing import Any

import polars as pl

from readbench_data.lane import CHANNELS
from readbench_data.pages.charts import bar
from readbench_data.pages.templating import breakable
from readbench_data.pages.wording import counted, shorten
from readbench_data.recordings.channel_tally import by_channel
from readbench_data.store.records import JsonObject
from readbench_data.store.store import Stage, Store

SHOWN = 100
"""Channels listed on a page; ``--json`` has all of them."""


def channel_tally(store: Store, dataset: str) -> pl.DataFrame | None:
    """Return the channels of the current lane's recordings (see :func:`by_channel`), those with most cells without a
    value first; None if the lane is not in this data root."""
    stage = Stage(store, dataset, "recordings")
    record = stage.current()
    if record is None or not store.exists(path := f"{stage.place(record.key)}/{CHANNELS}"):
        return None
    with store.open_read(path) as stream:
        found = by_channel(stream)
    without = (pl.col("missing") + pl.col("masked")) / pl.col("rows")
    dead = (pl.col("absent") + pl.col("constant")) / pl.col("recordings")
    return found.sort(without, dead, descending=True, maintain_order=True)


def share(part: int, whole: int) -> str:
    """Return a share in per cent; a share above 0 is never shown as 0."""
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    return "< 0.01 %" if percent < 0.01 else f"{percent:.2f} %"


def tally_rows(tally: pl.DataFrame | None) -> dict[str, Any] | None:
    """Return the tally for a page: ``header``, the rows of the first ``SHOWN`` channels as ``read``, the columns
    aligned to the ``right``, the number of ``all`` channels, and of those with a missing value or sentinel
    (``touched``)."""
    if tally is None:
        return None
    header = ["channel", "recordings", "rows", "missing", "sentinels", "", "filled", "wholly missing in", "constant in"]
    header.append("removed from")
    return {
        "header": header,
        "right": [i for i, name in enumerate(header) if name and i],
        "read": [_row(row) for row in tally.head(SHOWN).iter_rows(named=True)],
        "all": tally.height,
        "touched": tally.filter(pl.col("missing") + pl.col("masked") > 0).height,
    }


def _row(row: JsonObject) -> list[object]:
    without = row["missing"] + row["masked"]
    return [
        breakable(row["channel"]),
        row["recordings"],
        row["rows"],
        share(row["missing"], row["rows"]),
        share(row["masked"], row["rows"]),
        bar(without / max(row["rows"], 1)),
        share(row["filled"], row["rows"]),
        row["absent"],
        row["constant"],
        row["removed"],
    ]


def tally_lines(tally: pl.DataFrame, most: int = 10) -> list[str]:
    """Return the channels with most cells without a value as lines of text; empty if every cell has a value."""
    touched = tally.filter(pl.col("missing") + pl.col("masked") > 0)
    if not touched.height:
        return []
    lines = [f"{'channel':34}{'missing':>10}{'sentinels':>11}{'filled':>10}   in per cent of its rows"]
    for row in touched.head(most).iter_rows(named=True):
        shares = [share(row[name], row["rows"]) for name in ("missing", "masked", "filled")]
        lines.append(f"{shorten(row['channel'], 33):34}{shares[0]:>10}{shares[1]:>11}{shares[2]:>10}")
    left = touched.height - most
    return [*lines, f"and {counted(left, 'more channel')}: --json or --html lists all"] if left > 0 else lines
