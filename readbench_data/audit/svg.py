"""Small pictures for the audit pages as inline SVG, each with a title and a description for those who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from readbench_data.audit.plot import liveliest, shorten

WIDTH = 340


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def window(values: np.ndarray, channels: Sequence[str], title: str, most: int = 5) -> str:
    """Up to ``most`` channels of a window [T][C], one below the other, each on its own scale; at most 240 points."""
    shown = liveliest(values, most)
    step = max(1, -(-len(values) // 240))
    thin = values[::step][:, shown].astype(np.float64)
    spread = np.ptp(thin, axis=0)
    level = (thin - thin.min(axis=0)) / np.where(spread > 0, spread, 1)
    row, left = 34, 104
    x = left + np.arange(len(thin)) * ((WIDTH - left - 4) / max(len(thin) - 1, 1))
    parts = []
    for i, channel in enumerate(shown):
        y = row * i + 5 + (1 - level[:, i]) * (row - 10)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        label = escape(shorten(channels[channel], 13))
        parts.append(f'<text x="0" y="{row * i + row // 2 + 4}">{label}</text><polyline class="s" points="{points}"/>')
    low, high = values[:, shown].min(), values[:, shown].max()
    told = f"{title}: {', '.join(channels[c] for c in shown)} over {len(values)} steps, from {low:.4g} to {high:.4g}"
    return _svg(WIDTH, row * len(shown) + 2, told, parts)


def columns(counts: Mapping[str, int], title: str, height: int = 130) -> str:
    """A column chart of ordered bins with the number above each."""
    most = max([*counts.values(), 1])
    width = max(24, min(56, 352 // max(len(counts), 1)))
    parts = []
    for i, (name, n) in enumerate(counts.items()):
        tall = round((height - 40) * n / most)
        x = i * width
        parts.append(f'<rect class="f" x="{x + 3}" y="{height - 20 - tall}" width="{width - 6}" height="{tall}"/>')
        middle = x + width / 2
        if n:
            parts.append(f'<text x="{middle}" y="{height - 25 - tall}" text-anchor="middle">{_brief(n)}</text>')
        parts.append(f'<text x="{middle}" y="{height - 5}" text-anchor="middle">{escape(name)}</text>')
    told = f"{title}: " + ", ".join(f"{name}: {n:,}" for name, n in counts.items())
    return _svg(width * len(counts), height, told, parts)


def _brief(n: int) -> str:
    return f"{n:,}" if n < 10_000 else f"{n / 1000:.0f}k"


def bar(share: float, kind: str = "f") -> str:
    """A bar for a table cell; the number stands beside it, so it needs no words."""
    return (
        f'<svg aria-hidden="true" viewBox="0 0 100 10" width="100" height="10">'
        f'<rect class="{kind}" width="{max(0.0, min(1.0, share)) * 100:.1f}" height="10"/></svg>'
    )


def lanes(rows: Sequence[tuple[str, np.ndarray]], title: str, bins: int = 160) -> str:
    """One line of cells a unit. Each row: its name, and codes [n] in order: 0 dropped, 1 Normal, 2 fault.

    A cell shows the most telling of the windows it stands for: a tall box for a fault, a low one for Normal, a dot
    for dropped ones, so that it reads without colours.
    """
    left, tall = 190, 16
    parts = []
    for i, (name, codes) in enumerate(rows):
        y = i * tall
        parts.append(f'<text x="0" y="{y + 12}">{escape(shorten(name, 26))}</text>')
        n = min(bins, len(codes))
        edges = np.linspace(0, len(codes), n + 1).astype(int)
        cells = [int(codes[a:b].max()) for a, b in zip(edges[:-1], edges[1:], strict=True)]
        start = 0
        while start < n:
            stop = start
            while stop < n and cells[stop] == cells[start]:
                stop += 1
            high, kind = ((2, "k"), (6, "k"), (13, "f"))[cells[start]]
            x, wide = left + start * 3, (stop - start) * 3
            parts.append(f'<rect class="{kind}" x="{x}" y="{y + 14 - high}" width="{wide}" height="{high}"/>')
            start = stop
    return _svg(left + 3 * bins, tall * len(rows) + 2, title, parts)
