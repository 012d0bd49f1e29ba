"""The leaderboard as one self-contained HTML page: it loads nothing, its figures are readable in black and white."""

from readbench_data.evaluation.board.page.build import build_page

__all__ = ["build_page"]
