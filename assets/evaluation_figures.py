"""Figures of results for the lineage view, readable in black and white. Belongs here: plotting. Does not: scoring."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.figures import DPI, INK, markdown, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from readbench_data.evaluation.board.leaderboard import Leaderboard

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
FILLS = (INK, "white", "#9a9a9a")


def scores_by_dataset(rows: pl.DataFrame, title: str) -> str:
    """Return a plot of NDCG@10 at 0 %, one marker per method and one row per dataset, as Markdown with a PNG."""
    from matplotlib.figure import Figure

    primary = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == 0))
    means = primary.group_by(["method", "dataset"], maintain_order=True).agg(pl.col("value").mean())
    values = {(m, d): v for m, d, v in means.iter_rows() if v is not None}
    methods, datasets = ([*dict.fromkeys(means[c])] for c in ("method", "dataset"))
    if not values:
        return f"{title}: no values"
    figure = Figure(figsize=(6.4, 1.0 + 0.24 * len(datasets)), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    for i, method in enumerate(methods):
        at = [(values[method, d], j) for j, d in enumerate(datasets) if (method, d) in values]
        x, y = zip(*at, strict=True) if at else ((), ())
        axes.plot(
            x, y, MARKS[i % len(MARKS)], color=INK, markerfacecolor=FILLS[i % len(FILLS)], markersize=6, label=method
        )
    empty = {d for d in datasets if not any((m, d) in values for m in methods)}
    _dress(axes, [f"{d} (no data)" if d in empty else d for d in datasets], title)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    best = max(values, key=lambda key: values[key])
    return markdown(figure, f"{title}; highest: {best[0]} on {best[1]}, {values[best]:.3f}")


def macro_by_level(board: Leaderboard) -> str:
    """Return a plot of macro NDCG@10 per method at the three levels, with intervals at 0 %, as Markdown with a PNG."""
    from matplotlib.figure import Figure

    from readbench_data.evaluation.task.release_data import LEVELS

    macro = [row for row in board.macro().iter_rows(named=True) if row["rho0"] is not None][:40]
    if not macro:
        return "no values"
    title = "macro NDCG@10 at 0, 10 and 20 % Normal windows; bar: 95 % interval at 0 %"
    figure = Figure(figsize=(7.2, 1.0 + 0.24 * len(macro)), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    comparison = board.comparison(0)
    for j, row in enumerate(macro):
        known = row["method"] in comparison.methods
        interval = comparison.interval(row["method"]) if known else None
        if interval is not None:
            axes.plot(interval, (j, j), "-", color="#9a9a9a", linewidth=5, alpha=0.5, solid_capstyle="butt")
    for i, rho in enumerate(LEVELS):
        shown = [(row[f"rho{rho}"], j) for j, row in enumerate(macro) if row[f"rho{rho}"] is not None]
        x, y = np.array(shown).T
        axes.plot(x, y, MARKS[i], color=INK, markerfacecolor=FILLS[i], markersize=6, label=f"{rho} %")
    _dress(axes, [row["method"] for row in macro], title)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return markdown(figure, f"{title}; best: {macro[0]['method']}, {macro[0]['rho0']:.3f}")


def critical_difference(board: Leaderboard) -> str:
    """Return the conclusion of the test at 0 % and the critical-difference figure as Markdown with an SVG."""
    from readbench_data.evaluation.statistics.cd_figure import cd_svg

    comparison = board.comparison(0)
    if comparison.test is None:
        return comparison.sentence()
    drawing = cd_svg(comparison).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" style="background:#fff" ', 1)
    encoded = base64.b64encode(drawing.replace("currentColor", INK).encode()).decode()
    return f"{comparison.sentence()}\n\n![critical-difference figure](data:image/svg+xml;base64,{encoded})"


def _dress(axes: Axes, rows: list[str], title: str) -> None:
    axes.set_yticks(range(len(rows)), [shortened(name) for name in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(-0.02, 1.02)
    axes.tick_params(labelsize=8)
    axes.grid(axis="both", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=9, loc="left", color=INK)
    axes.spines[["top", "right"]].set_visible(False)
