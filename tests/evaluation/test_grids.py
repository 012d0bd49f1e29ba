"""Tables in the shape of the paper's, with values that can be verified by hand."""

from __future__ import annotations

import io

import polars as pl
import pytest

from readbench_data.evaluation.board.grids import METRICS, dataset_grid, metric_grid, to_csv, to_latex
from tests.evaluation.test_means import PARTLY, board_of


def test_the_grid_of_datasets_has_the_shape_of_table_8() -> None:
    table = pl.read_csv(io.StringIO(to_csv(board_of(PARTLY), "datasets")))
    assert table.columns[:8] == ["level", "method", "supervision", "d1", "d2", "d3", "mean", "sd"]
    assert table.select("level", "method").rows() == [
        (level, method) for level in (0, 10, 20) for method in ("Low", "Random", "High")
    ]
    low = table.row(0, named=True)
    assert (low["d1"], low["d2"], low["d3"]) == (0.8, 0.4, None)
    assert low["mean"] == pytest.approx(0.6)
    assert low["sd"] == pytest.approx(0.4 / 2**0.5)
    assert (low["datasets"], low["ranked"], low["code"]) == (2, True, "low-code-1")
    high = table.row(2, named=True)
    assert (high["d2"], high["mean"], high["sd"], high["ranked"]) == (0.1, 0.9, None, False)
    assert high["missing"] == "d2 (not run at 10 %, failed at 20 %)"


def test_the_grid_of_metrics_has_the_shape_of_tables_16_to_73() -> None:
    table = metric_grid(board_of(PARTLY))
    assert table.columns[:4] == ["method", "level", "dataset", "origin"]
    assert table.columns[4:] == [
        *(f"{metric}@{k}" for metric in ("P", "HR", "NDCG") for k in (1, 3, 5, 10, 20)),
        "F1@1",
        "F1@10",
    ]
    assert len(METRICS) == 17
    low = table.filter(method="Low", level=20).select("dataset", "NDCG@10").rows()
    assert low[:3] == [("d1", 0.4), ("d2", 0.0), ("d3", None)]
    assert low[3] == ("mean", pytest.approx(0.2))
    assert low[4] == ("sd", pytest.approx(0.4 / 2**0.5))


def test_latex_has_one_table_per_level_with_every_sign_escaped() -> None:
    board = board_of({"A+NR|B_1": {"d_1": (0.5, 0.25, 0.125)}, "Part": {"d_1": ("failed",) * 3}})
    text = to_latex(board, "datasets")
    assert text.count(r"\begin{table}") == text.count(r"\bottomrule") == 3
    assert r"A+NR\textbar{}B\_1 & none & 0.500 & 0.500 & - & 1 & yes \\" in text
    assert r"A+NR\textbar{}B\_1 & none & 0.125 & 0.125 & - & 1 & yes \\" in text
    assert r"method & supervision & d\_1 & mean & sd & datasets & ranked \\" in text
    assert r"\caption{NDCG@10 at 10 \% Normal windows}" in text
    assert "% Default configuration, not tuned." in text
    assert f"data hash {board.data_hash}" in text
    assert "% not ranked: Part lacks d_1 (failed)" in text
    assert to_latex(board, "metrics").count(r"\begin{table}") == 2


def test_an_empty_board_has_empty_grids() -> None:
    board = board_of({})
    assert dataset_grid(board).is_empty()
    assert metric_grid(board).is_empty()
    assert "booktabs" in to_latex(board, "metrics")
