"""The tables of the page as plain data: macro scores, other metrics, the grid of datasets, costs.

Every row of methods has ``name``, ``family`` and ``supervision``, by which the reader can filter, and ``cells``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from readbench_data.evaluation.board.leaderboard import Leaderboard, shown_code, shown_name
from readbench_data.evaluation.statistics.comparison import Comparison
from readbench_data.evaluation.task.release_data import LEVELS
from readbench_data.pages.templating import breakable

Row = dict[str, Any]

OTHERS = (
    ("ndcg", 1), ("ndcg", 3), ("ndcg", 5), ("ndcg", 10), ("ndcg", 20), ("ndcg_tie_averaged", 10), ("precision", 1),
    ("precision", 10), ("precision", 20), ("hit_rate", 5), ("hit_rate", 10), ("macro_f1", 1), ("macro_f1", 10),
)  # fmt: skip
TITLES = {
    "ndcg": "NDCG",
    "ndcg_tie_averaged": Markup("ties averaged<br>NDCG"),
    "precision": "P",
    "hit_rate": "HR",
    "macro_f1": "F1",
}
COSTS = (("cpu_s", 2), ("wall_s", 2), ("peak_memory_mb", 0), ("gpu_memory_mb", 0), ("threads", 0))
"""Column of :func:`costs` and its decimals."""


class Shade(NamedTuple):
    """Greys (0 to 255) of a cell and of its text, on light and on dark screens."""

    light: int
    light_ink: str
    dark: int
    dark_ink: str


def number(value: float | None) -> str:
    """Three decimals, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def origin_mark(origin: str | None, partial: bool | None) -> str:
    """The signs that the page's legend explains: ° miniature, ‡ mirror, † partial data."""
    return {"miniature": "°", "mirror": "‡"}.get(origin or "", "") + ("†" if partial else "")


def row_marks(board: Leaderboard) -> dict[str, str]:
    """By method: the signs of all data that is behind its numbers."""
    used = board.result.rows.filter(pl.col("status") == "ok").unique(["method", "origin", "partial"])
    marks: dict[str, set[str]] = {}
    for method, origin, partial in used.select("method", "origin", "partial").iter_rows():
        marks.setdefault(method, set()).update(origin_mark(origin, partial))
    return {method: "".join(sorted(found)) for method, found in marks.items()}


def _named(row: Row, cells: Iterable[object]) -> Row:
    """A row that the filters know."""
    return {
        "family": row["family"] or "unknown",
        "supervision": row["supervision"] or "unknown",
        "name": shown_name(row),
        "cells": list(cells),
    }


def macro_table(macro: list[Row], comparisons: dict[int, Comparison], total: int, marks: dict[str, str]) -> list[Row]:
    """Macro NDCG@10 by level (``cells``: the texts of value, interval and standard deviation across datasets),
    ``rank``: the mean rank at 0 %, ``behind``: how many datasets are behind it, ``code``: the version of the code,
    ``varying``: the means over those whose corpora change, and ``missing``: what an incomplete method lacks."""
    first = comparisons[LEVELS[0]]
    rows = []
    for row in macro:
        method = row["method"]
        ranked = first.test is not None and method in first.methods
        rows.append(
            {
                **_named(row, (_with_interval(row, rho, comparisons[rho]) for rho in LEVELS)),
                "complete": row["complete"],
                "missing": row["missing"],
                "code": shown_code(row),
                "rank": f"{first.test.mean_ranks[first.methods.index(method)]:.2f}" if ranked and first.test else "-",
                "behind": f"{row['n']}/{total}{marks.get(method, '')}",
                "varying": [number(row[f"varying{rho}"]) for rho in LEVELS],
            }
        )
    return rows


