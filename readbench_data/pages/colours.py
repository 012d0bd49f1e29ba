"""The colours of pages and pictures, for light and dark screens.

Fault and Normal are blue and grey, which colour-blind readers distinguish; in greyscale they differ as well, because a
Normal shape is drawn pale with an outline. Each colour of text has a contrast of 4.5 to 1 or more on ``paper``.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ink": "#1b1b1b",
    "soft": "#555555",
    "faint": "#949494",
    "line": "#c9c9c9",
    "paper": "#ffffff",
    "fault": "#1f5fa8",
    "normal": "#6f6f6f",
    "warn": "#8a3b00",
}
DARK: Mapping[str, str] = {
    "ink": "#eeeeee",
    "soft": "#b9b9b9",
    "faint": "#848484",
    "line": "#4a4a4a",
    "paper": "#161616",
    "fault": "#7fb4f0",
    "normal": "#a8a8a8",
    "warn": "#ffb27a",
}
LABEL_FILLS = ("#ffffff", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00")
"""White for Normal, then the colours of Okabe and Ito; each is used with its own hatch, for greyscale."""


def variables() -> str:
    """Return the colours as CSS variables: light by default, dark if the reader's system is in dark mode."""
    light, dark = ("".join(f"--{name}:{colour};" for name, colour in named.items()) for named in (LIGHT, DARK))
    return f":root{{color-scheme:light dark;{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
