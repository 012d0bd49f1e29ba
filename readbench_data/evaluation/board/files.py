"""The leaderboard as files: text, Markdown, the page, and every row as Parquet."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from readbench_data.evaluation.board.leaderboard import Leaderboard
from readbench_data.evaluation.board.page import build_page
from readbench_data.evaluation.board.text import to_markdown, to_text


def board_files(board: Leaderboard) -> dict[str, bytes]:
    """By ending: ``txt``, ``md``, ``html`` (the page) and ``parquet`` (all rows)."""
    table = BytesIO()
    board.result.rows.write_parquet(table)
    texts = {"txt": to_text(board), "md": to_markdown(board), "html": build_page(board)}
    return {kind: text.encode() for kind, text in texts.items()} | {"parquet": table.getvalue()}


def replace(path: Path, content: bytes) -> None:
    """Write a file so that its name never holds a half-written one."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
