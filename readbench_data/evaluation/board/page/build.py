"""The parts of the page put together."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from typing import Any

import polars as pl

from readbench_data.evaluation.board.leaderboard import Leaderboard
from readbench_data.evaluation.board.page.claims import claims
from readbench_data.evaluation.board.page.figures import Line, cost_svg, pollution_svg
from readbench_data.evaluation.board.page.tables import (
    LEGEND,
    Row,
    cost_table,
    costs,
    grid,
    macro_table,
    metrics_table,
    row_marks,
)
from readbench_data.evaluation.task.release_data import LEVELS


def build_page(board: Leaderboard) -> str:
    """The whole page."""
    macro = list(board.macro().iter_rows(named=True))
    cells = {(r["method"], r["dataset"], r["rho"]): r for r in board.cells().iter_rows(named=True)}
    comparisons = {rho: board.comparison(rho) for rho in LEVELS}
    cost = {m: row["cpu_s"] for m, row in costs(board).items()}
    numbers = {r["method"]: i + 1 for i, r in enumerate(macro)}
    lines = [
        Line(i + 1, r["method"], r["family"] or "other", tuple(r[f"rho{v}"] for v in LEVELS), cost.get(r["method"]))
        for i, r in enumerate(macro)
    ]
    banner = f'<p class="banner" role="note">{escape(board.banner)}</p>' if board.banner else ""
    body = [
        f"<h1>READ-Bench leaderboard, release {escape(board.version)}</h1>",
        f'<p class="note">{len(macro)} methods on {len(board.with_data)} datasets. NDCG@10: the mean over queries, '
        "then over datasets. Every method runs with its one documented default; nothing is tuned to a dataset.</p>",
        banner,
        "<h2>Macro NDCG@10</h2>",
        _filters(macro),
        macro_table(macro, comparisons, len(board.with_data), row_marks(board)),
        '<p class="note">In brackets: 95 % bootstrap-t interval over datasets (none under three; complete methods).'
        f" {escape(_varying_note(board))} {LEGEND}</p>",
        metrics_table(board, macro),
        "<h2>What may be claimed</h2>",
        *(claims(rho, comparisons[rho], numbers) for rho in LEVELS),
        "<h2>NDCG@10 per dataset</h2>",
        f'<p class="note">Darker is better. A cell opens the results of its queries. {LEGEND}</p>',
        *(grid(board, macro, cells, rho) for rho in LEVELS),
        "<h2>Pollution</h2>",
        '<p class="note">The best method of each family in black, the others in grey.</p>',
        pollution_svg(lines),
        "<h2>Cost against quality</h2>",
        '<p class="note">Methods by their number in the table above. CPU time of all threads, fit and score, over all '
        "datasets and levels; work several methods share counts for each of them.</p>",
        cost_svg(lines),
        cost_table(board, macro),
        "<h2>Data</h2>",
        _data(board),
        _failures(board),
        '<dialog id="queries"><form method="dialog"><button>close</button></form><h2></h2><table><thead><tr>'
        '<th class="left">query</th><th class="left">class</th><th>relevant</th><th>NDCG@10</th></tr></thead>'
        "<tbody></tbody></table></dialog>",
    ]
    here = files("readbench_data.evaluation.board.page")
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


def _varying_note(board: Leaderboard) -> str:
    same = [d for d, mark in board.marks().items() if "same corpus" in mark]
    return f"* without {', '.join(same)}, whose corpus is the same at all levels." if same else "* all corpora change."


def _data(board: Leaderboard) -> str:
    rows = "".join(
        f'<tr><td class="left">{escape(d)}</td><td class="left">{escape(mark)}</td></tr>'
        for d, mark in board.data_rows()
    )
    return f'<div class="scroll"><table>{rows}</table></div>'


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