def _with_interval(row: Row, rho: int, comparison: Comparison) -> tuple[str, str, str] | None:
    """The macro value at a level, its interval (empty where there is none) and its standard deviation across datasets;
    None where there is no value. An incomplete method has no interval."""
    value = row[f"rho{rho}"]
    if value is None:
        return None
    compared = row["complete"] and row["method"] in comparison.methods
    interval = comparison.interval(row["method"]) if compared else None
    return f"{value:.3f}", f"[{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "", number(row[f"sd{rho}"])


def alignment_tables(board: Leaderboard) -> list[Row]:
    """For each dataset whose channels can be aligned another way: ``dataset``, ``stated`` and ``other`` alignment, and
    ``rows`` of a method's values as stated, the other way, and their differences, each by level."""
    return [
        {
            **table._asdict(),
            "rows": [
                {
                    "name": row.method,
                    "cells": [*map(number, [*row.stated, *row.otherwise]), *map(_signed, row.difference)],
                }
                for row in table.rows
            ],
        }
        for table in board.alignment_tables()
    ]


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def foreign_table(board: Leaderboard) -> Row | None:
    """The means over datasets from outside READ-Bench, next to those of READ-Bench: their ``names``, ``header`` and
    ``rows``; None if there are none."""
    means = board.foreign_macro()
    if means is None:
        return None
    rows = [_named(row, [number(row[f"rho{v}"]) for v in LEVELS]) for row in means.iter_rows(named=True)]
    names = ", ".join(name for name in board.with_data if name in board.foreign)
    return {"names": names, "header": [f"{v} %" for v in LEVELS], "rows": rows}


def metrics_table(board: Leaderboard, macro: list[Row]) -> tuple[list[str], list[Row]]:
    """Header and rows of other metrics at 0 %, macro over datasets."""
    values = {key: dict(board.macro(*key).select("method", "rho0").iter_rows()) for key in OTHERS}
    header = [TITLES[metric] + f"@{k}" for metric, k in OTHERS]
    return header, [_named(row, (number(values[key].get(row["method"])) for key in OTHERS)) for row in macro]


def grid(
    board: Leaderboard, macro: list[Row], cells: dict[tuple[str, str, int], Row], rho: int
) -> tuple[list[str], list[Row]]:
    """Header and rows of NDCG@10 of every method on every dataset with data at one level, for a heat map."""
    datasets = board.with_data
    marks = {d: origin_mark(c["origin"], c["partial"]) for (_, d, _), c in cells.items() if c["status"] == "ok"}
    header: list[str] = [breakable(d) + marks.get(d, "") for d in datasets]
    return header, [_named(row, (_heat(cells.get((row["method"], d, rho)), d) for d in datasets)) for row in macro]


def _heat(cell: Row | None, dataset: str) -> Row:
    """A cell of the grid: its value and shade, or why it has none."""
    if cell is None or cell["value"] is None:
        why = "not run" if cell is None else cell["status"].replace("_", " ")
        return {"value": None, "why": why, "reason": "" if cell is None else cell["reason"] or ""}
    return {
        "value": f"{cell['value']:.3f}",
        "mark": origin_mark(cell["origin"], cell["partial"]),
        "dataset": dataset,
        "method": cell["method"],
        "shade": shade(cell["value"]),
    }


def shade(value: float) -> Shade:
    """The greys for a value from 0 to 1: the higher it is, the further from the page's own colour."""
    light, dark = round(255 - 205 * value), round(22 + 205 * value)
    return Shade(light, _ink(light), dark, _ink(dark))


def _ink(grey: int) -> str:
    """Text that has a contrast of 4.5 to 1 or more on a grey."""
    return "#fff" if grey < 118 else "#000"


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


def cost_table(spent: dict[str, Row], macro: list[Row]) -> list[Row]:
    """Rows of time, memory and threads."""
    return [
        _named(row, (_rounded(spent[row["method"]][column], decimals) for column, decimals in COSTS)) for row in macro
    ]


def _rounded(value: float | None, decimals: int) -> str:
    return "-" if value is None else f"{value:.{decimals}f}"
