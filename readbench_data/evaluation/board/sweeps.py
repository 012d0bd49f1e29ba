"""The two sweeps as text and as pictures: the number of neighbours in Normal-Residual, and the budget of labels.

Every mean is over the same datasets: those of the sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from readbench_data.evaluation.board.page.figures import DASHES, spread, value_axis
from readbench_data.evaluation.run.label_budget import ALL
from readbench_data.pages.axes import Scale, width_of
from readbench_data.pages.drawing import Drawing

SHOWN = (0, 1, 2, 3, 5, 10, 20, 30, 50, 75, 100)
"""The k that the text shows; the CSV has all."""

USUAL = 30
"""The k of +NR, marked in the picture."""


@dataclass(frozen=True)
class Curve:
    """One level of pollution: places on the x axis and values; ``low`` and ``high``: the range over draws, if any."""

    rho: int
    x: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def neighbour_means(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over datasets per k and level from the rows of ``run.neighbour_sweep``: ``rho``, ``k``,
    ``value``."""
    means = rows.group_by(["rho", "k"], maintain_order=True).agg(pl.col("value").mean())
    return means.sort("rho", "k")


def neighbour_text(rows: pl.DataFrame, name: str) -> str:
    """Return the sweep of k as a table of means over datasets, the best k per level, and what limits k."""
    means = neighbour_means(rows)
    levels, datasets = means["rho"].unique().sort().to_list(), rows["dataset"].unique(maintain_order=True).to_list()
    value = {(rho, k): v for rho, k, v in means.iter_rows()}
    lines = [f"NDCG@10 of {name}+NR by k, mean over {_counted(datasets)}", ""]
    lines.append("       k" + "".join(f"{f'{rho} %':>9}" for rho in levels))
    for k in [k for k in SHOWN if (levels[0], k) in value]:
        lines.append(f"{k or 'without':>8}" + "".join(f"{value[rho, k]:9.3f}" for rho in levels))
    lines.append("")
    for rho in levels:
        k, best = _best(means.filter(pl.col("rho") == rho))
        lines.append(f"best at {rho} %: k = {k} ({best:.3f})")
    few = rows.filter(pl.col("n_normals") < pl.col("k").max()).unique("dataset", maintain_order=True)
    for dataset, n in few.select("dataset", "n_normals").iter_rows():
        said = (
            f"has {n} Normal windows: from k = {n} on, all are used"
            if n
            else "has no Normal windows: k is without effect"
        )
        lines.append(f"{dataset} {said}")
    return "\n".join(lines) + "\n"


def draw_neighbours(rows: pl.DataFrame, name: str) -> tuple[Drawing, str]:
    """Return the picture of the sweep of k, and its text alternative."""
    means = neighbour_means(rows)
    curves, found = [], []
    for _, own in means.filter(pl.col("k") > 0).group_by(["rho"], maintain_order=True):
        curves.append(Curve(int(own["rho"][0]), own["k"].to_list(), own["value"].to_list()))
        k, best = _best(own)
        found.append(f"at {curves[-1].rho} % best k {k}, {best:.3f}")
    most = max(curves[0].x)
    places = [k for k in SHOWN[1:] if k <= most and k not in (2, 3, 5)]
    drawing, x, y = _frame(curves, [(k, str(k)) for k in places], "k, nearest Normal windows", (1, most))
    if most >= USUAL:
        drawing.path([x(USUAL)] * 2, [y.start, y.stop], "pale", "3 3")
    for i, curve in enumerate(curves):
        at = max(range(len(curve.values)), key=curve.values.__getitem__)
        drawing.mark(x(curve.x[at]), y(curve.values[at]), i)
    return drawing, f"NDCG@10 of {name}+NR for k from 1 to {most:g}, mean over datasets: {'; '.join(found)}"


def _best(means: pl.DataFrame) -> tuple[int, float]:
    """Return the k of 1 or more with the highest mean, the smallest of equal ones, and that mean."""
    row = means.filter(pl.col("k") > 0).sort("value", "k", descending=[True, False]).row(0, named=True)
    return int(row["k"]), float(row["value"])


