"""Counts from a dataset's audit table, for the audit page."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.windows.outcomes import Outcome, Side
from readbench_data.windows.vote_sums import vote_sums

FUNNEL = ("labelled", "kept", "corpus side", "query side", "corpus", "queries")
COLUMNS = ["entry_id", "recording_id", "unit", "side", "class_label", "outcome", "reason", "votes", "majority_share"]
COLUMNS += ["event_coverage", "event_id", "filled_fraction", "sentinel_count", "source_file", "row_start"]


def funnel(audit: pl.DataFrame) -> pl.DataFrame:
    """Return the number of windows per class after each stage (``FUNNEL``); largest class first, Normal last."""
    kept = pl.col("outcome") != Outcome.DROPPED
    return (
        audit.filter(pl.col("class_label").is_not_null())
        .group_by("class_label")
        .agg(
            pl.len().alias("labelled"),
            kept.sum().alias("kept"),
            (kept & (pl.col("side") == Side.CORPUS)).sum().alias("corpus side"),
            (kept & (pl.col("side") == Side.QUERY)).sum().alias("query side"),
            (pl.col("outcome") == Outcome.CORPUS).sum().alias("corpus"),
            (pl.col("outcome") == Outcome.QUERY).sum().alias("queries"),
            pl.col("unit").n_unique().alias("units"),
        )
        .with_columns(last=pl.col("class_label") == NORMAL)
        .sort("last", "labelled", "class_label", descending=[False, True, False])
        .drop("last")
    )


def by_reason(audit: pl.DataFrame) -> list[tuple[str, str, int]]:
    """(outcome, reason, windows) of windows that are not in the release, most first."""
    counts = audit.filter(pl.col("reason").is_not_null()).group_by("outcome", "reason").len()
    return list(counts.sort("len", "outcome", "reason", descending=[True, False, False]).iter_rows())


def purity(audit: pl.DataFrame) -> dict[str, int]:
    """Return the number of windows by the share of votes of the strongest class: bins of ten per cent, named by their
    lower end, then a bin for pure windows."""
    share = audit["majority_share"].drop_nulls().to_numpy()
    edges = np.arange(0, 1.0001, 0.1)
    counts, _ = np.histogram(share[share < 1], bins=edges)
    names = [f"{a:.0f}" for a in edges[:-1] * 100]
    bins = {name: int(n) for name, n in zip(names, counts, strict=True)}
    first = next((i for i, n in enumerate(bins.values()) if n), len(bins))
    return dict(list(bins.items())[first:]) | {"pure": int((share == 1).sum())}


def margins(audit: pl.DataFrame, coverage: float) -> pl.DataFrame:
    """How far each labelled window is from another label, nearest first: ``entry_id, class_label, next_class, outcome,
    margin, label_words``. ``next_class`` has most votes of all others (all are named if some tie). The margin is a
    share of the votes, or of the event if the short-fault rule, which needs more than ``coverage``, gave the label."""
    labelled = audit.filter(pl.col("class_label").is_not_null())
    normal, own = pl.col("class_label") == NORMAL, pl.col("own_votes")
    sums = labelled.join(vote_sums(labelled), on="entry_id").join(_next_classes(labelled), on="entry_id", how="left")
    sums = sums.with_columns(
        total=pl.col("fault_votes") + pl.col("normal_votes"),
        other=pl.when(normal).then("other_votes").otherwise(pl.max_horizontal("other_votes", "normal_votes")),
    )
    lead = (own - pl.col("other")) / pl.col("total")
    short = ~normal & (own < pl.col("other"))
    beyond = pl.col("event_coverage") - coverage
    shown = pl.format("{} of {} votes, the next class {}", "own_votes", "total", "other")
    inside = pl.format(
        "{} % of the event inside, more than {} % needed",
        (100 * pl.col("event_coverage")).round(1),
        100 * coverage,
    )
    return (
        sums.with_columns(
            margin=pl.when(short).then(beyond).otherwise(lead), label_words=pl.when(short).then(inside).otherwise(shown)
        )
        .filter(pl.col("margin") < 1)
        .sort("margin", "entry_id")
        .select("entry_id", "class_label", "next_class", "outcome", "margin", "label_words")
    )


def _next_classes(labelled: pl.DataFrame) -> pl.DataFrame:
    """Return ``entry_id, next_class`` of the windows with a vote for another class than their own."""
    votes = (
        labelled.select("entry_id", own="class_label", vote="votes")
        .explode("vote", empty_as_null=True)
        .with_columns(voted=pl.col("vote").struct.field("class_label"), n=pl.col("vote").struct.field("count"))
        .filter(pl.col("voted") != pl.col("own"))
        .group_by("entry_id", "voted")
        .agg(pl.col("n").sum())
    )
    most = votes.filter(pl.col("n") == pl.col("n").max().over("entry_id")).sort("entry_id", "voted")
    return most.group_by("entry_id").agg(next_class=pl.col("voted").str.join(" or "))


def by_move(fragile: pl.DataFrame) -> pl.DataFrame:
    """Return, per number of steps, the windows whose class changes if they are moved by at most so many: ``steps,
    published, retained, dropped`` (cumulative)."""
    steps = fragile.select(
        "outcome", steps=pl.col("moved").abs(), published=pl.col("outcome").is_in([Outcome.QUERY, Outcome.CORPUS])
    )
    dropped = pl.col("outcome") == Outcome.DROPPED
    counts = steps.group_by("steps").agg(
        published=pl.col("published").sum().cast(pl.Int64),
        retained=(~dropped).sum().cast(pl.Int64),
        dropped=dropped.sum().cast(pl.Int64),
    )
    return counts.sort("steps").with_columns(pl.col("published", "retained", "dropped").cum_sum())


def unlike(margins: pl.DataFrame, each: int) -> pl.DataFrame:
    """Return at most ``each`` windows with the same class, next class and margin (to 0.1 %), in the given order;
    ``alike`` is the number of such windows."""
    same = ["class_label", "next_class", pl.col("margin").mul(1000).round()]
    counted = margins.with_columns(alike=pl.len().over(same), place=pl.int_range(pl.len()).over(same))
    return counted.filter(pl.col("place") < each).drop("place")


def units(audit: pl.DataFrame) -> pl.DataFrame:
    """Return every unit, the largest first: ``unit, side, windows, dropped, normal, faults, classes`` (of the retained
    windows)."""
    kept, normal = pl.col("outcome") != Outcome.DROPPED, pl.col("class_label") == NORMAL
    return (
        audit.group_by("unit")
        .agg(
            pl.col("side").drop_nulls().first(),
            pl.len().alias("windows"),
            (~kept).sum().alias("dropped"),
            (kept & normal).sum().alias("normal"),
            (kept & ~normal).sum().alias("faults"),
            pl.col("class_label").filter(kept).drop_nulls().unique().sort().alias("classes"),
        )
        .sort("windows", "unit", descending=[True, False])
    )


def unit_rows(audit: pl.DataFrame, most: int = 40) -> list[tuple[str, np.ndarray]]:
    """Units as rows of a timeline: name with its side, and one code per window in order (0 dropped, 1 Normal, 2 fault);
    the units with most windows, at least one of every class where there is room."""
    code = (
        pl.when(pl.col("outcome") == Outcome.DROPPED).then(0).when(pl.col("class_label") == NORMAL).then(1).otherwise(2)
    )
    ordered = audit.sort("recording_id", "row_start").with_columns(code=code.cast(pl.Int8))
    units = ordered.group_by("unit").agg(
        pl.len().alias("n"), pl.col("side").drop_nulls().first(), pl.col("class_label").drop_nulls().unique(), "code"
    )
    units = units.sort("n", "unit", descending=[True, False])
    chosen: list[int] = []
    seen: set[str] = set()
    for i, classes in enumerate(units["class_label"].to_list()):
        if set(classes) - seen and len(chosen) < most:
            chosen.append(i)
            seen |= set(classes)
    chosen = sorted({*chosen, *range(min(most - len(chosen), units.height))})[:most]
    rows = units[chosen].select("unit", "side", "code").rows()
    return [(f"{side or 'none'}: {unit}", np.array(codes, np.int8)) for unit, side, codes in rows]


def channel_stats(values: list[tuple[tuple[str, ...], np.ndarray]]) -> list[dict[str, Any]]:
    """Return the channels of published windows: ``channel``, number of ``windows`` with it and of windows where it is
    constant (``still``), ``minimum``, ``mean`` (of the windows' means), ``maximum``; most often constant first."""
    stats: dict[str, list[float]] = {}
    for channels, window in values:
        low, high, mean = window.min(axis=0), window.max(axis=0), window.mean(axis=0, dtype=np.float64)
        for c, name in enumerate(channels):
            own = stats.setdefault(name, [0, 0, np.inf, 0.0, -np.inf])
            own[0] += 1
            own[1] += low[c] == high[c]
            own[2], own[4] = min(own[2], low[c]), max(own[4], high[c])
            own[3] += mean[c]
    rows = [
        {
            "channel": name,
            "windows": int(n),
            "still": int(still),
            "minimum": float(low),
            "mean": float(total / n),
            "maximum": float(high),
        }
        for name, (n, still, low, total, high) in stats.items()
    ]
    return sorted(rows, key=lambda r: (-r["still"] / r["windows"], r["channel"]))


def fill(audit: pl.DataFrame) -> pl.DataFrame:
    """Return the source files with filled cells or masked sentinels in a window, most filled first: ``source_file,
    windows, touched, mean, most`` (shares of the cells of a window) and ``sentinels``."""
    return (
        audit.group_by("source_file")
        .agg(
            pl.len().alias("windows"),
            (pl.col("filled_fraction") > 0).sum().alias("touched"),
            pl.col("filled_fraction").mean().alias("mean"),
            pl.col("filled_fraction").max().alias("most"),
            pl.col("sentinel_count").sum().alias("sentinels"),
        )
        .filter((pl.col("touched") > 0) | (pl.col("sentinels") > 0))
        .sort("mean", "sentinels", "source_file", descending=[True, True, False])
    )
