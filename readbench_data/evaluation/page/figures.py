"""Figures of the page as plain SVG: pollution curves and cost against quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from readbench_data.evaluation.release_data import LEVELS

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
MARKS = ("circle", "square", "triangle", "diamond", "cross", "ring")


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
    return _svg(width, height, "macro NDCG@10 by share of Normal windows", parts)


def cost_svg(lines: Sequence[Line]) -> str:
    """Macro NDCG@10 at 0 % against CPU seconds (log); methods by their number in the table."""
    drawn = [line for line in lines if line.values[0] is not None and line.cpu_s is not None]
    if not drawn:
        return "<p>No costs are stored.</p>"
    width, height, left, right, top, bottom = 760, 380, 50, 20, 16, 44
    low, high = _range([line.values[0] for line in drawn if line.values[0] is not None])
    logs = [math.log10(max(line.cpu_s or 0.0, 1e-3)) for line in drawn]
    first, last = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)

    def x(log: float) -> float:
        return left + (log - first) / (last - first) * (width - left - right)

    def y(value: float) -> float:
        return top + (high - value) / (high - low) * (height - top - bottom)

    parts = [_text(left - 6, y(v) + 4, f"{v:.1f}", "end") + _grid(left, width - right, y(v)) for v in _ticks(low, high)]
    parts += [_text(x(p), height - 22, f"{10.0**p:g} s") for p in range(first, last + 1)]
    parts.append(_text(width / 2, height - 4, "CPU time over all datasets and levels"))
    placed: list[tuple[float, float]] = []
    for line, log in sorted(zip(drawn, logs, strict=True), key=lambda pair: pair[0].number):
        px, py = x(log), y(line.values[0] or 0.0)
        ly = py
        while any(abs(px - ox) < 20 and abs(ly - oy) < 13 for ox, oy in placed):
            ly += 7
        placed.append((px, ly))
        title = f"<title>{escape(line.name)}: {line.values[0]:.3f}, {line.cpu_s:.2f} s</title>"
        parts.append(f"<g>{title}{_mark(px, py, 'circle')}{_text(px + 6, ly + 4, str(line.number), 'start')}</g>")
    return _svg(width, height, "macro NDCG@10 against CPU time", parts)


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
    }
    return f'<path d="{paths[shape]}" class="{shape}" transform="translate({x:.1f} {y:.1f})"/>'


def _grid(x1: float, x2: float, y: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y:.1f}" x2="{x2:.1f}" y2="{y:.1f}" class="grid"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, label: str, parts: Sequence[str]) -> str:
    head = f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
    return f"{head}{''.join(parts)}</svg>"
