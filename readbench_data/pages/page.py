"""Renders HTML pages: self-contained, readable on a phone, usable by keyboard, light or dark.

A page's template extends ``page.html.j2`` and builds tables and figures with the macros of ``page_parts.html.j2``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from markupsafe import Markup

from readbench_data.pages.colours import variables
from readbench_data.pages.svg import style_sheet
from readbench_data.pages.templating import render, template_file


def render_page(template: str, **values: Any) -> str:
    """Return the page rendered from the template ``<package>/<name>`` with the values."""
    return render(template, style=_style(), **values)


@cache
def _style() -> Markup:
    """Return the CSS of all pages: colours, texts, tables, pictures."""
    return Markup(variables()) + template_file("readbench_data.pages/page.css") + Markup(style_sheet())
