"""Figures of the page: pollution curves and cost against quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from readbench_data.evaluation.task.release_data import LEVELS
from readbench_data.pages.axes import Scale, width_of
from readbench_data.pages.drawing import Drawing

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")


@dataclass(frozen=True)
class Line:
    """One method: its place in the table, macro values at the levels (None: missing) and cost in CPU seconds."""

    number: int
    name: str
    family: str
    values: tuple[float | None, ...]
    cpu_s: float | None


def pollution_svg(lines: Sequence[Line]) -> Markup:
    """Macro NDCG@10 against the share of Normal windows. The best method of each family is black with a dash and a
    mark of its own; the others are grey."""
    best: dict[str, int] = {}
    for line in lines:
        best.setdefault(line.family, line.number)
    complete = [line for line in lines if all(v is not None for v in line.values)]
    named = [line for line in complete if line.number in best.values()]
    labels = [f"{line.number} {line.name} ({line.family})" for line in named]
    left, top, bottom = 50, 16, 340
    right = 520
    drawing = Drawing(right + 20 + max([width_of(label) for label in labels], default=120), 380)
    y = value_axis(drawing, [v for line in complete for v in line.values if v is not None], (left, top, right, bottom))
    x = Scale(0, max(LEVELS), left, right)
    for rho in LEVELS:
        drawing.text(x(rho), bottom + 20, f"{rho} %", "middle")
    drawing.text((left + right) / 2, bottom + 36, "Normal windows in the corpus", "middle")
    across = x.all(LEVELS)
    curves = {line.number: y.all([v for v in line.values if v is not None]) for line in complete}
    for line in complete:
        if line not in named:
            drawing.path(across, curves[line.number], "pale")
    heights = spread([float(curves[line.number][-1]) for line in named], 15)
    for i, (line, label, label_y) in enumerate(zip(named, labels, heights, strict=True)):
        curve = curves[line.number]
        drawing.path(across, curve, "curve", DASHES[i % len(DASHES)])
        for at_x, at_y in zip(across.tolist(), curve.tolist(), strict=True):
            drawing.mark(at_x, at_y, i)
        drawing.line(right + 5, float(curve[-1]), right + 11, label_y)
        drawing.text(right + 14, label_y + 4, label)
    listed = ", ".join(f"{line.name} {' '.join(f'{v:.3f}' for v in line.values if v is not None)}" for line in named)
    return drawing.svg(
        "Macro NDCG@10 at 0, 10 and 20 % Normal windows",
        f"Macro NDCG@10 at 0, 10 and 20 % Normal windows, best of each family: {listed}",
    )


def cost_svg(lines: Sequence[Line]) -> Markup:
    """Macro NDCG@10 at 0 % against CPU seconds (log); methods by their number in the table, families by their mark."""
    measured = [
        (line, value, max(cpu, 1e-3))
        for line in lines
        if (value := line.values[0]) is not None and (cpu := line.cpu_s) is not None
    ]
    if not measured:
        return Markup("<p>No costs are stored.</p>")
    left, top, right, bottom = 50, 16, 740, 396
    families = list(dict.fromkeys(line.family for line, *_ in sorted(measured, key=lambda found: found[0].number)))
    drawing = Drawing(right + 40 + max(width_of(family) for family in families), 440)
    y = value_axis(drawing, [value for _, value, _ in measured], (left, top, right, bottom))
    logs = [math.log10(cpu) for *_, cpu in measured]
    first = math.floor(min(logs))
    last = max(math.ceil(max(logs)), first + 1)
    x = Scale(first, last, left, right)
    for power in range(first, last + 1):
        drawing.text(x(power), bottom + 22, f"{10.0**power:g} s", "middle")
    drawing.text((left + right) / 2, bottom + 40, "CPU time over all datasets and levels", "middle")
    for i, family in enumerate(families):
        drawing.mark(right + 24, top + 10 + 18 * i, i)
        drawing.text(right + 34, top + 14 + 18 * i, family)
    points = [(x(log), y(value)) for (_, value, _), log in zip(measured, logs, strict=True)]
    places = _labels(points, (left, top, right + 14, bottom))
    for (line, *_), (px, py), (lx, ly) in zip(measured, points, places, strict=True):
        point = Drawing(drawing.width, drawing.height)
        if math.hypot(lx - px, ly - py) >= 16:
            _leader(point, px, py, lx, ly)
        point.mark(px, py, families.index(line.family))
        point.text(lx, ly + 4, str(line.number), "middle")
        drawing.group(f"{line.name}: {line.values[0]:.3f}, {line.cpu_s:.2f} s", point)
    listed = ", ".join(f"{line.name} {value:.3f} at {line.cpu_s:.2f} s" for line, value, _ in measured)
    return drawing.svg(
        "Macro NDCG@10 at 0 % Normal windows against CPU time",
        f"Macro NDCG@10 at 0 % Normal windows against CPU time: {listed}",
    )


def value_axis(drawing: Drawing, values: Sequence[float], box: tuple[float, float, float, float]) -> Scale:
    """Draw a line at every tenth that the values reach in a box (left, top, right, bottom). Returns the scale."""
    left, top, right, bottom = box
    low = math.floor(min(values, default=0.0) * 10) / 10
    high = max(math.ceil(max(values, default=1.0) * 10) / 10, low + 0.1)
    y = Scale(low, high, bottom, top)
    for i in range(round((high - low) * 10) + 1):
        value = low + 0.1 * i
        drawing.text(left - 6, y(value) + 4, f"{value:.1f}", "end")
        drawing.line(left, y(value), right, y(value), "grid")
    return y


def _labels(
    points: Sequence[tuple[float, float]], frame: tuple[float, float, float, float]
) -> list[tuple[float, float]]:
    """A place for the number of each point: the nearest that covers no point and no other number."""
    taken: list[tuple[float, float]] = []
    for px, py in points:
        around = (
            (px + radius * math.cos(turn * math.pi / 8), py + radius * math.sin(turn * math.pi / 8))
            for radius in range(14, 180, 8)
            for turn in (0, 14, 2, 12, 4, 10, 6, 8, 15, 1, 13, 3, 11, 5, 9, 7)
        )
        free = (
            at
            for at in around
            if frame[0] + 8 < at[0] < frame[2] - 8
            and frame[1] < at[1] < frame[3] - 4
            and all(abs(at[0] - x) > 18 or abs(at[1] - y) > 12 for x, y in taken)
            and all(abs(at[0] - x) > 11 or abs(at[1] - y) > 9 for x, y in points)
        )
        taken.append(next(free, (px + 14, py)))
    return taken


def _leader(drawing: Drawing, x1: float, y1: float, x2: float, y2: float) -> None:
    """A thin line from a point to its number."""
    share = 1 - 9 / math.hypot(x2 - x1, y2 - y1)
    drawing.line(x1, y1, x1 + (x2 - x1) * share, y1 + (y2 - y1) * share, "leader")


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Label heights [n], moved down until none overlap by less than ``gap``, each near its own."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    out = list(heights)
    for before, after in zip(order, order[1:], strict=False):
        out[after] = max(out[after], out[before] + gap)
    return out
