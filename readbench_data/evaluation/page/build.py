"""The parts of the page put together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl

from readbench_data.evaluation.page.figures import Line, cost_svg, pollution_svg
from readbench_data.evaluation.release_data import LEVELS
from readbench_data.evaluation.statistics.cd_figure import cd_svg
from readbench_data.evaluation.statistics.comparison import Comparison

if TYPE_CHECKING:
    from readbench_data.evaluation.leaderboard import Leaderboard

Row = dict[str, Any]


def build_page(board: Leaderboard) -> str:
    """The whole page."""
    macro = list(board.macro().iter_rows(named=True))
    cells = {(r["method"], r["dataset"], r["rho"]): r for r in board.cells().iter_rows(named=True)}
    comparisons = {rho: board.comparison(rho) for rho in LEVELS}
    cost = dict(board.cells().group_by("method").agg(pl.col("cpu_s").sum()).iter_rows())
    lines = [
        Line(i + 1, r["method"], r["family"] or "other", tuple(r[f"rho{v}"] for v in LEVELS), cost.get(r["method"]))
        for i, r in enumerate(macro)
    ]
    banner = f'<p class="banner" role="note">{escape(board.banner)}</p>' if board.banner else ""
    body = [
        f"<h1>READ-Bench leaderboard, release {escape(board.version)}</h1>",
        f'<p class="note">{len(macro)} methods on {len(board.datasets)} datasets. NDCG@10: the mean over queries, then '
        "over datasets. Every method runs with its one documented default; nothing is tuned to a dataset.</p>",
        banner,
        "<h2>Macro NDCG@10</h2>",
        _filters(macro),
        _macro_table(macro, comparisons, len(board.datasets)),
        '<p class="note">In brackets: 95 % bootstrap-t interval over datasets (none under three; complete methods).'
        f" {escape(_varying_note(board))}</p>",
        "<h2>What may be claimed</h2>",
        *(_claims(rho, comparisons[rho]) for rho in LEVELS),
        "<h2>NDCG@10 per dataset</h2>",
        '<p class="note">Darker is better. A cell opens the results of its queries.</p>',
        *(_grid(board, macro, cells, rho) for rho in LEVELS),
        "<h2>Pollution</h2>",
        pollution_svg(lines),
        "<h2>Cost against quality</h2>",
        cost_svg(lines),
        "<h2>Data</h2>",
        _data(board),
        _failures(board),
        '<dialog id="queries"><form method="dialog"><button>close</button></form><h2></h2><table><thead><tr>'
        '<th class="left">query</th><th class="left">class</th><th>relevant</th><th>NDCG@10</th></tr></thead>'
        "<tbody></tbody></table></dialog>",
    ]
    here = files("readbench_data.evaluation.page")
    style, script = (here.joinpath(f"page.{kind}").read_text() for kind in ("css", "js"))
    data = json.dumps(_per_query(board), separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>READ-Bench leaderboard {escape(board.version)}</title>'
        f"<style>{style}</style></head><body>{''.join(body)}"
        f'<script type="application/json" id="per-query">{data}</script><script>{script}</script></body></html>\n'
    )


def _filters(macro: list[Row]) -> str:
    def boxes(name: str) -> str:
        values = dict.fromkeys(r[name] or "unknown" for r in macro)
        inputs = "".join(
            f'<label><input type="checkbox" name="{name}" value="{escape(v)}" checked> {escape(v)}</label>'
            for v in values
        )
        return f"<fieldset><legend>{name}</legend>{inputs}</fieldset>"

    return boxes("family") + boxes("supervision")


def _open_row(row: Row) -> str:
    family, supervision = (escape(row[k] or "unknown") for k in ("family", "supervision"))
    return f'<tr data-family="{family}" data-supervision="{supervision}">'


def _macro_table(macro: list[Row], comparisons: dict[int, Comparison], total: int) -> str:
    head = "".join(f"<th>{rho} %</th>" for rho in LEVELS)
    rows = []
    for i, row in enumerate(macro):
        values = []
        for rho in LEVELS:
            comparison, value = comparisons[rho], row[f"rho{rho}"]
            interval = comparison.interval(row["method"]) if row["method"] in comparison.methods else None
            about = f" <small>[{interval[0]:.2f}, {interval[1]:.2f}]</small>" if interval else ""
            values.append(f"<td>{value:.3f}{about}</td>" if value is not None else '<td class="missing">no data</td>')
        first = comparisons[LEVELS[0]]
        ranked = first.test is not None and row["method"] in first.methods
        rank = f"{first.test.mean_ranks[first.methods.index(row['method'])]:.2f}" if ranked and first.test else "-"
        varying = "".join(f"<td>{_number(row[f'varying{v}'])}</td>" for v in LEVELS)
        rows.append(
            f'{_open_row(row)}<td>{i + 1}</td><td class="left">{escape(row["method"])}</td>'
            f'<td class="left">{escape(row["supervision"] or "")}</td>{"".join(values)}<td>{rank}</td>'
            f"<td>{row['n']}/{total}</td>{varying}</tr>"
        )
    star = "".join(f"<th>{rho} %*</th>" for rho in LEVELS)
    return (
        f'<div class="scroll"><table><thead><tr><th></th><th class="left">method</th><th class="left">supervision</th>'
        f"{head}<th>mean rank<br>at 0 %</th><th>datasets</th>{star}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _varying_note(board: Leaderboard) -> str:
    same = [d for d, mark in board.marks().items() if "same corpus" in mark]
    return f"* without {', '.join(same)}, whose corpus is the same at all levels." if same else "* all corpora change."


def _claims(rho: int, comparison: Comparison) -> str:
    table = ""
    if comparison.pairwise_p is not None:
        names = comparison.methods
        head = "".join(f"<th>{escape(n)}</th>" for n in names)
        rows = "".join(
            f'<tr><td class="left">{escape(n)}</td>'
            + "".join(f"<td>{p:.3f}</td>" if i != j else "<td></td>" for j, p in enumerate(line))
            + "</tr>"
            for i, (n, line) in enumerate(zip(names, comparison.pairwise_p, strict=True))
        )
        table = (
            "<details><summary>p of every pair (Nemenyi, family-wise)</summary>"
            f'<div class="scroll"><table><tr><th></th>{head}</tr>{rows}</table></div></details>'
        )
    left = "; ".join(f"{m} (lacks {', '.join(d)})" for m, d in comparison.left_out.items())
    out = f'<p class="note">Not compared, incomplete: {escape(left)}.</p>' if left else ""
    opened = " open" if rho == LEVELS[0] else ""
    return (
        f"<details{opened}><summary>At {rho} % Normal</summary><p>{escape(comparison.sentence())}</p>"
        f"{cd_svg(comparison) if comparison.test else ''}{table}{out}</details>"
    )


def _grid(board: Leaderboard, macro: list[Row], cells: dict[tuple[str, str, int], Row], rho: int) -> str:
    head = "".join(f"<th>{escape(d)}</th>" for d in board.datasets)
    rows = "".join(
        f'{_open_row(row)}<td class="left">{escape(row["method"])}</td>'
        + "".join(_heat(cells.get((row["method"], d, rho)), row["method"], d, rho) for d in board.datasets)
        + "</tr>"
        for row in macro
    )
    opened = " open" if rho == LEVELS[0] else ""
    return (
        f'<details{opened}><summary>At {rho} % Normal</summary><div class="scroll"><table><thead><tr>'
        f'<th class="left">method</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _heat(cell: Row | None, method: str, dataset: str, rho: int) -> str:
    if cell is None or cell["value"] is None:
        why = "not run" if cell is None else cell["status"].replace("_", " ")
        reason = "" if cell is None or not cell["reason"] else f' title="{escape(cell["reason"])}"'
        return f'<td class="missing"{reason}>{escape(why)}</td>'
    value = cell["value"]
    grey = round(255 - 205 * value)
    ink = "#fff" if grey < 140 else "#111"
    mark = "".join(("°" if cell["origin"] == "miniature" else "", "†" if cell["partial"] else ""))
    key = f'data-method="{escape(method)}" data-dataset="{escape(dataset)}" data-rho="{rho}"'
    return (
        f'<td class="heat" style="background:rgb({grey},{grey},{grey})">'
        f'<button style="color:{ink}" {key}>{value:.3f}{mark}</button></td>'
    )


def _data(board: Leaderboard) -> str:
    rows = "".join(
        f'<tr><td class="left">{escape(d)}</td><td class="left">{escape(mark)}</td></tr>'
        for d, mark in board.marks().items()
    )
    return f'<table>{rows}</table><p class="note">° miniature data, not READ-Bench; † partial data.</p>'


def _failures(board: Leaderboard) -> str:
    lines: Iterable[str] = board.failures()
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<h2>Failed</h2><ul>{items}</ul>" if items else ""


def _per_query(board: Leaderboard) -> dict[str, Any]:
    """NDCG@10 of every query in thousandths, averaged over random states; query ids and classes once a dataset."""
    table = board.result.per_query
    queries: dict[str, Any] = {}
    values: dict[str, dict[str, dict[str, list[int]]]] = {}
    if table.is_empty():
        return {"queries": queries, "values": values}
    mean = table.group_by(["method", "dataset", "rho", "query_id"], maintain_order=True).agg(
        pl.col("ndcg@10").mean(), pl.col("class_label").first(), pl.col("n_relevant").first()
    )
    for (method, dataset, rho), part in mean.group_by(["method", "dataset", "rho"], maintain_order=True):
        known = queries.setdefault(
            str(dataset),
            {"id": part["query_id"].to_list(), "class_label": part["class_label"].to_list(), "n_relevant": {}},
        )
        known["n_relevant"].setdefault(str(rho), part["n_relevant"].to_list())
        thousandths = (part["ndcg@10"] * 1000).round().cast(pl.Int64).to_list()
        values.setdefault(str(method), {}).setdefault(str(dataset), {})[str(rho)] = thousandths
    return {"queries": queries, "values": values}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
