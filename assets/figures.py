"""Small figures for the lineage view. Belongs here: plotting. Does not: computing what is plotted."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping

import numpy as np

INK, FAULT, NORMAL_GREY = "#222222", "#3b6ea8", "#9a9a9a"
DPI = 72


def histogram(counts: Mapping[str, int], title: str) -> str:
    """Return a horizontal bar chart of windows per class as Markdown with an embedded PNG."""
    from matplotlib.figure import Figure

    names = sorted(counts, key=lambda c: (-counts[c], c))[:24]
    figure = Figure(figsize=(5.2, 0.5 + 0.24 * max(len(names), 2)), dpi=DPI, layout="constrained")
    axes = figure.subplots()
    colours = [NORMAL_GREY if name == "Normal" else FAULT for name in names]
    bars = axes.barh([shortened(n) for n in names], [counts[n] for n in names], color=colours)
    axes.bar_label(bars, fmt="{:,.0f}", padding=3, fontsize=8, color=INK)
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9, loc="left", color=INK)
    axes.tick_params(labelsize=8)
    axes.xaxis.set_visible(False)
    axes.margins(x=0.15)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    return markdown(figure, f"{title}: " + ", ".join(f"{n} {counts[n]}" for n in names[:6]))


def windows_by_class(examples: Mapping[str, np.ndarray], title: str) -> str:
    """Return a plot of one window ([T][C]) per class, up to six channels each, as Markdown with a PNG."""
    from matplotlib.figure import Figure

    names = sorted(examples)[:12]
    columns = min(3, len(names)) or 1
    rows = -(-len(names) // columns) or 1
    figure = Figure(figsize=(2.6 * columns, 0.3 + 1.5 * rows), dpi=DPI, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for axes, name in zip(grid.flat, names, strict=False):
        window = examples[name]
        shown = window[:, _liveliest(window)]
        spread = np.ptp(shown, axis=0)
        level = (shown - shown.min(axis=0)) / np.where(spread > 0, spread, 1)
        axes.plot(level - 1.15 * np.arange(level.shape[1]), linewidth=0.7, color=FAULT)
        axes.set_title(shortened(name), fontsize=8, loc="left", color=INK)
    figure.suptitle(title, fontsize=9, x=0.01, ha="left", color=INK)
    return markdown(figure, f"{title}: {', '.join(names)}")


def _liveliest(window: np.ndarray) -> np.ndarray:
    """Return the indices of the six channels with the largest relative spread, in ascending order."""
    scale = np.abs(window).mean(axis=0) + 1e-9
    return np.sort(np.argsort(-window.std(axis=0) / scale, kind="stable")[:6])


def shortened(name: str) -> str:
    """Return a name cut to at most 32 characters."""
    return name if len(name) <= 32 else name[:31] + "…"


def markdown(figure: object, alt: str) -> str:
    """Return a matplotlib figure as Markdown with an embedded PNG."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")  # type: ignore[attr-defined]
    return f"![{alt}](data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()})"
