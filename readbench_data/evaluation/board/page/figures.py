"""Figures of the page as plain SVG: pollution curves and cost against quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from readbench_data.evaluation.task.release_data import LEVELS

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring", "plus", "wedge")


@dataclass(frozen=True)
class Line:
    """One method: its place in the table, macro values at the levels (None: missing) and cost in CPU seconds."""

    number: int
    name: str
    family: str
    values: tuple[float | None, ...]
    cpu_s: float | None


def pollution_svg(lines: Sequence[Line]) -> str:
    """Macro NDCG@10 against the share of Normal windows. The best method of each family is black with a dash and a
    mark of its own; the others are grey."""
    best: dict[str, int] = {}
    for line in lines:
        best.setdefault(line.family, line.number)
    drawn = [line for line in lines if all(v is not None for v in line.values)]
    width, height, left, right, top, bottom = 760, 380, 50, 240, 16, 40
    low, high = _range([v for line in drawn for v in line.values if v is not None])

    def x(rho: float) -> float:
        return left + rho / max(LEVELS) * (width - left - right)

    def y(value: float) -> float:
        return top + (high - value) / (high - low) * (height - top - bottom)

    parts = [_text(left - 6, y(v) + 4, f"{v:.1f}", "end") + _grid(left, width - right, y(v)) for v in _ticks(low, high)]
    parts += [_text(x(r), height - 20, f"{r} %") for r in LEVELS]
    parts.append(_text(left + (width - left - right) / 2, height - 4, "Normal windows in the corpus"))
    named = [line for line in drawn if line.number in best.values()]
    for line in drawn:
        points = " ".join(f"{x(r):.1f},{y(v):.1f}" for r, v in zip(LEVELS, line.values, strict=True) if v is not None)
        if line not in named:
            parts.append(f'<polyline points="{points}" class="faint"/>')
    heights = _spread([y(line.values[-1] or 0.0) for line in named], 15)
    for i, (line, label_y) in enumerate(zip(named, heights, strict=True)):
        at = [(x(r), y(v)) for r, v in zip(LEVELS, line.values, strict=True) if v is not None]
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in at)
        parts.append(f'<polyline points="{points}" class="bold" stroke-dasharray="{DASHES[i % len(DASHES)]}"/>')
        parts += [_mark(px, py, MARKS[i % len(MARKS)]) for px, py in at]
        parts.append(_text(x(LEVELS[-1]) + 12, label_y + 4, f"{line.number} {line.name} ({line.family})", "start"))
        parts.append(
            f'<line x1="{at[-1][0] + 5:.1f}" y1="{at[-1][1]:.1f}" x2="{at[-1][0] + 11:.1f}" y2="{label_y:.1f}"/>'
        )
    told = ", ".join(f"{line.name} {' '.join(f'{v:.3f}' for v in line.values if v is not None)}" for line in named)
    return _svg(width, height, f"Macro NDCG@10 at 0, 10 and 20 % Normal, best of each family: {told}", parts)


def cost_svg(lines: Sequence[Line]) -> str:
    """Macro NDCG@10 at 0 % against CPU seconds (log); methods by their number in the table, families by their mark."""
    drawn = [line for line in lines if line.values[0] is not None and line.cpu_s is not None]
    if not drawn:
        return "<p>No costs are stored.</p>"
    width, height, left, right, top, bottom = 860, 440, 50, 120, 16, 44
    low, high = _range([line.values[0] for line in drawn if line.values[0] is not None])
    logs = [math.log10(max(line.cpu_s or 0.0, 1e-3)) for line in drawn]
    first, last = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)

    def x(log: float) -> float:
        return left + (log - first) / (last - first) * (width - left - right)

    def y(value: float) -> float:
        return top + (high - value) / (high - low) * (height - top - bottom)

    parts = [_text(left - 6, y(v) + 4, f"{v:.1f}", "end") + _grid(left, width - right, y(v)) for v in _ticks(low, high)]
    parts += [_text(x(p), height - 22, f"{10.0**p:g} s") for p in range(first, last + 1)]
    parts.append(_text(left + (width - left - right) / 2, height - 4, "CPU time over all datasets and levels"))
    families = list(dict.fromkeys(line.family for line in sorted(drawn, key=lambda line: line.number)))
    shape = {family: MARKS[i % len(MARKS)] for i, family in enumerate(families)}
    for i, family in enumerate(families):
        parts += [_mark(width - right + 24, top + 10 + 18 * i, shape[family])]
        parts += [_text(width - right + 34, top + 14 + 18 * i, family, "start")]
    points = [(x(log), y(line.values[0] or 0.0)) for line, log in zip(drawn, logs, strict=True)]
    frame = (left, top, width - right + 14, height - bottom)
    for line, (px, py), (lx, ly) in zip(drawn, points, _labels(points, frame), strict=True):
        title = f"<title>{escape(line.name)}: {line.values[0]:.3f}, {line.cpu_s:.2f} s</title>"
        leader = "" if math.hypot(lx - px, ly - py) < 14 else _leader(px, py, lx, ly)
        parts.append(f"<g>{title}{leader}{_mark(px, py, shape[line.family])}{_text(lx, ly + 4, str(line.number))}</g>")
    told = ", ".join(f"{line.name} {line.values[0]:.3f} at {line.cpu_s:.2f} s" for line in drawn)
    return _svg(width, height, f"Macro NDCG@10 at 0 % against CPU time: {told}", parts)


def _labels(
    points: Sequence[tuple[float, float]], frame: tuple[float, float, float, float]
) -> list[tuple[float, float]]:
    """A place for the number of each point: the nearest that hits no point and no other number."""
    taken: list[tuple[float, float]] = []
    for px, py in points:
        around = (
            (px + radius * math.cos(turn * math.pi / 8), py + radius * math.sin(turn * math.pi / 8))
            for radius in range(12, 180, 8)
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
        taken.append(next(free, (px + 12, py)))
    return taken


def _leader(x1: float, y1: float, x2: float, y2: float) -> str:
    """A thin line from a point to its number."""
    share = 1 - 9 / math.hypot(x2 - x1, y2 - y1)
    end = (x1 + (x2 - x1) * share, y1 + (y2 - y1) * share)
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" class="leader"/>'


def _range(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low = math.floor(min(values) * 10) / 10
    high = math.ceil(max(values) * 10) / 10
    return low, max(high, low + 0.1)


def _ticks(low: float, high: float) -> list[float]:
    return [round(low + 0.1 * i, 1) for i in range(round((high - low) * 10) + 1)]


def _spread(heights: Sequence[float], gap: float) -> list[float]:
    """Label heights moved down until none overlap, each near its own."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    out = list(heights)
    for before, after in zip(order, order[1:], strict=False):
        out[after] = max(out[after], out[before] + gap)
    return out


def _mark(x: float, y: float, shape: str) -> str:
    if shape in ("circle", "ring"):
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{shape}"/>'
    paths = {
        "square": "M-4-4h8v8h-8z",
        "triangle": "M0-5L5 4H-5z",
        "diamond": "M0-5L5 0L0 5L-5 0z",
        "cross": "M-4-4L4 4M4-4L-4 4",
        "plus": "M-5 0H5M0-5V5",
        "wedge": "M0 5L5-4H-5z",
    }
    return f'<path d="{paths[shape]}" class="{shape}" transform="translate({x:.1f} {y:.1f})"/>'


def _grid(x1: float, x2: float, y: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y:.1f}" class="grid"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    head = f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label, quote=True)}">'
    return f'<div class="figure" tabindex="0">{head}{"".join(parts)}</svg></div>'
