"""Templates: what is escaped and what is not, what is missing, and the parts every page is built from."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import TemplateNotFound, UndefinedError
from markupsafe import Markup

from readbench_data.pages.page import render_page
from readbench_data.pages.templating import breakable, cell, markdown_table, render

PARTS = '{% import "readbench_data.pages/page_parts.html.j2" as parts %}\n'


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """A package of its own for each test, as templates are remembered by name."""
    name = "toy_" + "".join(c for c in request.node.name if c.isalnum())
    (tmp_path / name / "templates").mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def write(tmp_path: Path, package: str, name: str, text: str) -> str:
    (tmp_path / package / "templates" / name).write_text(text)
    return f"{package}/{name}"


def test_html_is_escaped_and_markdown_is_not(tmp_path: Path, package: str) -> None:
    text = "{{ value }}|{{ value|breakable }}"
    html, plain = (write(tmp_path, package, f"a.{kind}.j2", text) for kind in ("html", "md"))
    assert render(html, value="<b>a_c</b>") == "&lt;b&gt;a_c&lt;/b&gt;|&lt;b&gt;a_<wbr>c&lt;/<wbr>b&gt;"
    assert render(html, value=Markup("<b>")) == "<b>|&lt;b&gt;"
    assert render(plain, value="<b>").startswith("<b>|")


def test_a_value_that_is_not_given_is_an_error(tmp_path: Path, package: str) -> None:
    name = write(tmp_path, package, "a.html.j2", "{{ there }} {{ missing }}")
    with pytest.raises(UndefinedError, match="'missing' is undefined"):
        render(name, there=1)
    with pytest.raises(TemplateNotFound):
        render(f"{package}/none.html.j2")


def test_long_tables_are_folded(tmp_path: Path, package: str) -> None:
    name = write(tmp_path, package, "a.html.j2", PARTS + '{{ parts.long_table("Many", ["a"], rows, [0]) }}')
    assert "<details>" not in render(name, rows=[[1]] * 12)
    folded = render(name, rows=[[1234]] * 1300)
    assert "".join(folded.split("\n")).startswith('<details><summary>Many (1,300 rows)</summary><div class="scroll"')
    assert folded.count('<tr><td class="n">1,234</td></tr>') == 1300


def test_a_table_shows_values_as_people_write_them(tmp_path: Path, package: str) -> None:
    name = write(tmp_path, package, "a.html.j2", PARTS + '{{ parts.table("T <1>", ["a", "b"], rows, [1]) }}')
    shown = render(name, rows=[(True, 12345), (None, "1 < 2"), (Markup("<i>x</i>"), 0.5)])
    assert '<tr><td>yes</td><td class="n">12,345</td></tr>' in shown
    assert '<tr><td>-</td><td class="n">1 &lt; 2</td></tr>' in shown
    assert '<tr><td><i>x</i></td><td class="n">0.5</td></tr>' in shown
    assert 'aria-label="T &lt;1&gt;"' in shown
    assert (cell(False), cell(None), cell(-1000)) == ("no", "-", "-1,000")


def test_a_page_has_contents_only_where_it_has_sections(tmp_path: Path, package: str) -> None:
    base = '{% extends "readbench_data.pages/page.html.j2" %}{% set title = "A & B" %}'
    bare = render_page(write(tmp_path, package, "bare.html.j2", base))
    assert "<title>A &amp; B</title>" in bare
    assert "<nav" not in bare
    full = render_page(write(tmp_path, package, "full.html.j2", base), sections={"x": "The <x>"})
    assert '<li><a href="#x">The &lt;x&gt;</a></li>' in full
    assert "http" not in full
    assert full.endswith("</html>\n")


def test_names_break_where_a_reader_expects_it() -> None:
    assert breakable("a_b/c.d|<e>") == "a_<wbr>b/<wbr>c.<wbr>d|<wbr>&lt;e&gt;"


def test_a_markdown_table_keeps_its_columns() -> None:
    assert markdown_table([["a|b", "c\nd"]], ["x", "y"]) == "| x | y |\n|---|---|\n| a\\|b | c d |"
    assert markdown_table([], ["x"]) == "| x |\n|---|"
