"""Small figures for the lineage view. Belongs here: plotting. Does not: computing what is plotted."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from readbench_data.pages.axes import Scale
from readbench_data.pages.charts import bars, liveliest, thinned
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.wording import shorten


def histogram(counts: Mapping[str, int], title: str) -> str:
    """A horizontal bar chart of windows per class as Markdown with the picture inside."""
    most = sorted(counts, key=lambda name: (-counts[name], name))[:6]
    return bars(counts, title, pale="Normal").image(f"{title}: " + ", ".join(f"{n} {counts[n]:,}" for n in most))


def windows_by_class(examples: Mapping[str, np.ndarray], title: str) -> str:
    """One window ([T][C]) of each class, up to six channels of it one below the other, as Markdown with the picture
    inside."""
    names = sorted(examples)[:12]
    columns = min(3, len(names)) or 1
    wide, high, top = 210, 118, 26
    drawing = Drawing(max(wide * columns, 300) + 8, top + high * -(-len(names) // columns))
    drawing.text(4, 15, title, kind="heading")
    for i, name in enumerate(names):
        left, y = 6 + wide * (i % columns), top + high * (i // columns)
        drawing.text(left, y + 13, shorten(name, 30), kind="small")
        _window(drawing, examples[name], (left, y + 20, left + wide - 14, y + high - 6))
    return drawing.image(f"{title}: {', '.join(names)}")


def _window(drawing: Drawing, window: np.ndarray, box: tuple[float, float, float, float]) -> None:
    """The six channels of a window [T][C] that change most for their size, each on its own scale."""
    left, top, right, bottom = box
    shown = liveliest(window, 6)
    row = (bottom - top) / len(shown)
    x = Scale(0, max(len(window) - 1, 1), left, right)
    for i, channel in enumerate(shown):
        series = window[:, channel]
        y = Scale(float(series.min()), float(series.max()), top + row * (i + 0.93), top + row * (i + 0.07))
        steps = thinned(series, 130)
        drawing.path(x.all(steps), y.all(series[steps]), "trace")
