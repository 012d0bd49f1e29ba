"""Charts that several reports share, drawn from plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup

from readbench_data.pages.axes import Scale, width_of
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.wording import shorten

POINTS = 240
"""Most points of a line on a page: about one per 1.5 pixels."""


def liveliest(values: np.ndarray, most: int) -> np.ndarray:
    """Return the sorted indices of the ``most`` channels of a window [T][C] that vary most relative to their size."""
    scale = np.abs(values).mean(axis=0) + 1e-9
    return np.sort(np.argsort(-values.std(axis=0) / scale, kind="stable")[:most])


def thinned(values: np.ndarray, most: int = POINTS) -> np.ndarray:
    """Return the steps of a series [T] that draw it with at most ``most`` points: the lowest and the highest of each
    interval, so that no peak is lost."""
    if len(values) <= most:
        return np.arange(len(values))
    size = -(-len(values) // (most // 2))
    bins = np.pad(values, (0, -len(values) % size), mode="edge").reshape(-1, size)
    ends = np.sort(np.column_stack([bins.argmin(axis=1), bins.argmax(axis=1)]), axis=1)
    steps = (ends + size * np.arange(len(bins))[:, None]).ravel()
    return steps[np.diff(steps, prepend=-1) > 0]


def draw_trace(
    drawing: Drawing,
    values: np.ndarray,
    box: tuple[float, float, float, float],
    kind: str = "trace",
    most: int = POINTS,
) -> Scale:
    """Draw a series [T] in a box (left, top, right, bottom), scaled to its range. Returns the scale."""
    left, top, right, bottom = box
    x = Scale(0, max(len(values) - 1, 1), left, right)
    y = Scale(float(values.min()), float(values.max()), bottom, top)
    shown = thinned(values, most)
    drawing.path(x.all(shown), y.all(values[shown]), kind)
    return y


def window(values: np.ndarray, channels: Sequence[str], title: str, most: int = 5) -> Markup:
    """Return a plot of up to ``most`` channels of a window [T][C], one below the other, each with its own scale."""
    shown = liveliest(values, most)
    width, row, left = 340, 34, 104
    drawing = Drawing(width, row * len(shown) + 2)
    for i, channel in enumerate(shown):
        drawing.text(0, row * i + row / 2 + 4, shorten(channels[channel], 13))
        draw_trace(drawing, values[:, channel], (left, row * i + 5, width - 4, row * (i + 1) - 5))
    low, high = values[:, shown].min(), values[:, shown].max()
    text = f"{title}: {', '.join(channels[c] for c in shown)} over {len(values)} steps, from {low:.4g} to {high:.4g}"
    return drawing.svg(title, text)


def columns(counts: Mapping[str, int], title: str, height: int = 130) -> Markup:
    """Return a column chart of ordered bins with the number above each."""
    most = max([*counts.values(), 1])
    width = max(24, min(56, 352 // max(len(counts), 1)))
    drawing = Drawing(width * len(counts), height)
    for i, (name, n) in enumerate(counts.items()):
        tall = round((height - 40) * n / most)
        drawing.box(i * width + 3, height - 20 - tall, width - 6, tall)
        if n:
            drawing.text((i + 0.5) * width, height - 25 - tall, _brief(n), "middle")
        drawing.text((i + 0.5) * width, height - 5, name, "middle")
    return drawing.svg(title, f"{title}: " + ", ".join(f"{name}: {n:,}" for name, n in counts.items()))


def _brief(n: int) -> str:
    return f"{n:,}" if n < 10_000 else f"{n / 1000:.0f}k"


def bar(share: float, kind: str = "fault") -> Markup:
    """Return a bar for a table cell; the number is next to it, so it has no text alternative."""
    drawing = Drawing(100, 11)
    if share > 0:
        drawing.box(0.5, 0.5, max(min(share, 1.0) * 99, 1), 10, kind)
    return drawing.ornament()


def bars(counts: Mapping[str, int], title: str, pale: str = "") -> Drawing:
    """Return one bar per count with name and number, largest first; the one named ``pale`` in the style of Normal."""
    names = sorted(counts, key=lambda name: (-counts[name], name))[:24]
    most, row, top = max([*counts.values(), 1]), 19, 26
    left = max([width_of(shorten(name, 32)) for name in names], default=0) + 12
    drawing = Drawing(left + 330, top + row * len(names) + 6)
    drawing.text(4, 15, title, kind="heading")
    for i, name in enumerate(names):
        y, long = top + row * i, 260 * counts[name] / most
        drawing.text(left - 6, y + 13, shorten(name, 32), "end")
        drawing.box(left + 0.5, y + 2.5, max(long, 1), 13, "normal" if name == pale else "fault")
        drawing.text(left + long + 6, y + 13, f"{counts[name]:,}")
    drawing.line(left, top, left, top + row * len(names))
    return drawing


def timeline(rows: Sequence[tuple[str, np.ndarray]], title: str, bins: int = 160) -> Markup:
    """Return one line of cells per unit. Each row: its name, and codes [n] in order: 0 dropped, 1 Normal, 2 fault.

    A cell shows the highest code of its windows: a tall box for a fault, a low one for Normal, a line for dropped
    windows, so that it is readable without colours.
    """
    left, tall = 190, 16
    drawing = Drawing(left + 3 * bins, tall * len(rows) + 2)
    for i, (name, codes) in enumerate(rows):
        y = i * tall
        drawing.text(0, y + 12, shorten(name, 26))
        n = min(bins, len(codes))
        edges = np.linspace(0, len(codes), n + 1).astype(int)
        cells = np.array([codes[a:b].max() for a, b in zip(edges[:-1], edges[1:], strict=True)], np.int8)
        starts = np.flatnonzero(np.diff(cells, prepend=-1)).tolist()
        for start, stop in zip(starts, [*starts[1:], n], strict=True):
            high, kind = ((2, "flat"), (6, "flat"), (13, "fault"))[cells[start]]
            drawing.box(left + start * 3, y + 14 - high, (stop - start) * 3, high, kind)
    return drawing.svg(title)
