"""Plots a window's channels and its label track as a PNG that is readable in black and white."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from readbench_data.audit.trace import Trace
from readbench_data.entry import NORMAL
from readbench_data.pages.axes import Scale, tick_texts, ticks, width_of
from readbench_data.pages.charts import draw_trace, liveliest
from readbench_data.pages.colours import LABEL_FILLS
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.raster import write_png
from readbench_data.pages.wording import shorten

if TYPE_CHECKING:
    from readbench_data.audit.entry import EntryFacts

MOST_CHANNELS = 12
WIDTH, ROW, TRACK, TOP = 990.0, 84, 46, 34
"""Pixels: width of the picture; heights of a channel, the label track and the title."""
HATCHES = ("", "/", "\\", "/\\", "-", "|", "-|", "-/")
"""Hatch by number of a code; with ``LABEL_FILLS`` codes can be told apart with and without colour."""


def plot_entry(
    path: Path, facts: EntryFacts, values: np.ndarray, channels: tuple[str, ...], found: Trace | None
) -> None:
    """Write the plot of a window [T][C]; ``found`` has the label track, without it the votes are shown."""
    write_png(draw_entry(facts, values, channels, found), path)


def draw_entry(facts: EntryFacts, values: np.ndarray, channels: tuple[str, ...], found: Trace | None) -> Drawing:
    """Return the drawing of :func:`plot_entry`."""
    shown = liveliest(values, MOST_CHANNELS)
    names = [shorten(channels[c], 20) for c in shown]
    numbers = [ticks(float(values[:, c].min()), float(values[:, c].max()), 3) for c in shown]
    room = max(width_of(text, 11) for marked in numbers for text in tick_texts(marked)) + 14
    left = max(width_of(name) for name in names) + room + 8
    steps = Scale(0, max(len(values) - 1, 1), left, WIDTH - 12)
    drawing = Drawing(WIDTH, TOP + ROW * len(shown) + TRACK + 46)
    drawing.text(8, 20, _title(facts, values.shape[1], shown, found), kind="heading")
    for i, (channel, name, marked) in enumerate(zip(shown, names, numbers, strict=True)):
        top, bottom = TOP + ROW * i + 4, TOP + ROW * (i + 1) - 14
        if found is not None and found.filled is not None:
            _shade(drawing, found.filled[:, channel], steps, top, bottom)
        drawing.text(left - room, (top + bottom) / 2 + 4, name, "end")
        _channel(drawing, values[:, channel], marked, (left, top, WIDTH - 12, bottom))
    top = TOP + ROW * len(shown) + 2
    _track(drawing, facts, found, steps, top)
    _steps(drawing, steps, top + TRACK)
    rows = f"step of the window (rows {facts.row.row_start:,} to {facts.row.row_stop:,} of the original)"
    drawing.text((steps.start + steps.stop) / 2, top + TRACK + 36, rows, "middle")
    return drawing


def _title(facts: EntryFacts, channels: int, shown: np.ndarray, found: Trace | None) -> str:
    row = facts.row
    label = row.class_label or f"dropped, {row.reason}"
    some = f", {len(shown)} of {channels} channels" if len(shown) < channels else ""
    filled = found is not None and found.filled is not None and bool(found.filled[:, shown].any())
    return f"{row.dataset}  {row.entry_id[:12]}  class: {label}{some}{'   (grey: filled)' if filled else ''}"


def _channel(drawing: Drawing, series: np.ndarray, marked: list[float], box: tuple[float, float, float, float]) -> None:
    """Draw a channel [T] with axes at the left and below, and the numbers ``marked`` on its axis."""
    left, top, right, bottom = box
    y = draw_trace(drawing, series, box, "plain", most=len(series))
    drawing.line(left, top - 4, left, bottom + 4)
    drawing.line(left, bottom + 4, right, bottom + 4)
    for value, text in zip(marked, tick_texts(marked), strict=True):
        drawing.line(left - 4, y(value), left, y(value))
        drawing.text(left - 7, y(value) + 4, text, "end", "small")


def _shade(drawing: Drawing, filled: np.ndarray, steps: Scale, top: float, bottom: float) -> None:
    """Draw grey behind the steps [T] with a filled value; a step extends half-way to its neighbours."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], filled, [False]]).astype(np.int8)))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        start, end = steps(max(first - 0.5, steps.low)), steps(min(stop - 0.5, steps.high))
        drawing.box(start, top - 4, end - start, bottom - top + 8, "interval")


def _steps(drawing: Drawing, steps: Scale, y: float) -> None:
    drawing.line(steps.start, y, steps.stop, y)
    for value in ticks(steps.low, steps.high, 8):
        drawing.line(steps(value), y, steps(value), y + 4)
        drawing.text(steps(value), y + 17, f"{value:g}", "middle", "small")


def _track(drawing: Drawing, facts: EntryFacts, found: Trace | None, steps: Scale, top: float) -> None:
    middle, high = top + TRACK / 2 + 4, TRACK - 4
    if found is None:
        votes = ", ".join(f"{n:,} {c}" for c, n in facts.votes_by_class.items())
        drawing.text(steps.start + 8, middle, f"votes: {votes}")
        return
    drawing.text(steps.start - 8, middle, "labels", "end")
    marks = [*found.marks, *((a, b, "unlabelled") for a, b in found.unlabelled)]
    normal = {v.code for v in facts.votes if v.class_label == NORMAL}
    faults = sorted({code for _, _, code in marks} - normal)
    number = dict.fromkeys(normal, 0) | {code: 1 + i % (len(LABEL_FILLS) - 1) for i, code in enumerate(faults)}
    for start, stop, code in marks:
        if found.kind == "points":
            drawing.line(steps(start), top, steps(start), top + TRACK)
            drawing.text(steps(start) + 4, middle, code)
            continue
        x, wide = steps(start), steps(min(stop, steps.high)) - steps(start)
        drawing.box(x, top, wide, high, "cell", LABEL_FILLS[number[code]])
        drawing.hatch(x, top, wide, high, HATCHES[number[code]])
        if wide > width_of(code) + 12:
            box = width_of(code) + 8
            drawing.box(x + (wide - box) / 2, middle - 13, box, 18, "paper")
            drawing.text(x + wide / 2, middle, code, "middle")
