"""Writes a drawing as a PNG file: the same shapes and styles as in SVG, drawn with matplotlib."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from readbench_data.pages.colours import LIGHT
from readbench_data.pages.drawing import Drawing
from readbench_data.pages.shapes import STYLES, TEXTS, Box, Circle, Path, Text, flat

DPI, POINTS = 100, 0.72
"""``DPI``: pixels of a drawing per inch; ``POINTS``: points per pixel."""
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def write_png(drawing: Drawing, path: FilePath, scale: float = 1.5) -> None:
    """Write a drawing in light colours on white; ``scale``: pixels of the file per pixel of the drawing."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(drawing.width / DPI, drawing.height / DPI), dpi=DPI * scale)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_axis_off()
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    for order, shape in enumerate(flat(drawing.shapes)):
        axes.add_artist(_artist(shape, order))
    figure.savefig(path, format="png", metadata={"Software": None})


def _artist(shape: Text | Path | Box | Circle, order: int) -> Any:
    from matplotlib import patches
    from matplotlib.text import Text as Words

    if isinstance(shape, Text):
        size, colour, weight = TEXTS[shape.kind]
        return Words(
            shape.x, shape.y, shape.text.replace("$", r"\$"), ha=_ANCHORS[shape.anchor], va="baseline",
            fontsize=size * POINTS, color=LIGHT[colour], weight=weight, zorder=order,
        )  # fmt: skip
    style = STYLES[shape.kind]
    fill = "none" if style.fill == "none" else (LIGHT[style.fill], style.opacity)
    look: dict[str, Any] = {
        "edgecolor": "none" if style.stroke == "none" else LIGHT[style.stroke],
        "facecolor": shape.fill if isinstance(shape, Box) and shape.fill else fill,
        "linewidth": style.width * POINTS,
        "zorder": order,
    }
    match shape:
        case Box(x, y, width, height):
            return patches.Rectangle((x, y), width, height, **look)
        case Circle(x, y, radius):
            return patches.Circle((x, y), radius, **look)
        case Path():
            return _line(shape, look)


def _line(shape: Path, look: dict[str, Any]) -> Any:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    dashes = tuple(float(part) / STYLES[shape.kind].width for part in shape.dash.split())
    points = [*zip(shape.x, shape.y, strict=True)]
    outline = Outline([*points, points[0]] if shape.closed else points, closed=shape.closed)
    return PathPatch(outline, linestyle=(0, dashes) if dashes else "solid", joinstyle="round", **look)
