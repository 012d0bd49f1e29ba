"""Votes: a window's class is what its votes give under its rule."""

from __future__ import annotations

import polars as pl

from readbench_data.entry import NORMAL


def wrong_votes(audit: pl.DataFrame) -> pl.DataFrame:
    """Labelled windows whose votes do not support their class under their rule."""
    labelled = audit.filter(pl.col("class_label").is_not_null() & (pl.col("outcome") != "dropped"))
    votes = (
        labelled.select("entry_id", "votes")
        .explode("votes", empty_as_null=True)
        .unnest("votes")
        .rename({"class_label": "voted"})
        .group_by("entry_id", "voted")
        .agg(pl.col("count").sum())
    )
    joined = labelled.select("entry_id", "class_label", "rule", "event_coverage").join(votes, on="entry_id", how="left")
    fault = pl.col("voted") != NORMAL
    sums = joined.group_by("entry_id", "class_label", "rule", "event_coverage").agg(
        own=pl.col("count").filter(pl.col("voted") == pl.col("class_label")).sum(),
        other=pl.col("count").filter(fault & (pl.col("voted") != pl.col("class_label"))).max().fill_null(0),
        normal=pl.col("count").filter(~fault).sum(),
    )
    is_normal = pl.col("class_label") == NORMAL
    wins = (
        pl.when(is_normal)
        .then(pl.col("own") > pl.col("other"))
        .otherwise((pl.col("own") > pl.col("other")) & (pl.col("own") >= pl.col("normal")))
    )
    short = (pl.col("rule") == "short_fault") & ~is_normal & (pl.col("event_coverage") > 0) & (pl.col("own") > 0)
    return sums.filter((pl.col("own") <= 0) | ~(wins | short))
