"""Drawings: a list of shapes in named styles, written as SVG or, for files, as PNG.

Pages and the lineage view use SVG: a picture is a string of some kilobytes that needs no library, stays sharp at every
size and, in a page, uses the page's light or dark colours. ``matplotlib`` would cost every lane half a
second for its import and its layout. Only ``readbench audit --plot`` writes a PNG, for use in a report or a chat;
``raster`` draws the same shapes with matplotlib, which is imported only there.
"""

from __future__ import annotations

import base64
from html import escape

import numpy as np
from markupsafe import Markup

from readbench_data.pages.colours import LIGHT
from readbench_data.pages.shapes import MARKS, OUTLINES, Box, Circle, Group, Numbers, Path, Shape, Text, flat
from readbench_data.pages.svg import element, number, rule


class Drawing:
    """Shapes on ``width`` x ``height`` pixels, drawn in the order in which they were added; y grows downwards."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.shapes: list[Shape] = []

    def text(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "label") -> None:
        """Add a line of text with its baseline at ``y``; ``kind``: a key of ``TEXTS``."""
        self.shapes.append(Text(x, y, text, anchor, kind))

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "axis") -> None:
        """Add a straight line."""
        self.shapes.append(Path((x1, x2), (y1, y2), kind, "", False))

    def path(self, x: Numbers, y: Numbers, kind: str = "trace", dash: str = "", closed: bool = False) -> None:
        """Add a line through the points (x [n], y [n]); ``dash`` as in SVG's stroke-dasharray."""
        self.shapes.append(Path(x, y, kind, dash, closed))

    def box(self, x: float, y: float, width: float, height: float, kind: str = "fault", fill: str = "") -> None:
        """Add a rectangle; ``fill``: a colour as #rrggbb in place of the style's."""
        self.shapes.append(Box(x, y, width, height, kind, fill))

    def hatch(self, x: float, y: float, width: float, height: float, pattern: str, gap: float = 9) -> None:
        """Fill a rectangle with lines. ``pattern``: any of ``-``, ``|``, ``/`` and ``\\`` together."""
        for way in pattern:
            reach = {"-": height, "|": width}.get(way, width + height)
            for at in np.arange(gap / 2, reach, gap).tolist():
                if way == "-":
                    ends = (0.0, at, width, at)
                elif way == "|":
                    ends = (at, 0.0, at, height)
                else:
                    low, high = max(0.0, at - height), min(at, width)
                    ends = (low, at - low, high, at - high)
                    if way == "\\":
                        ends = (width - ends[0], ends[1], width - ends[2], ends[3])
                self.line(x + ends[0], y + ends[1], x + ends[2], y + ends[3], "cell")

    def mark(self, x: float, y: float, number: int) -> None:
        """Add mark ``number`` of ``MARKS``; after the last mark they start again from the first."""
        shape, kind = MARKS[number % len(MARKS)]
        if shape == "circle":
            self.shapes.append(Circle(x, y, 4, kind))
            return
        for outline in OUTLINES[shape]:
            across, down = zip(*outline, strict=True)
            self.path([x + a for a in across], [y + b for b in down], kind, closed=len(outline) > 2)

    def group(self, title: str, part: Drawing) -> None:
        """Add the shapes of another drawing, with a title that is shown as a tooltip."""
        self.shapes.append(Group(title, tuple(part.shapes)))

    def svg(self, title: str, alternative: str = "") -> Markup:
        """Return an ``<svg>`` element for a page, in the page's colours. ``title`` is the tooltip; ``alternative`` is
        the text for readers who cannot see the picture (by default the title)."""
        label = escape(alternative or title)
        return Markup(
            f'<svg role="img" aria-label="{label}" {self._size()}><title>{escape(title)}</title>{self._body()}</svg>'
        )

    def ornament(self) -> Markup:
        """Return an ``<svg>`` element for a page that only repeats the text next to it."""
        return Markup(f'<svg aria-hidden="true" {self._size()}>{self._body()}</svg>')

    def document(self, alternative: str) -> str:
        """Return the content of an SVG file in light colours on white, with its text alternative."""
        kinds = {shape.kind for shape in flat(self.shapes)}
        style = "".join(rule(name, LIGHT) for name in sorted(kinds))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {self._size()}><title>{escape(alternative)}</title>'
            f'<style>{style}</style><rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>{self._body()}</svg>'
        )

    def image(self, alternative: str) -> str:
        """Markdown with the picture inside, in light colours on white; ``alternative`` is its text alternative."""
        text = self.document(alternative)
        plain = " ".join(alternative.replace("[", "(").replace("]", ")").split())
        return f"![{plain}](data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()})"

    def _size(self) -> str:
        width, height = number(self.width), number(self.height)
        return f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'

    def _body(self) -> str:
        return "".join(element(shape) for shape in self.shapes)
