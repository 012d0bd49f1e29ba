"""Means over datasets, each over the same ones: all levels of a row, and all ranked rows.

The compared datasets are those on which at least one method has a value at every level. (The baselines Random and
Majority decide this only where nothing else is stored.) A method with values on all of them at every level is complete
and ranked. The others are ranked apart, and what they lack is listed; their means are over the compared datasets on
which they have a value at every level.
"""

from __future__ import annotations

import polars as pl

from readbench_data.evaluation.run.results_store import UnitStatus
from readbench_data.evaluation.task.release_data import LEVELS

DDOF = 1
"""The standard deviation across datasets is that of a sample, divided by n - 1 (ours; the paper does not state it)."""

BASELINES = "trivial"
"""The family of Random and Majority."""


def covered(cells: pl.DataFrame) -> dict[str, list[str]]:
    """Return per method the datasets on which it has a value at every level.

    Parameters
    ----------
    cells : polars.DataFrame
        One row per (method, dataset, rho) with ``value``.
    """
    full = (
        cells.filter(pl.col("value").is_not_null())
        .group_by(["method", "dataset"], maintain_order=True)
        .agg(pl.col("rho").n_unique())
        .filter(pl.col("rho") == len(LEVELS))
    )
    found: dict[str, list[str]] = {name: [] for name in cells["method"].unique(maintain_order=True)}
    for method, dataset in full.select("method", "dataset").iter_rows():
        found[method].append(dataset)
    return found


def compared(cells: pl.DataFrame) -> list[str]:
    """Return the datasets over which means are taken, in the order of ``cells``."""
    baselines = set(cells.filter(pl.col("family") == BASELINES)["method"])
    by_method = covered(cells)
    others = {d for m, names in by_method.items() if m not in baselines for d in names}
    chosen = others or {d for names in by_method.values() for d in names}
    return [d for d in cells["dataset"].unique(maintain_order=True) if d in chosen]


def macro_table(cells: pl.DataFrame) -> pl.DataFrame:
    """Return one row per method with its means over datasets.

    Parameters
    ----------
    cells : polars.DataFrame
        As :meth:`~readbench_data.evaluation.board.leaderboard.Leaderboard.cells` returns it.

    Returns
    -------
    polars.DataFrame
        ``rho0``, ``rho10``, ``rho20``: the means; ``sd0``, ...: the standard deviations across datasets (null for one
        dataset); ``varying0``, ...: the means over those datasets whose corpora change with the level; ``n``: how many
        datasets are behind them; ``complete``; ``missing``: what an incomplete method lacks, in words; ``code``: the
        version of its code. Complete methods by descending ``rho0``, then the others, most datasets first.
    """
    datasets, by_method = compared(cells), covered(cells)
    pairs = [(m, d) for m, names in by_method.items() for d in names if d in datasets]
    counted = pl.DataFrame(pairs, schema={"method": pl.String, "dataset": pl.String}, orient="row")
    used = cells.join(counted, on=["method", "dataset"], how="semi", maintain_order="left")
    varies = ~pl.col("same_at_all_levels").fill_null(False)
    means = used.group_by("method", maintain_order=True).agg(
        *(pl.col("value").filter(pl.col("rho") == r).mean().alias(f"rho{r}") for r in LEVELS),
        *(pl.col("value").filter(pl.col("rho") == r).std(ddof=DDOF).alias(f"sd{r}") for r in LEVELS),
        *(pl.col("value").filter((pl.col("rho") == r) & varies).mean().alias(f"varying{r}") for r in LEVELS),
    )
    described = cells.group_by("method", maintain_order=True).agg(
        pl.col("family").drop_nulls().first(),
        pl.col("supervision").drop_nulls().first(),
        pl.col("harness").drop_nulls().first(),
        pl.col("code_version").drop_nulls().first().alias("code"),
    )
    lacks = [
        (m, sum(d in datasets for d in names), _lacks(cells, m, [d for d in datasets if d not in names]))
        for m, names in by_method.items()
    ]
    schema = {"method": pl.String, "n": pl.Int64, "missing": pl.String}
    table = described.join(means, on="method", how="left", maintain_order="left")
    table = table.join(pl.DataFrame(lacks, schema=schema, orient="row"), on="method", maintain_order="left")
    table = table.with_columns(complete=(pl.col("n") == len(datasets)) & (pl.col("n") > 0))
    ranked = table.filter("complete").sort("rho0", descending=True, maintain_order=True)
    apart = table.filter(~pl.col("complete")).sort("n", descending=True, maintain_order=True)
    return pl.concat([ranked, apart])


def _lacks(cells: pl.DataFrame, method: str, datasets: list[str]) -> str:
    """Return what a method lacks on ``datasets``, with the status and the levels."""
    rows = cells.filter((pl.col("method") == method) & pl.col("value").is_null())
    lines = []
    for dataset in datasets:
        by_status: dict[str, list[int]] = {}
        for status, rho in rows.filter(pl.col("dataset") == dataset).select("status", "rho").iter_rows():
            by_status.setdefault(str(status), []).append(rho)
        parts = [
            UnitStatus(status).replace("_", " ") + ("" if len(levels) == len(LEVELS) else f" at {_percent(levels)}")
            for status, levels in by_status.items()
        ]
        lines.append(f"{dataset} ({', '.join(parts) or 'not run'})")
    return ", ".join(lines)


def _percent(levels: list[int]) -> str:
    return f"{' and '.join(str(rho) for rho in sorted(levels))} %"
