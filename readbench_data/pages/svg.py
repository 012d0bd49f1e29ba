"""Shapes as SVG, and the CSS of their styles."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from html import escape

import numpy as np

from readbench_data.pages.shapes import STYLES, TEXTS, Box, Circle, Group, Numbers, Path, Shape, Text

FONT = "system-ui,sans-serif"


def element(shape: Shape) -> str:
    """Return a shape as an SVG element; every text in it is escaped."""
    match shape:
        case Text(x, y, text, anchor, kind):
            at = "" if anchor == "start" else f' text-anchor="{anchor}"'
            return f'<text x="{number(x)}" y="{number(y)}" class="{kind}"{at}>{escape(text, quote=False)}</text>'
        case Path(x, y, kind, dash, closed):
            dashed = f' stroke-dasharray="{dash}"' if dash else ""
            return f'<path class="{kind}" d="{_points(x, y)}{"z" if closed else ""}"{dashed}/>'
        case Box(x, y, width, height, kind, fill):
            size = f'width="{number(width)}" height="{number(height)}"'
            own = f' style="fill:{fill}"' if fill else ""
            return f'<rect class="{kind}" x="{number(x)}" y="{number(y)}" {size}{own}/>'
        case Circle(x, y, radius, kind):
            return f'<circle class="{kind}" cx="{number(x)}" cy="{number(y)}" r="{number(radius)}"/>'
        case Group(title, shapes):
            return f"<g><title>{escape(title, quote=False)}</title>{''.join(map(element, shapes))}</g>"


def _points(x: Numbers, y: Numbers) -> str:
    """Return the data of a path: its first point, then the offset of each next point, to a tenth of a pixel."""
    at = np.rint(np.column_stack([x, y]) * 10).astype(np.int64)
    first, steps = at[0].tolist(), np.diff(at, axis=0).ravel().tolist()
    rest = f"l{' '.join(map(_tenths, steps))}" if steps else ""
    return f"M{_tenths(first[0])} {_tenths(first[1])}{rest}"


@cache
def _tenths(n: int) -> str:
    """Return ``n`` tenths, as short as SVG allows: ``3``, ``-.2``."""
    return number(n / 10).replace("0.", ".", 1) if -10 < n < 10 else number(n / 10)


def number(value: float) -> str:
    """Return a number of pixels, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def rule(name: str, colours: Mapping[str, str] | None = None) -> str:
    """Return the CSS of a style or a kind of text; ``colours`` replace the page's variables."""

    def colour(of: str) -> str:
        return of if of == "none" else colours[of] if colours else f"var(--{of})"

    if name in TEXTS:
        size, ink, weight = TEXTS[name]
        return f".{name}{{font:{weight} {size}px {FONT};fill:{colour(ink)}}}"
    stroke, fill, width, opacity = STYLES[name]
    rules = [f"fill:{colour(fill)}", f"stroke:{colour(stroke)}"]
    rules += [f"stroke-width:{width:g}"] if width != 1 else []
    rules += [f"fill-opacity:{opacity:g}"] if opacity != 1 else []
    return f".{name}{{{';'.join(rules)}}}"


def style_sheet() -> str:
    """Return the CSS for the pictures of a page."""
    return "".join(f"svg {rule(name)}" for name in (*STYLES, *TEXTS))
