"""Checks the votes of every window of the audit table, published or not: their number, and what follows from them."""

from __future__ import annotations

import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.release.lane_records import RuleSettings
from readbench_data.release.verify.report import Check
from readbench_data.windows.outcomes import Reason

BY_STEP = ("majority", "short_fault", "native")
"""Rules with one vote per step; ``majority_of_beats`` has one vote per beat."""


def check_votes(check: Check, path: str, frame: pl.DataFrame, rule: RuleSettings, length: int | None) -> None:
    """Check sums, shares and reasons of all rows of an audit table. ``rule`` and ``length`` (steps of a window, None if
    lengths differ) are those in the manifest."""
    rows = frame.select("entry_id", "rule", "class_label", "reason", "majority_share").join(
        _sums(frame), on="entry_id", how="left"
    )
    rows = rows.with_columns(pl.col("total", "normal", "best", "tied", "least", "own").fill_null(0))
    wrong = {f"labelled by another rule than {rule.name}": pl.col("rule") != rule.name}
    if length is not None and rule.name in BY_STEP:
        wrong[f"whose number of votes differs from their {length} steps"] = _not_the_steps(rows, length)
    wrong["whose majority_share does not follow from their votes"] = (pl.col("least") < 0) | _another_share(rule.name)
    wrong["whose reason does not follow from their votes"] = _another_reason(rule)
    for words, condition in wrong.items():
        found = rows.filter(condition)
        if found.height:
            problem = f"{found.height} windows {words}, such as {found['entry_id'][0]}"
            check.breach(path, "label_error", problem, found.height)


def _sums(frame: pl.DataFrame) -> pl.DataFrame:
    """Return, by ``entry_id``: ``total`` votes, those for ``normal``, for the ``best`` fault and for its ``own`` class,
    the number of faults ``tied`` with the best one, and the ``least`` count of a single vote."""
    fault, n = pl.col("voted") != NORMAL, pl.col("n")
    return (
        frame.select("entry_id", own="class_label", vote="votes")
        .explode("vote")
        .filter(pl.col("vote").is_not_null())
        .with_columns(voted=pl.col("vote").struct.field("class_label"), n=pl.col("vote").struct.field("count"))
        .group_by("entry_id", "own", "voted")
        .agg(n.sum(), least=n.min())
        .group_by("entry_id")
        .agg(
            total=n.sum(),
            least=pl.col("least").min(),
            normal=n.filter(~fault).sum(),
            best=n.filter(fault).max(),
            tied=(n.filter(fault) == n.filter(fault).max()).sum(),
            own=n.filter(pl.col("voted") == pl.col("own")).sum(),
        )
    )


def _not_the_steps(rows: pl.DataFrame, length: int) -> pl.Expr:
    """Return which windows have a wrong number of votes. A step without a code does not vote, so a window that touches
    one has fewer votes than steps. In a dataset with such steps, a window that crosses units may touch one too."""
    total, reason = pl.col("total"), pl.col("reason")
    touching = reason.eq_missing(Reason.UNLABELLED)
    if rows.filter(touching & (total < length)).height:
        touching |= reason.eq_missing(Reason.CROSSES_UNITS)
    return (total > length) | ((total < length) & ~touching)


def _another_share(rule: str) -> pl.Expr:
    """Return which windows have a wrong ``majority_share``: it is the share of the window's class or, without a class,
    of the class with most votes. Under ``short_fault`` a window that is dropped for another reason may have the share
    of the event that would have won; such windows are not checked."""
    strongest = pl.max_horizontal("normal", "best")
    votes = pl.when(pl.col("class_label").is_null()).then(strongest).otherwise("own")
    off = (pl.col("majority_share").fill_nan(None) - votes / pl.col("total")).abs() > 1e-9
    share_of_event = pl.col("reason").is_in([Reason.UNLABELLED, Reason.CROSSES_UNITS]).fill_null(False) & (
        rule == "short_fault"
    )
    return (pl.col("total") > 0) & off.fill_null(True) & ~share_of_event


def _another_reason(rule: RuleSettings) -> pl.Expr:
    normal, best = pl.col("normal"), pl.col("best")
    pure = normal / pl.col("total") >= rule.normal_purity
    tie = (best >= normal) & (best > 0) & (pl.col("tied") > 1)
    if rule.name == "short_fault":  # two events with the same number of steps inside, although Normal has more
        tie |= (normal > best) & (best > 0)
    return (
        pl.when(pl.col("class_label") == NORMAL)
        .then(~pure)
        .when(pl.col("reason") == Reason.MIXED)
        .then((normal <= best) | pure)
        .when(pl.col("reason") == Reason.AMBIGUOUS)
        .then(~tie)
        .otherwise(False)
    )
