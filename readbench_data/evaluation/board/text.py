"""The leaderboard as plain text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from readbench_data.evaluation.board.leaderboard import Leaderboard, shown_name
from readbench_data.evaluation.task.release_data import LEVELS

WIDTH = 110
"""Most characters of a line; a table with more columns continues below itself."""


def to_text(board: Leaderboard) -> str:
    """Plain text: macro NDCG@10, NDCG@10 per dataset at each level, and the marks of the datasets."""
    macro = board.macro()
    if macro.is_empty():
        return f"release {board.version}: no results are stored; run `readbench evaluate` first\n"
    total = len(board.with_data)
    lines = [f"*** {board.banner} ***", ""] if board.banner else []
    lines += [f"release {board.version}: NDCG@10, mean over queries, then over datasets", ""]
    head = ["method", "supervision", "0 %", "10 %", "20 %", "datasets"]
    varying = any("same corpus" in m for m in board.marks().values())
    head += ["0 %*", "10 %*", "20 %*"] if varying else []
    body = [
        [shown_name(r), r["supervision"] or "", *(_number(r[f"rho{v}"]) for v in LEVELS), f"{r['n']}/{total}"]
        + ([_number(r[f"varying{v}"]) for v in LEVELS] if varying else [])
        for r in macro.iter_rows(named=True)
    ]
    lines += _table(head, body)
    lines += ["* without datasets whose corpus is the same at all levels"] if varying else []
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
    return "\n".join(lines) + "\n"


def _alignment(board: Leaderboard) -> list[str]:
    """What depends on how channels are aligned: one table per dataset where both ways are stored."""
    effects = board.alignment_effects()
    lines: list[str] = []
    for (dataset, stated, other), rows in effects.group_by(["dataset", "stated", "other"], maintain_order=True):
        lines += ["", f"{dataset}: NDCG@10 with channels by {stated} (as stated above), by {other}, and the difference"]
        body = []
        for (method,), own in rows.group_by(["method"], maintain_order=True):
            by_level = {r["rho"]: r for r in own.iter_rows(named=True)}
            columns = ("value", "otherwise", "difference")
            body.append(
                [str(method), *(_number(by_level[v][c] if v in by_level else None) for c in columns for v in LEVELS)]
            )
        levels = [f"{v} %" for v in LEVELS]
        lines += _table(["method", *levels, *(f"{v} {other}" for v in levels), *(f"{v} diff" for v in levels)], body)
    return lines


def to_markdown(board: Leaderboard) -> str:
    """The macro table as Markdown, with banner and marks."""
    varying = [f"varying{v}" for v in LEVELS]
    head = ["method", "supervision", *(f"{v} %" for v in LEVELS), "datasets", *(f"{v} %*" for v in LEVELS)]
    lines = [f"**{board.banner}**", ""] if board.banner else []
    lines += [f"NDCG@10 on release {board.version}: the mean over queries, then over datasets.", ""]
    lines += ["| " + " | ".join(head) + " |", "|---|---|" + "---:|" * (len(head) - 2)]
    for row in board.macro().iter_rows(named=True):
        numbers = [_number(row[f"rho{v}"]) for v in LEVELS]
        star = [_number(row[v]) for v in varying]
        name = shown_name(row).replace("|", "\\|")
        cells = [name, row["supervision"] or "", *numbers, f"{row['n']}/{len(board.with_data)}", *star]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "\\* without datasets whose corpus is the same at all levels", ""]
    lines += [f"- {name}: {mark}" for name, mark in board.data_rows()]
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
