"""Votes of windows summed by class, for checks, verification and audit pages; computed on whole columns."""

from __future__ import annotations

import polars as pl

from readbench_data.entry import NORMAL


def vote_sums(windows: pl.DataFrame) -> pl.DataFrame:
    """Return one row per window, in any order, with onset codes merged into their class: ``entry_id``, ``own_votes``
    for its own class (0 where it has none), ``other_votes`` for the strongest other fault, ``fault_votes`` for all
    faults, ``normal_votes``.

    ``windows``: ``entry_id, class_label, votes`` (list of code, class_label, count).
    """
    votes = (
        windows.select("entry_id", own="class_label", vote="votes")
        .explode("vote", empty_as_null=True)
        .with_columns(voted=pl.col("vote").struct.field("class_label"), n=pl.col("vote").struct.field("count"))
        .group_by("entry_id", "own", "voted")
        .agg(pl.col("n").sum())
    )
    fault, own = pl.col("voted") != NORMAL, pl.col("voted") == pl.col("own")
    return votes.group_by("entry_id").agg(
        own_votes=pl.col("n").filter(own).sum(),
        other_votes=pl.col("n").filter(fault & own.not_().fill_null(True)).max().fill_null(0),
        fault_votes=pl.col("n").filter(fault).sum(),
        normal_votes=pl.col("n").filter(~fault).sum(),
    )


def gives_class(coverage: float) -> pl.Expr:
    """Expression: whether a labelled window's votes decide for its class. It needs the columns of :func:`vote_sums`,
    ``class_label``, ``rule`` and ``event_coverage``.

    Normal needs more votes than any fault; a fault more than any other fault and at least as many as Normal, or, by
    ``short_fault``, an event of which more than ``coverage`` lies inside. (``normal_purity`` is not checked here.)
    """
    own, other = pl.col("own_votes"), pl.col("other_votes")
    normal = pl.col("class_label") == NORMAL
    short = (pl.col("rule") == "short_fault") & (pl.col("event_coverage") > coverage).fill_null(False) & ~normal
    return (own > 0) & (
        pl.when(normal).then(own > other).otherwise((own > other) & (own >= pl.col("normal_votes"))) | short
    )
