"""The critical-difference figure (Demsar 2006), drawn as plain SVG in black.

Rank 1 is at the left. A thick bar joins methods that are not separated. The title gives k, N and Friedman's p; the
CD bar stands above the axis; every mean rank is printed to two decimals.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from readbench_data.evaluation.statistics.comparison import Comparison

WIDTH, MARGIN, ROW = 900.0, 250.0, 20.0
AXIS_Y = 78.0
BAR_STEP = 9.0


def cd_svg(comparison: Comparison, where: str = "") -> str:
    """The figure as an ``<svg>`` element; a sentence in its place where there is no test.

    Its text alternative names the methods in order of mean rank (``where``: of what) and what is not separated.
    """
    test, cd = comparison.test, comparison.cd
    if test is None or cd is None:
        return f"<p>{escape(comparison.sentence())}</p>"
    k = test.n_methods
    order = [int(i) for i in np.argsort(test.mean_ranks, kind="stable")]
    groups = comparison.groups
    first_row = AXIS_Y + 22 + BAR_STEP * len(groups)
    half = math.ceil(k / 2)
    height = first_row + ROW * half + 12

    def x(rank: float) -> float:
        return MARGIN + (rank - 1.0) / max(k - 1, 1) * (WIDTH - 2 * MARGIN)

    verdict = "" if comparison.rejects else " - not rejected: one bar over all"
    parts = [
        _text(WIDTH / 2, 16, f"k = {k} methods, N = {test.n_datasets} datasets, Friedman p = {test.p:.3g}{verdict}"),
        _line(x(1), AXIS_Y, x(k), AXIS_Y),
    ]
    step = max(1, math.ceil(k / 15))
    for rank in dict.fromkeys([*range(1, k + 1, step), k]):
        parts += [_line(x(rank), AXIS_Y - 6, x(rank), AXIS_Y), _text(x(rank), AXIS_Y - 10, str(rank))]
    end = x(1 + min(cd, k - 1))
    parts += [_line(x(1), 38, end, 38, 2), _line(x(1), 34, x(1), 42), _line(end, 34, end, 42)]
    wide = "" if cd <= k - 1 else " (wider than the axis)"
    parts.append(_text((x(1) + end) / 2, 31, f"CD = {cd:.2f}{wide}"))
    for i, group in enumerate(groups):
        y = AXIS_Y + 10 + BAR_STEP * i
        edge = [test.mean_ranks[group[0]], test.mean_ranks[group[-1]]]
        parts.append(_line(x(edge[0]) - 3, y, x(edge[1]) + 3, y, 4))
    for place, method in enumerate(order):
        left = place < half
        row = place if left else k - 1 - place
        y, at = first_row + ROW * row + 8, x(float(test.mean_ranks[method]))
        side = MARGIN - 14 if left else WIDTH - MARGIN + 14
        parts += [_line(at, AXIS_Y, at, y), _line(at, y, side, y)]
        name, value = comparison.methods[method], f"{test.mean_ranks[method]:.2f}"
        label = f"{name}  {value}" if left else f"{value}  {name}"
        parts.append(_text(side + (-5 if left else 5), y + 4, label, "end" if left else "start"))
    return (
        f'<svg class="cd" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(_told(comparison, order, where), quote=True)}" font-size="12" font-family="sans-serif" '
        f'stroke="currentColor" fill="currentColor">{"".join(parts)}</svg>'
    )


def _told(comparison: Comparison, order: list[int], where: str) -> str:
    assert comparison.test is not None
    ranked = ", ".join(f"{comparison.methods[i]} {comparison.test.mean_ranks[i]:.2f}" for i in order)
    groups = "; ".join(" to ".join(comparison.methods[g[i]] for i in (0, -1)) for g in comparison.groups)
    joined = f" Not separated: {groups}." if groups else ""
    return f"Critical-difference figure {where}, CD {comparison.cd:.2f}. Mean ranks: {ranked}.{joined}"


def _line(x1: float, y1: float, x2: float, y2: float, width: float = 1) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke-width="{width}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" stroke="none">{escape(text)}</text>'
