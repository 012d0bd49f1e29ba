"""Figures of results for the lineage view, readable in black and white. Belongs here: plotting. Does not: scoring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from readbench_data.pages.axes import Scale, width_of
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.shapes import CIRCLE, GREY_TRIANGLE, HOLLOW_SQUARE
from readbench_data.pages.wording import shorten

if TYPE_CHECKING:
    from readbench_data.evaluation.board.leaderboard import Leaderboard

Interval = tuple[float, float]
ROW, TOP, PLOT = 20, 30, 340
"""Pixels: a row, the title, and the width from 0 to 1."""


def scores_by_dataset(rows: pl.DataFrame, title: str) -> str:
    """NDCG@10 at 0 % of each method (a mark of its own) on each dataset (a row), as Markdown with a picture."""
    primary = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == 0))
    means = primary.group_by(["method", "dataset"], maintain_order=True).agg(pl.col("value").mean())
    values = {(m, d): v for m, d, v in means.iter_rows() if v is not None}
    methods, datasets = ([*dict.fromkeys(means[c])] for c in ("method", "dataset"))
    if not values:
        return f"{title}: no values"
    empty = {d for d in datasets if not any((m, d) in values for m in methods)}
    names = [f"{d} (no data)" if d in empty else d for d in datasets]
    series = {method: [values.get((method, d)) for d in datasets] for method in methods}
    best = max(values, key=lambda key: values[key])
    drawing = _dots(title, names, series, list(range(len(methods))))
    return drawing.image(f"{title}; highest: {best[0]} on {best[1]}, {values[best]:.3f}")


def macro_by_level(board: Leaderboard) -> str:
    """Macro NDCG@10 of each method at the three levels, with the interval at 0 %, as Markdown with a picture."""
    from readbench_data.evaluation.task.release_data import LEVELS

    macro = [row for row in board.macro().iter_rows(named=True) if row["complete"]][:40]
    if not macro:
        return "no values"
    title = "macro NDCG@10 at 0, 10 and 20 % Normal windows; bar: 95 % interval at 0 %"
    comparison = board.comparison(0)
    intervals = [comparison.interval(row["method"]) if row["method"] in comparison.methods else None for row in macro]
    series = {f"{rho} %": [row[f"rho{rho}"] for row in macro] for rho in LEVELS}
    names, marks = [row["method"] for row in macro], [CIRCLE, HOLLOW_SQUARE, GREY_TRIANGLE]
    drawing = _dots(title, names, series, marks, intervals)
    return drawing.image(f"{title}; best: {names[0]}, {macro[0]['rho0']:.3f}")


def critical_difference(board: Leaderboard) -> str:
    """The sentence that may be claimed at 0 %, and the critical-difference figure as Markdown."""
    from readbench_data.evaluation.statistics.cd_figure import cd_words, draw_cd

    comparison = board.comparison(0)
    drawing = draw_cd(comparison)
    if drawing is None:
        return comparison.sentence()
    return f"{comparison.sentence()}\n\n{drawing.image(cd_words(comparison, 'at 0 % Normal windows'))}"


def _dots(
    title: str,
    names: Sequence[str],
    series: dict[str, list[float | None]],
    marks: Sequence[int],
    intervals: Sequence[Interval | None] = (),
) -> Drawing:
    """A row for each name, with a mark for each series that has a value from 0 to 1 there, and a bar for an interval;
    the series with their marks at the right."""
    labels = [shorten(name, 36) for name in names]
    left = max(width_of(label) for label in labels) + 12
    bottom = TOP + ROW * len(names)
    x = Scale(0, 1, left + 8, left + PLOT)
    right = x.stop + 8
    legend = max(width_of(shorten(name, 30)) for name in series)
    height = max(bottom + 24, TOP + ROW * len(series) + 8)
    drawing = Drawing(max(right + 34 + legend, width_of(title, 13) + 8), height)
    drawing.text(4, 16, title, kind="heading")
    for i in range(6):
        drawing.line(x(i / 5), TOP, x(i / 5), bottom, "grid")
        drawing.text(x(i / 5), bottom + 16, f"{i / 5:.1f}", "middle", "small")
    drawing.path((left, left, right), (TOP, bottom, bottom), "axis")
    for i, label in enumerate(labels):
        y = TOP + ROW * (i + 0.5)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 6, y + 4, label, "end")
        interval = intervals[i] if i < len(intervals) else None
        if interval is not None:
            drawing.box(x(interval[0]), y - 3, x(interval[1]) - x(interval[0]), 6, "interval")
    for j, (name, values) in enumerate(series.items()):
        for i, value in enumerate(values):
            if value is not None:
                drawing.mark(x(value), TOP + ROW * (i + 0.5), marks[j])
        drawing.mark(right + 18, TOP + ROW * (j + 0.5), marks[j])
        drawing.text(right + 28, TOP + ROW * (j + 0.5) + 4, shorten(name, 30))
    return drawing
