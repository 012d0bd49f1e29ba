"""The leaderboard as plain text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import polars as pl

from readbench_data.evaluation.board.leaderboard import Leaderboard, shown_code, shown_name
from readbench_data.evaluation.run.results import Row
from readbench_data.evaluation.task.release_data import LEVELS

WIDTH = 110
"""Most characters of a line; a table with more columns continues below itself."""


def to_text(board: Leaderboard) -> str:
    """Plain text: macro NDCG@10, NDCG@10 per dataset at each level, and the marks of the datasets."""
    macro = board.macro()
    if macro.is_empty():
        first = f"release {board.version}: no results are stored; run `readbench evaluate` first"
        return "\n".join([first, *_left_out(board)]) + "\n"
    lines = [f"*** {board.banner} ***", ""] if board.banner else []
    lines += [f"release {board.version}, data hash {board.data_hash}: NDCG@10, mean over queries, then over datasets;"]
    lines += [f"sd: across datasets. {board.configuration}"]
    lines += [*textwrap.wrap(board.scope, WIDTH), ""]
    lines += _macro(board, macro)
    if (outside := board.foreign_macro()) is not None:
        lines += ["", "datasets from outside READ-Bench: NDCG@10, mean over them"]
        head = ["method", *(f"{v} %" for v in LEVELS), "datasets"]
        found = outside.iter_rows(named=True)
        lines += _table(head, [[r["method"], *(_number(r[f"rho{v}"]) for v in LEVELS), str(r["n"])] for r in found])
    cells = {(m, d, r): v for m, d, r, v in board.cells().select("method", "dataset", "rho", "value").iter_rows()}
    for rho in LEVELS:
        lines += ["", f"NDCG@10 per dataset at {rho} % Normal"]
        for part in _parts(board.with_data, max(len(m) for m in macro["method"])):
            rows = [[m, *(_number(cells.get((m, d, rho))) for d in part)] for m in macro["method"]]
            lines += _table(["method", *part], rows)
    lines += _alignment(board)
    about = board.data_rows()
    width = max(len(name) for name, _ in about)
    lines += ["", "data"]
    for name, mark in about:
        lines += textwrap.wrap(f"  {name:{width}}  {mark}", WIDTH, subsequent_indent=" " * (width + 4))
    failures = board.failures()
    lines += ["", "failed", *(f"  {f}" for f in failures)] if failures else []
    lines += _left_out(board)
    return "\n".join(lines) + "\n"


def _macro(board: Leaderboard, macro: pl.DataFrame) -> list[str]:
    """The means of complete methods; below them, with what they lack, those of the others; then the means without
    datasets whose corpus is the same at all levels, if there are any."""
    total = len(board.compared)
    head = ["method", "supervision", *(title for v in LEVELS for title in (f"{v} %", "sd")), "datasets", "code"]

    def line(row: Row) -> list[str]:
        means = [_number(row[f"{of}{v}"]) for v in LEVELS for of in ("rho", "sd")]
        return [
            shown_name(row),
            row["supervision"] or "",
            *means,
            f"{row['n']}/{total}",
            shown_code(row),
        ]

    ranked, apart = macro.filter("complete"), macro.filter(~pl.col("complete"))
    lines = _table(head, [line(row) for row in ranked.iter_rows(named=True)]) if not ranked.is_empty() else []
    if not apart.is_empty():
        lines += ["", "not ranked, because they lack datasets: means over those they have at every level"]
        lines += _table(head, [line(row) for row in apart.iter_rows(named=True)])
        for name, missing in apart.select("method", "missing").iter_rows():
            lines += textwrap.wrap(f"  {name} lacks {missing}", WIDTH, subsequent_indent="    ")
    if any("same corpus" in mark for mark in board.marks().values()):
        lines += ["", "mean without datasets whose corpus is the same at all levels"]
        rows = ranked.iter_rows(named=True)
        body = [[shown_name(r), *(_number(r[f"varying{v}"]) for v in LEVELS)] for r in rows]
        lines += _table(["method", *(f"{v} %" for v in LEVELS)], body)
    return lines


def _left_out(board: Leaderboard) -> list[str]:
    found = board.left_out()
    lines = ["", "left out"] if found else []
    for sentence in found:
        lines += textwrap.wrap(f"  {sentence}", WIDTH, subsequent_indent="    ")
    return lines


def _alignment(board: Leaderboard) -> list[str]:
    """What depends on how channels are aligned: one table per dataset where both ways are stored."""
    levels = [f"{v} %" for v in LEVELS]
    lines: list[str] = []
    for table in board.alignment_tables():
        how = f"with channels by {table.stated} (as stated above), by {table.other}, and the difference"
        lines += ["", f"{table.dataset}: NDCG@10 {how}"]
        head = ["method", *levels, *(f"{v} {table.other}" for v in levels), *(f"{v} diff" for v in levels)]
        body = [[r.method, *map(_number, [*r.stated, *r.otherwise, *r.difference])] for r in table.rows]
        lines += _table(head, body)
    return lines


def to_markdown(board: Leaderboard) -> str:
    """The macro table as Markdown, with banner and marks."""
    macro, total = board.macro(), len(board.compared)
    means = [title for v in LEVELS for title in (f"{v} %", "sd")]
    head = ["method", "supervision", *means, "datasets", "code", *(f"{v} %*" for v in LEVELS)]
    lines = [f"**{board.banner}**", ""] if board.banner else []
    lines += [f"NDCG@10 on release {board.version} (data hash {board.data_hash}): the mean over queries, then over"]
    lines += [" ".join(filter(None, [f"datasets; sd: across datasets. {board.configuration}", board.scope])), ""]
    lines += ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) - 2)]
    for row in macro.iter_rows(named=True):
        numbers = [_number(row[f"{of}{v}"]) for v in LEVELS for of in ("rho", "sd")]
        star = [_number(row[f"varying{v}"]) for v in LEVELS]
        name = shown_name(row).replace("|", "\\|")
        behind = f"{row['n']}/{total}" + ("" if row["complete"] else ", not ranked")
        cells = [name, row["supervision"] or "", *numbers, behind, shown_code(row), *star]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "\\* without datasets whose corpus is the same at all levels", ""]
    lacking = macro.filter(~pl.col("complete")).select("method", "missing").iter_rows()
    lines += [f"- {name} is not ranked: it lacks {missing}" for name, missing in lacking]
    lines += [f"- {name}: {mark}" for name, mark in board.data_rows()]
    lines += [f"- left out: {sentence}" for sentence in board.left_out()]
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _parts(names: Sequence[str], first: int) -> Iterator[list[str]]:
    """The names in parts, each the columns of a table that is at most ``WIDTH`` wide with a first column ``first``
    wide."""
    part: list[str] = []
    for name in names:
        if part and first + sum(len(n) + 2 for n in [*part, name]) > WIDTH:
            yield part
            part = []
        part.append(name)
    if part:
        yield part


def _table(head: list[str], body: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *body]) for i in range(len(head))]
    text = [i for i, h in enumerate(head) if h in ("method", "supervision")]

    def line(row: list[str]) -> str:
        cells = (c.ljust(w) if i in text else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        return "  ".join(cells).rstrip()

    return [line(head), line(["-" * w for w in widths]), *(line(r) for r in body)]
