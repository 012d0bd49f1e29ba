"""The page from its parts: the numbers are gathered here, the text of the page is in ``templates/build.html.j2``."""

from __future__ import annotations

from typing import Any

import polars as pl

from readbench_data.evaluation.board.leaderboard import Leaderboard
from readbench_data.evaluation.board.page.claims import claims
from readbench_data.evaluation.board.page.figures import Line, cost_svg, pollution_svg
from readbench_data.evaluation.board.page.tables import (
    alignment_tables,
    cost_table,
    costs,
    foreign_table,
    grid,
    macro_table,
    metrics_table,
    row_marks,
)
from readbench_data.evaluation.task.release_data import LEVELS
from readbench_data.pages.page import render_page


def build_page(board: Leaderboard) -> str:
    """The whole page."""
    macro = list(board.macro().iter_rows(named=True))
    cells = {(r["method"], r["dataset"], r["rho"]): r for r in board.cells().iter_rows(named=True)}
    comparisons = {rho: board.comparison(rho) for rho in LEVELS}
    spent = costs(board)
    ranked = [r for r in macro if r["complete"]]
    numbers = {r["method"]: i + 1 for i, r in enumerate(ranked)}
    lines = [
        Line(i + 1, r["method"], r["family"] or "other", tuple(r[f"rho{v}"] for v in LEVELS), _cpu(spent, r["method"]))
        for i, r in enumerate(ranked)
    ]
    return render_page(
        "readbench_data.evaluation.board.page/build.html.j2",
        board=board,
        levels=LEVELS,
        filters={name: list(dict.fromkeys(r[name] or "unknown" for r in macro)) for name in ("family", "supervision")},
        macro=macro_table(macro, comparisons, len(board.compared), row_marks(board)),
        alignments=alignment_tables(board),
        same=[d for d, mark in board.marks().items() if "same corpus" in mark],
        foreign=foreign_table(board),
        metrics=metrics_table(board, ranked),
        claims=[claims(rho, comparisons[rho], numbers) for rho in LEVELS],
        grids={rho: grid(board, macro, cells, rho) for rho in LEVELS},
        absent=list(board.without_data()),
        pollution=pollution_svg(lines),
        cost=cost_svg(lines),
        costs=cost_table(spent, macro),
        data=board.data_rows(),
        failures=board.failures(),
        left_out=board.left_out(),
        per_query=_per_query(board),
    )


def _cpu(spent: dict[str, dict[str, Any]], method: str) -> float | None:
    seconds: float | None = spent[method]["cpu_s"] if method in spent else None
    return seconds


def _per_query(board: Leaderboard) -> dict[str, Any]:
    """NDCG@10 of every query in thousandths, averaged over random states; query ids and classes once per dataset."""
    table = board.result.per_query
    queries: dict[str, Any] = {}
    values: dict[str, dict[str, dict[str, list[int]]]] = {}
    if table.is_empty():
        return {"queries": queries, "values": values}
    mean = (
        table.group_by(["method", "dataset", "rho", "query_id"], maintain_order=True)
        .agg(
            (pl.col("ndcg@10").mean() * 1000).round().cast(pl.Int64).alias("thousandths"),
            pl.col("class_label").first(),
            pl.col("n_relevant").first(),
        )
        .group_by(["method", "dataset", "rho"], maintain_order=True)
        .agg("thousandths", "query_id", "class_label", "n_relevant")
    )
    for method, dataset, rho, thousandths, ids, classes, relevant in mean.iter_rows():
        known = queries.setdefault(dataset, {"id": ids, "class_label": classes, "n_relevant": {}})
        known["n_relevant"].setdefault(str(rho), relevant)
        values.setdefault(method, {}).setdefault(dataset, {})[str(rho)] = thousandths
    return {"queries": queries, "values": values}