def label_means(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the mean over datasets, then over draws, per level and budget, from the rows of ``run.label_budget``.

    Returns
    -------
    polars.DataFrame
        ``rho``, ``items`` (0: none, -1: all, which is last), ``value``, ``low`` and ``high``: the lowest and highest
        mean over datasets of any draw, and ``draws``.
    """
    by_draw = rows.group_by(["rho", "items", "seed"], maintain_order=True).agg(pl.col("value").mean())
    means = by_draw.group_by(["rho", "items"], maintain_order=True).agg(
        pl.col("value").mean(),
        pl.col("value").min().alias("low"),
        pl.col("value").max().alias("high"),
        pl.len().cast(pl.Int64).alias("draws"),
    )
    return means.sort("rho", pl.col("items") == ALL, "items")


def label_text(rows: pl.DataFrame, name: str) -> str:
    """Return the budget of labels as a table: mean over datasets and draws, and the range of the draws."""
    means = label_means(rows)
    datasets = rows["dataset"].unique(maintain_order=True).to_list()
    levels, draws = means["rho"].unique().sort().to_list(), max(means["draws"].to_list())
    lines = [f"NDCG@10 of {name} by labelled items per class, mean over {_counted(datasets)} and {draws} draws;"]
    lines += ["in brackets the lowest and highest mean over datasets of a draw", ""]
    lines.append("labelled" + "".join(f"{f'{rho} %':>24}" for rho in levels))
    cells = {(r["rho"], r["items"]): r for r in means.iter_rows(named=True)}
    for items in means["items"].unique(maintain_order=True).to_list():
        texts = []
        for rho in levels:
            row = cells[rho, items]
            spreads = f" [{row['low']:.3f}, {row['high']:.3f}]" if row["draws"] > 1 else " " * 15
            texts.append(f"{row['value']:.3f}{spreads}")
        lines.append(f"{_budget(items):>8}" + "".join(f"{text:>24}" for text in texts).rstrip())
    return "\n".join(lines) + "\n"


def draw_labels(rows: pl.DataFrame, name: str) -> tuple[Drawing, str]:
    """Return the picture of the budget of labels, and its text alternative."""
    means = label_means(rows)
    budgets = means["items"].unique(maintain_order=True).to_list()
    place = {items: float(i) for i, items in enumerate(budgets)}
    curves, found = [], []
    for _, own in means.group_by(["rho"], maintain_order=True):
        places = [place[items] for items in own["items"].to_list()]
        columns = [own[column].to_list() for column in ("value", "low", "high")]
        curves.append(Curve(int(own["rho"][0]), places, *columns))
        texts = (f"{_budget(items)} {mean:.3f}" for items, mean in own.select("items", "value").iter_rows())
        found.append(f"at {curves[-1].rho} %: {', '.join(texts)}")
    ticks = [(at, _budget(items)) for items, at in place.items()]
    drawing, x, y = _frame(curves, ticks, "labelled items per class", (0, len(budgets) - 1))
    for i, curve in enumerate(curves):
        for at, value, low, high in zip(curve.x, curve.values, curve.low, curve.high, strict=True):
            beside = x(at) + 3 * (i - 1)  # ranges of several levels do not cover each other
            drawing.line(beside, y(low), beside, y(high), "leader")
            drawing.mark(x(at), y(value), i)
    return drawing, f"NDCG@10 of {name} by labelled items per class, mean over datasets: {'; '.join(found)}"


def _budget(items: int) -> str:
    return {0: "none", ALL: "all"}.get(items, str(items))


def _counted(datasets: Sequence[str]) -> str:
    return f"{len(datasets)} datasets" if len(datasets) > 1 else datasets[0]


def _frame(
    curves: Sequence[Curve], ticks: Sequence[tuple[float, str]], title: str, ends: tuple[float, float]
) -> tuple[Drawing, Scale, Scale]:
    """Draw axes, one curve per level and its name at the right; return the drawing and both scales."""
    left, top, right, bottom = 50.0, 30.0, 560.0, 340.0
    names = [f"{curve.rho} % Normal windows" for curve in curves]
    drawing = Drawing(right + 30 + max(width_of(name) for name in names), 384)
    values = [v for curve in curves for v in (*curve.values, *curve.low, *curve.high)]
    y = value_axis(drawing, values, (left, top, right, bottom))
    x = Scale(*ends, left + 8, right - 8)
    for at, text in ticks:
        drawing.text(x(at), bottom + 20, text, "middle")
    drawing.text((left + right) / 2, bottom + 38, title, "middle")
    drawing.text(4, 12, "NDCG@10", kind="note")
    heights = spread([y(curve.values[-1]) for curve in curves], 15)
    for i, (curve, name, height) in enumerate(zip(curves, names, heights, strict=True)):
        drawing.path(x.all(curve.x), y.all(curve.values), "curve", DASHES[i % len(DASHES)])
        drawing.line(x(curve.x[-1]) + 5, y(curve.values[-1]), right + 10, height)
        drawing.text(right + 14, height + 4, name)
    return drawing, x, y
