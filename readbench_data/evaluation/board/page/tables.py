"""The tables of the page: macro scores, other metrics, the grid of datasets, costs."""

from __future__ import annotations

from html import escape
from typing import Any

import polars as pl

from readbench_data.evaluation.board.leaderboard import Leaderboard, shown_name
from readbench_data.evaluation.statistics.comparison import Comparison
from readbench_data.evaluation.task.release_data import LEVELS

Row = dict[str, Any]

LEGEND = "° from miniatures, not READ-Bench; ‡ from a mirror of the original files; † from a part of them."
OTHERS = (
    ("ndcg", 1), ("ndcg", 3), ("ndcg", 5), ("ndcg", 10), ("ndcg", 20), ("ndcg_tie_averaged", 10), ("precision", 1),
    ("precision", 10), ("precision", 20), ("hit_rate", 5), ("hit_rate", 10), ("macro_f1", 1), ("macro_f1", 10),
)  # fmt: skip
TITLES = {
    "ndcg": "NDCG",
    "ndcg_tie_averaged": "ties averaged<br>NDCG",
    "precision": "P",
    "hit_rate": "HR",
    "macro_f1": "F1",
}


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def origin_mark(origin: str | None, partial: bool | None) -> str:
    """The signs of :data:`LEGEND`."""
    return {"miniature": "°", "mirror": "‡"}.get(origin or "", "") + ("†" if partial else "")


def row_marks(board: Leaderboard) -> dict[str, str]:
    """By method: the signs of all data that is behind its numbers."""
    used = board.result.rows.filter(pl.col("status") == "ok").unique(["method", "origin", "partial"])
    marks: dict[str, set[str]] = {}
    for method, origin, partial in used.select("method", "origin", "partial").iter_rows():
        marks.setdefault(method, set()).update(origin_mark(origin, partial))
    return {method: "".join(sorted(found)) for method, found in marks.items()}


def open_row(row: Row) -> str:
    """A table row the filters know."""
    family, supervision = (escape(row[k] or "unknown") for k in ("family", "supervision"))
    return f'<tr data-family="{family}" data-supervision="{supervision}">'


def named(row: Row) -> str:
    """The method's cell."""
    return f'<th scope="row" class="left">{escape(shown_name(row))}</th>'


