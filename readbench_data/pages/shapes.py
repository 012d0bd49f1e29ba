"""The shapes of a picture: texts, lines, boxes and circles, each with a named style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

Numbers = Sequence[float] | np.ndarray
"""Positions [n] in pixels."""


class Style(NamedTuple):
    """Names of colours (``readbench_data.pages.colours``); ``width`` of the line, ``opacity`` of the fill."""

    stroke: str = "none"
    fill: str = "none"
    width: float = 1.0
    opacity: float = 1.0


STYLES: Mapping[str, Style] = {
    "axis": Style(stroke="ink"),
    "grid": Style(stroke="line", width=0.8),
    "leader": Style(stroke="soft", width=0.8),
    "curve": Style(stroke="ink", width=2),
    "plain": Style(stroke="ink", width=0.9),
    "pale": Style(stroke="faint"),
    "trace": Style(stroke="fault", width=1.2),
    "group": Style(stroke="ink", width=4),
    "cd": Style(stroke="ink", width=2),
    "interval": Style(fill="faint", opacity=0.5),
    "fault": Style(fill="fault"),
    "normal": Style(stroke="normal", fill="normal", opacity=0.35),
    "flat": Style(fill="normal"),
    "solid": Style(stroke="ink", fill="ink", width=1.4),
    "hollow": Style(stroke="ink", fill="paper", width=1.4),
    "grey": Style(stroke="ink", fill="faint", width=1.4),
    "open": Style(stroke="ink", width=1.5),
    "cell": Style(stroke="ink", width=0.7),
    "paper": Style(fill="paper"),
}
TEXTS: Mapping[str, tuple[int, str, str]] = {
    "label": (12, "ink", "normal"),
    "small": (11, "ink", "normal"),
    "note": (11, "soft", "normal"),
    "heading": (13, "ink", "bold"),
}
"""Size in pixels, colour and weight, by kind of text."""
MARKS = (
    ("circle", "solid"), ("square", "solid"), ("triangle", "solid"), ("diamond", "solid"), ("cross", "open"),
    ("circle", "hollow"), ("plus", "open"), ("wedge", "solid"), ("square", "hollow"), ("triangle", "hollow"),
    ("diamond", "hollow"), ("wedge", "hollow"), ("circle", "grey"), ("square", "grey"), ("triangle", "grey"),
    ("diamond", "grey"), ("wedge", "grey"),
)  # fmt: skip
"""Shape and style of the marks, in the order of use; they can be told apart without colour."""
CIRCLE, HOLLOW_SQUARE, GREY_TRIANGLE = 0, 8, 14
OUTLINES: Mapping[str, tuple[tuple[tuple[float, float], ...], ...]] = {
    "square": (((-4, -4), (4, -4), (4, 4), (-4, 4)),),
    "triangle": (((0, -5), (5, 4), (-5, 4)),),
    "diamond": (((0, -5), (5, 0), (0, 5), (-5, 0)),),
    "wedge": (((0, 5), (5, -4), (-5, -4)),),
    "cross": (((-4, -4), (4, 4)), ((4, -4), (-4, 4))),
    "plus": (((-5, 0), (5, 0)), ((0, -5), (0, 5))),
}


class Text(NamedTuple):
    """A line of text; ``y`` of its baseline, ``anchor``: start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str
    kind: str


class Path(NamedTuple):
    """Points joined by straight lines."""

    x: Numbers
    y: Numbers
    kind: str
    dash: str
    closed: bool


class Box(NamedTuple):
    """A rectangle; ``fill``: a colour as #rrggbb in place of the style's."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    fill: str


class Circle(NamedTuple):
    """A circle."""

    x: float
    y: float
    radius: float
    kind: str


class Group(NamedTuple):
    """Shapes that belong together, with a ``title`` that is shown as a tooltip."""

    title: str
    shapes: tuple[Shape, ...]


Shape = Text | Path | Box | Circle | Group


def flat(shapes: Iterable[Shape]) -> Iterator[Text | Path | Box | Circle]:
    """Yield the shapes, with groups replaced by their members."""
    for shape in shapes:
        if isinstance(shape, Group):
            yield from flat(shape.shapes)
        else:
            yield shape
