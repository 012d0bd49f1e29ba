"""The leaderboard as one self-contained HTML page: no request leaves it, every figure reads in black and white."""

from readbench_data.evaluation.board.page.build import build_page

__all__ = ["build_page"]
