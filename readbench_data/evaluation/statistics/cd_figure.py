"""The critical-difference figure (Demsar 2006), drawn in black.

Rank 1 is at the left. A thick bar joins methods that are not separated. The title states k, N and Friedman's p; the CD
bar is above the axis; every mean rank is printed with two decimals.
"""

from __future__ import annotations

import math

import numpy as np
from markupsafe import Markup, escape

from readbench_data.evaluation.statistics.comparison import Comparison
from readbench_data.pages.axes import Scale, width_of
from readbench_data.pages.drawing import Drawing

WIDTH, ROW = 900.0, 20.0
AXIS_Y = 78.0
BAR_STEP = 9.0


def cd_svg(comparison: Comparison, where: str = "") -> Markup:
    """Return the figure as an ``<svg>`` element for a page, or a sentence where there is no test.

    Its text alternative names the methods in order of mean rank (``where``: on which corpora) and the methods that are
    not separated.
    """
    drawing = draw_cd(comparison)
    if drawing is None:
        return Markup("<p>{}</p>").format(escape(comparison.sentence()))
    return drawing.svg(f"Critical-difference figure {where}".strip(), cd_words(comparison, where))


def draw_cd(comparison: Comparison) -> Drawing | None:
    """Return the matplotlib figure, or None where there is no test."""
    test, cd = comparison.test, comparison.cd
    if test is None or cd is None:
        return None
    k = test.n_methods
    order = [int(i) for i in np.argsort(test.mean_ranks, kind="stable")]
    first_row = AXIS_Y + 22 + BAR_STEP * len(comparison.groups)
    half = math.ceil(k / 2)
    drawing = Drawing(WIDTH, first_row + ROW * half + 12)
    margin = min(max(250.0, 40 + max(width_of(f"{name}  00.00") for name in comparison.methods)), 380.0)
    x = Scale(1.0, max(k, 2), margin, WIDTH - margin)
    verdict = "" if comparison.rejects else " - not rejected: one bar over all"
    drawing.text(
        WIDTH / 2, 16, f"k = {k} methods, N = {test.n_datasets} datasets, Friedman p = {test.p:.3g}{verdict}", "middle"
    )
    _axis(drawing, x, k)
    _critical_difference(drawing, x, k, cd)
    for i, group in enumerate(comparison.groups):
        y = AXIS_Y + 10 + BAR_STEP * i
        edge = [x(float(test.mean_ranks[method])) for method in (group[0], group[-1])]
        drawing.line(edge[0] - 3, y, edge[1] + 3, y, "group")
    for place, method in enumerate(order):
        left = place < half
        row = place if left else k - 1 - place
        y, at = first_row + ROW * row + 8, x(float(test.mean_ranks[method]))
        side = margin - 14 if left else WIDTH - margin + 14
        drawing.line(at, AXIS_Y, at, y)
        drawing.line(at, y, side, y)
        name, value = comparison.methods[method], f"{test.mean_ranks[method]:.2f}"
        label = f"{name}  {value}" if left else f"{value}  {name}"
        drawing.text(side + (-5 if left else 5), y + 4, label, "end" if left else "start")
    return drawing


def _axis(drawing: Drawing, x: Scale, k: int) -> None:
    drawing.line(x(1), AXIS_Y, x(k), AXIS_Y)
    step = max(1, math.ceil(k / 15))
    for rank in dict.fromkeys([*range(1, k + 1, step), k]):
        drawing.line(x(rank), AXIS_Y - 6, x(rank), AXIS_Y)
        drawing.text(x(rank), AXIS_Y - 10, str(rank), "middle")


def _critical_difference(drawing: Drawing, x: Scale, k: int, cd: float) -> None:
    """Draw a bar as long as the critical difference, but not longer than the axis."""
    start, end = x(1), x(1 + min(cd, k - 1))
    drawing.line(start, 38, end, 38, "cd")
    drawing.line(start, 34, start, 42)
    drawing.line(end, 34, end, 42)
    wide = "" if cd <= k - 1 else " (wider than the axis)"
    drawing.text((start + end) / 2, 31, f"CD = {cd:.2f}{wide}", "middle")


def cd_words(comparison: Comparison, where: str = "") -> str:
    """Return what the figure shows, in words, for a comparison with a test."""
    assert comparison.test is not None
    order = [int(i) for i in np.argsort(comparison.test.mean_ranks, kind="stable")]
    ranked = ", ".join(f"{comparison.methods[i]} {comparison.test.mean_ranks[i]:.2f}" for i in order)
    groups = "; ".join(" to ".join(comparison.methods[g[i]] for i in (0, -1)) for g in comparison.groups)
    joined = f" Not separated: {groups}." if groups else ""
    return f"Critical-difference figure {where}, CD {comparison.cd:.2f}. Mean ranks: {ranked}.{joined}"
