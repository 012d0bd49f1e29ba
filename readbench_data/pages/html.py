"""One self-contained HTML page: no script, no network, readable on a phone, usable by keyboard, light or dark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root{--ink:#1b1b1b;--soft:#555;--paper:#fff;--line:#c9c9c9;--fault:#1f5fa8;--normal:#6f6f6f;--warn:#8a3b00}
@media (prefers-color-scheme:dark){:root{--ink:#eee;--soft:#b9b9b9;--paper:#161616;--line:#4a4a4a;--fault:#7fb4f0;
--normal:#a8a8a8;--warn:#ffb27a}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,header,nav{max-width:68rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;margin:1.2rem 0 .2rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}
p{max-width:46rem;margin:.4rem 0}.soft{color:var(--soft)}.warn{color:var(--warn);font-weight:600}
a{color:var(--fault)}a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--fault);
outline-offset:2px}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1rem;padding:0;margin:.6rem 0;list-style:none}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.4rem}
.scroll{overflow-x:auto;background:linear-gradient(90deg,var(--paper) 40%,transparent) left/2.5rem 100% no-repeat local,
linear-gradient(270deg,var(--paper) 40%,transparent) right/2.5rem 100% no-repeat local,
linear-gradient(90deg,rgba(128,128,128,.6),transparent) left/.9rem 100% no-repeat scroll,
linear-gradient(270deg,rgba(128,128,128,.6),transparent) right/.9rem 100% no-repeat scroll}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--fault)}
table{border-collapse:collapse;font-size:.92rem;margin:.4rem 0}
caption{text-align:left;color:var(--soft);padding:.2rem 0}
th,td{padding:.25rem .7rem .25rem 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}
td:first-child{min-width:min(11rem,40vw)}td:first-child.n{min-width:3rem}
@media (max-width:48rem){td:first-child{overflow-wrap:anywhere}}
code{font:.88em ui-monospace,monospace;overflow-wrap:anywhere}
pre{overflow-x:auto;font:.85rem/1.45 ui-monospace,monospace}
figure{margin:.6rem 0}figcaption{font-size:.88rem;color:var(--soft);overflow-wrap:anywhere}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:1rem}
td{min-width:4rem}td:nth-child(2):not(.n){min-width:8rem}td:last-child{min-width:12rem}td:last-child.n{min-width:4rem}
svg{max-width:100%;height:auto;display:block}svg text{fill:var(--ink);font:12px system-ui,sans-serif}
td svg{max-width:none;min-width:100px}.scroll>svg{max-width:none}
.f{fill:var(--fault)}.k{fill:var(--normal)}.s{stroke:var(--fault);fill:none;stroke-width:1.2}
.t{stroke:var(--line)}
"""


def page(title: str, body: Iterable[str], sections: Sequence[tuple[str, str]] = (), lead: str = "") -> str:
    """A whole page; ``sections``: (id, heading) for the list of contents at its top."""
    links = "".join(f'<li><a href="#{escape(a)}">{escape(t)}</a></li>' for a, t in sections)
    contents = f'<nav aria-label="Contents"><ul>{links}</ul></nav>' if links else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header><h1>{escape(title)}</h1>{lead}</header>{contents}<main id="main">{"".join(body)}</main>'
        "</body></html>\n"
    )


def section(anchor: str, heading: str, *parts: str) -> str:
    """A section with its heading."""
    return f'<section id="{escape(anchor)}"><h2>{escape(heading)}</h2>{"".join(parts)}</section>'


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> str:
    """A table that scrolls sideways on its own where it is wide; numbers get thousands separators."""
    numeric = set(right)
    mark = [' class="n"' if i in numeric else "" for i in range(len(header))]
    head = "".join(f'<th scope="col"{m}>{escape(h)}</th>' for h, m in zip(header, mark, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{m}>{_cell(c)}</td>" for c, m in zip(row, mark, strict=True)) + "</tr>" for row in rows
    )
    return scrolling(
        caption,
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
    )


FOLDED = 12
"""Rows from which on :func:`long_table` folds a table. Ours: about a phone's screen."""


def long_table(caption: str, header: Sequence[str], rows: Sequence[Sequence[object]], right: Iterable[int] = ()) -> str:
    """A table, folded away where it has more than ``FOLDED`` rows."""
    content = table(caption, header, rows, right)
    return folded(f"{caption} ({len(rows):,} rows)", content) if len(rows) > FOLDED else content


def folded(summary: str, content: str) -> str:
    """HTML that is shown when a person opens it."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def scrolling(name: str, content: str) -> str:
    """HTML that scrolls sideways on its own, also by keyboard, where it is wider than the page."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">{content}</div>'


class Html(str):
    """Text that is HTML already."""


def breakable(name: str) -> Html:
    """A long name that may go on in the next line after an underscore, a dot or a slash."""
    return Html(re.sub(r"([_./])", r"\1<wbr>", escape(name)))


def _cell(value: object) -> str:
    if isinstance(value, Html):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return escape("-" if value is None else str(value))


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; ``kind`` ``soft`` or ``warn``."""
    return f"<p{f' class={kind!r}' if kind else ''}>{escape(text)}</p>"


def listing(items: Iterable[str]) -> str:
    """A bulleted list of texts."""
    return "<ul>" + "".join(f"<li>{escape(i)}</li>" for i in items) + "</ul>"


def figure(picture: str, caption: str) -> str:
    """A picture with a caption."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
