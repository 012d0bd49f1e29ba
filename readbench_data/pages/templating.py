"""The one jinja2 environment: HTML and Markdown from templates.

A template is a file ``templates/<name>`` of a package; its name here is ``<package>/<name>``. The file name begins with
the name of the module that renders it, so that the template is part of the module's code version
(``readbench_data.store.code_version``). In HTML every value is escaped, unless it is ``Markup``; in Markdown
(``.md.j2``) none is, and ``markdown_table`` escapes table cells. A template that uses a missing value raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from readbench_data.pages.wording import counted, sentence

if TYPE_CHECKING:
    from jinja2 import BaseLoader, Environment


def render(template: str, **values: Any) -> str:
    """Return the text rendered from the template ``<package>/<name>`` with the values."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

    class Packages(dict[str, "BaseLoader"]):
        def __missing__(self, package: str) -> BaseLoader:
            return self.setdefault(package, PackageLoader(package))

    made = Environment(
        loader=PrefixLoader(Packages()),
        autoescape=lambda name: name is None or not name.endswith(".md.j2"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    made.globals["file"] = template_file
    for known in (breakable, cell, counted, markdown_table, sentence):
        made.filters[known.__name__] = known
    made.filters["thousands"] = "{:,}".format
    return made


def template_file(name: str) -> Markup:
    """Return a file next to the templates of a package unchanged, such as a script; ``name`` as for a template."""
    package, _, path = name.partition("/")
    return Markup(files(package).joinpath("templates", path).read_text(encoding="utf-8"))


def breakable(name: str) -> Markup:
    """Return a long name in which lines may break after an underscore, a dot, a slash or a bar."""
    return Markup(re.sub(r"([_./|])", r"\1<wbr>", escape(str(name))))


def cell(value: object) -> object:
    """Return the text of a value in a table: yes or no, a number with separators, a dash for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else value


def markdown_table(rows: Iterable[Sequence[str]], header: Sequence[str]) -> str:
    """Return a Markdown table; a pipe in a cell is escaped and a line break becomes a space."""
    lines = [list(header), ["---"] * len(header)]
    lines += [[text.replace("|", "\\|").replace("\n", " ") for text in row] for row in rows]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    texts[1] = "|" + "---|" * len(header)
    return "\n".join(texts)