def macro_table(macro: list[Row], comparisons: dict[int, Comparison], total: int, marks: dict[str, str]) -> str:
    """Macro NDCG@10 with intervals, mean rank, and how many datasets are behind it."""
    head = "".join(f"<th>{rho} %</th>" for rho in LEVELS)
    first = comparisons[LEVELS[0]]
    rows = []
    for i, row in enumerate(macro):
        values = []
        for rho in LEVELS:
            comparison, value = comparisons[rho], row[f"rho{rho}"]
            interval = comparison.interval(row["method"]) if row["method"] in comparison.methods else None
            about = f" <small>[{interval[0]:.2f}, {interval[1]:.2f}]</small>" if interval else ""
            values.append(f"<td>{value:.3f}{about}</td>" if value is not None else '<td class="missing">no data</td>')
        ranked = first.test is not None and row["method"] in first.methods
        rank = f"{first.test.mean_ranks[first.methods.index(row['method'])]:.2f}" if ranked and first.test else "-"
        varying = "".join(f"<td>{number(row[f'varying{v}'])}</td>" for v in LEVELS)
        rows.append(
            f"{open_row(row)}<td>{i + 1}</td>{named(row)}"
            f'<td class="left">{escape(row["supervision"] or "")}</td>{"".join(values)}<td>{rank}</td>'
            f"<td>{row['n']}/{total}{marks.get(row['method'], '')}</td>{varying}</tr>"
        )
    star = "".join(f"<th>{rho} %*</th>" for rho in LEVELS)
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr><th></th><th class="left">method</th>'
        f'<th class="left">supervision</th>{head}<th>mean rank<br>at 0 %</th><th>data-<br>sets</th>{star}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def metrics_table(board: Leaderboard, macro: list[Row]) -> str:
    """Other metrics at 0 %, macro over datasets, folded in."""
    values = {key: dict(board.macro(*key).select("method", "rho0").iter_rows()) for key in OTHERS}
    head = "".join(f"<th>{TITLES[metric]}@{k}</th>" for metric, k in OTHERS)
    rows = "".join(
        open_row(row)
        + named(row)
        + "".join(f"<td>{number(values[key].get(row['method']))}</td>" for key in OTHERS)
        + "</tr>"
        for row in macro
    )
    return (
        "<details><summary>Other metrics at 0 % Normal</summary>"
        '<p class="note">Macro over datasets. F1@1: the label of the first item is the answer; F1@10: the majority of '
        "the first ten; over the classes of the queries, Normal being a wrong answer (ours).</p>"
        f'<div class="scroll" tabindex="0"><table><thead><tr><th class="left">method</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def grid(board: Leaderboard, macro: list[Row], cells: dict[tuple[str, str, int], Row], rho: int) -> str:
    """NDCG@10 of every method on every dataset at one level, as a heat map."""
    marks = {d: origin_mark(c["origin"], c["partial"]) for (_, d, _), c in cells.items() if c["status"] == "ok"}
    head = "".join(f"<th>{escape(d).replace('_', '_<wbr>')}{marks.get(d, '')}</th>" for d in board.with_data)
    rows = "".join(
        open_row(row)
        + named(row)
        + "".join(_heat(cells.get((row["method"], d, rho)), row["method"], d, rho) for d in board.with_data)
        + "</tr>"
        for row in macro
    )
    opened = " open" if rho == LEVELS[0] else ""
    return (
        f'<details{opened}><summary>At {rho} % Normal</summary><div class="scroll" tabindex="0"><table class="grid">'
        f'<thead><tr><th class="left">method</th>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
    )


def _heat(cell: Row | None, method: str, dataset: str, rho: int) -> str:
    if cell is None or cell["value"] is None:
        why = "not run" if cell is None else cell["status"].replace("_", " ")
        reason = "" if cell is None or not cell["reason"] else f' title="{escape(cell["reason"])}"'
        return f'<td class="missing"{reason}>{escape(why)}</td>'
    value = cell["value"]
    grey = round(255 - 205 * value)
    ink = "#fff" if grey < 118 else "#000"
    key = f'data-method="{escape(method)}" data-dataset="{escape(dataset)}" data-rho="{rho}"'
    about = f'aria-label="{value:.3f}: {escape(method)} on {escape(dataset)} at {rho} %, results of its queries"'
    mark = origin_mark(cell["origin"], cell["partial"])
    return (
        f'<td class="heat" style="background:rgb({grey},{grey},{grey})">'
        f'<button type="button" style="color:{ink}" {key} {about}>{value:.3f}{mark}</button></td>'
    )


def costs(board: Leaderboard) -> dict[str, Row]:
    """By method: seconds over all datasets and levels, and the greatest memory; None where nothing was measured."""
    measured = (
        board.cells()
        .group_by("method")
        .agg(
            *(pl.when(pl.col(c).count() > 0).then(pl.col(c).sum()).alias(c) for c in ("cpu_s", "wall_s")),
            *(pl.col(c).max() for c in ("peak_memory_mb", "gpu_memory_mb", "threads")),
        )
    )
    return {row["method"]: row for row in measured.iter_rows(named=True)}


def cost_table(board: Leaderboard, macro: list[Row]) -> str:
    """Time, memory and threads, folded in."""
    spent = costs(board)

    def cell(value: float | None, digits: int) -> str:
        return "<td>-</td>" if value is None else f"<td>{value:.{digits}f}</td>"

    rows = "".join(
        open_row(row)
        + named(row)
        + "".join(
            cell(spent[row["method"]][key], digits)
            for key, digits in (
                ("cpu_s", 2),
                ("wall_s", 2),
                ("peak_memory_mb", 0),
                ("gpu_memory_mb", 0),
                ("threads", 0),
            )
        )
        + "</tr>"
        for row in macro
    )
    return (
        "<details><summary>Time, memory and threads</summary>"
        '<p class="note">Memory: the greatest rise over a unit of work (a method on a dataset at a level); of a '
        "submission all its process holds, interpreter included. GPU memory only if the method ran on one.</p>"
        '<div class="scroll" tabindex="0"><table><thead><tr><th class="left">method</th><th>CPU s</th><th>wall s</th>'
        f"<th>peak MiB</th><th>GPU MiB</th><th>threads</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
