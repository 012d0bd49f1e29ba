"""Means over the same datasets, and which stored results count: every expected value can be verified by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from readbench_data.evaluation.board.leaderboard import Leaderboard, leaderboard
from readbench_data.evaluation.board.page import build_page
from readbench_data.evaluation.board.text import to_markdown, to_text
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.run.present import LeftOut, present_key
from readbench_data.evaluation.run.protocol import evaluate, evaluate_methods
from readbench_data.evaluation.run.results import ROW_SCHEMA, EvaluationResult

LEVELS = (0, 10, 20)
Values = dict[str, dict[str, tuple[float | str, ...]]]
"""By method and dataset: NDCG@10 at the three levels, or why there is none."""


def board_of(values: Values, left_out: tuple[LeftOut, ...] = ()) -> Leaderboard:
    """A leaderboard with exactly these values; a method called Random is a baseline."""
    rows: list[dict[str, Any]] = []
    datasets = list(dict.fromkeys(d for by in values.values() for d in by))
    for method, by in values.items():
        for dataset in datasets:
            for rho, value in zip(LEVELS, by.get(dataset, ("not_run",) * 3), strict=True):
                known = isinstance(value, float)
                rows.append(
                    {
                        "method": method,
                        "family": "trivial" if method == "Random" else "distance",
                        "supervision": "none",
                        "dataset": dataset,
                        "rho": rho,
                        "metric": "ndcg",
                        "k": 10,
                        "value": value if known else None,
                        "status": "ok" if known else value,
                        "origin": "download",
                        "same_at_all_levels": False,
                        "code_version": f"{method.lower()}-code-1" if known else None,
                        "data_hash": f"{dataset}-hash-1234" if known else None,
                    }
                )
    table = pl.DataFrame(rows, schema=ROW_SCHEMA)
    return Leaderboard("1.0", tuple(datasets), EvaluationResult(table, pl.DataFrame(), left_out))


PARTLY: Values = {
    "Low": {"d1": (0.8, 0.6, 0.4), "d2": (0.4, 0.2, 0.0)},
    "High": {"d1": (0.9, 0.8, 0.7), "d2": (0.1, "not_run", "failed")},
    "Random": {"d1": (0.3, 0.2, 0.1), "d2": (0.1, 0.1, 0.1), "d3": (0.5, 0.5, 0.5)},
}
"""``High`` has two datasets at 0 % and one elsewhere; ``d3`` has no method but a baseline."""


def test_all_levels_of_a_row_are_means_over_the_same_datasets() -> None:
    macro = board_of(PARTLY).macro()
    by = {row["method"]: row for row in macro.iter_rows(named=True)}
    assert [by["Low"][f"rho{r}"] for r in LEVELS] == pytest.approx([0.6, 0.4, 0.2])
    # with both datasets at 0 % the row would read .5, .8, .7: a rise under pollution that no dataset shows
    assert [by["High"][f"rho{r}"] for r in LEVELS] == pytest.approx([0.9, 0.8, 0.7])
    assert [by["Random"][f"rho{r}"] for r in LEVELS] == pytest.approx([0.2, 0.15, 0.1]), "d3 is not compared"
    assert macro["method"].to_list() == ["Low", "Random", "High"], "an incomplete method is last, however high"
    assert macro["complete"].to_list() == [True, True, False]
    assert macro["n"].to_list() == [2, 2, 1]
    assert macro["missing"].to_list() == ["", "", "d2 (not run at 10 %, failed at 20 %)"]


def test_the_deviation_across_datasets_is_that_of_a_sample() -> None:
    """Of .8 and .4 it is .4 / sqrt(2) = .2828; of one value there is none."""
    by = {row["method"]: row for row in board_of(PARTLY).macro().iter_rows(named=True)}
    assert [by["Low"][f"sd{r}"] for r in LEVELS] == pytest.approx([0.4 / 2**0.5] * 3)
    assert by["High"]["sd0"] is None


def test_a_comparison_is_over_the_compared_datasets_only() -> None:
    comparison = board_of(PARTLY | {"Third": {"d1": (0.5, 0.5, 0.5), "d2": (0.5, 0.5, 0.5)}}).comparison(0)
    assert comparison.datasets == ("d1", "d2")
    assert comparison.methods == ("Low", "Third")
    assert comparison.left_out == {"High": ("d2",)}, "it has a value on d2 at 0 %, but not at every level"


def test_a_method_that_failed_everywhere_is_not_ranked_and_nothing_else_changes() -> None:
    values: Values = {"Low": PARTLY["Low"], "Broken": {"d1": ("failed",) * 3, "d2": ("failed",) * 3}}
    board = board_of(values)
    assert board.macro()["method"].to_list() == ["Low", "Broken"]
    assert board.macro()["missing"][1] == "d1 (failed), d2 (failed)"
    assert board_of({"Broken": values["Broken"]}).macro()["complete"].to_list() == [False]


@pytest.mark.parametrize("form", [to_text, to_markdown, build_page])
def test_every_form_shows_deviation_configuration_hashes_and_what_is_missing(
    form: Callable[[Leaderboard], str],
) -> None:
    board = board_of(PARTLY, (LeftOut("computed by other code", {"ED": 2, "SBD-I": 1}),))
    text = form(board)
    for needed in (
        "Default configuration, not tuned.",
        f"ata hash {board.data_hash}",
        "data hash d1-hash-",
        "low-code",
        "0.283",
        "d2 (not run at 10 %, failed at 20 %)",
        "3 stored results (2 of ED, 1 of SBD-I): computed by other code",
    ):
        assert needed in text
    assert "not ranked" in text.lower()


def test_incomplete_methods_are_in_no_figure_and_have_no_number() -> None:
    page = build_page(board_of(PARTLY))
    figures = "".join(part.split("</svg>")[0] for part in page.split("<svg")[1:])
    assert "Low" in figures
    assert "High" not in figures
    assert page.index(">Random</th>") < page.index("Not ranked, because") < page.index(">High</th>")


def test_the_data_hash_changes_with_the_data_of_any_dataset() -> None:
    board = board_of(PARTLY)
    other = EvaluationResult(
        board.result.rows.with_columns(data_hash=pl.col("data_hash").str.replace("d2", "x2")), pl.DataFrame()
    )
    assert len(board.data_hash) == 12
    assert board.data_hash == board_of(PARTLY).data_hash
    assert board.data_hash != Leaderboard("1.0", board.datasets, other).data_hash


@dataclass(frozen=True)
class Mine(Method):
    """A method that the registry does not know."""

    sign: float = 1.0

    @property
    def name(self) -> str:
        return "Mine"

    def score(self, view: Any, fitted: Any) -> np.ndarray:
        return self.sign * np.tile(np.arange(view.n_corpus, dtype=np.float64), (view.n_queries, 1))


def backdate(out: Path, method: str, created: Callable[[str], str]) -> None:
    """Rewrite the time of creation in the stored records of a method."""
    for file in (out / "units").glob(f"*/{method}-*.npz"):
        with np.load(file) as stored:
            arrays = {name: stored[name] for name in stored.files}
        record = json.loads(str(arrays["record"]))
        record["facts"]["created"] = created(record["unit"]["parameters"])
        np.savez(file, **arrays | {"record": np.array(json.dumps(record))})


@pytest.mark.parametrize("late", [1.0, -1.0])
def test_the_version_that_was_run_last_counts_whatever_the_clock_says(
    release: Path, tmp_path: Path, late: float
) -> None:
    def shown() -> tuple[float, list[str]]:
        board = leaderboard(release, tmp_path)
        return board.macro()["rho20"].item(), board.left_out()

    def run(sign: float) -> float:
        result = evaluate_methods(release, tmp_path, [Mine(sign)], ["waves"])
        backdate(tmp_path, "Mine", lambda p: "2099" if json.loads(p)["sign"] == late else "1999")
        return float(result.rows.filter(metric="ndcg", k=10, rho=20)["value"].item())

    first = run(1.0)
    assert shown() == (first, [])
    # the last items first: nine Normal windows, then one of class C at rank 10, for three of nine queries
    assert first == pytest.approx(1 / np.log2(11) / sum(1 / np.log2(i + 1) for i in range(1, 11)) / 3)
    second = run(-1.0)
    assert second == pytest.approx(1 / 3), "the first items first: class A, right for the three queries of A"
    reason = "3 stored results (3 of Mine): of another version than the one that was run last"
    assert shown() == (second, [reason])
    assert run(1.0) == first, "all stored: nothing is computed, but it was run last"
    assert shown() == (first, [reason])


def test_versions_of_which_none_is_recorded_as_last_are_all_left_out(release: Path, tmp_path: Path) -> None:
    for sign in (1.0, -1.0):
        evaluate_methods(release, tmp_path, [Mine(sign)], ["waves"])
    for mark in (tmp_path / "last-run").iterdir():
        mark.unlink()
    board = leaderboard(release, tmp_path)
    assert board.macro().is_empty()
    assert "several versions are stored" in board.left_out()[0]
    assert "6 of Mine" in to_text(board)


def test_results_of_other_code_parameters_or_format_are_counted_and_never_shown(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Euclidean, "code_version", lambda self: "older")
    evaluate(release, tmp_path, ["ED"], ["waves", "plain"])
    monkeypatch.undo()
    evaluate(release, tmp_path, ["ED"], ["waves"])
    backdate(tmp_path, "ED", lambda _: "2099")
    files = sorted((tmp_path / "units" / "plain").glob("ED-*.npz"))
    with np.load(files[0]) as stored:
        record = json.loads(str(stored["record"]))
    np.savez(files[0], record=np.array(json.dumps(record | {"format": 1})))
    files[1].write_bytes(b"PK half a file")
    board = leaderboard(release, tmp_path)
    ok = board.result.rows.filter(status="ok")
    assert set(ok["dataset"]) == {"waves"}
    assert set(ok["code_version"]) == {Euclidean().code_version()}
    reasons = {out.reason.split(";")[0]: out.counts for out in board.result.left_out}
    assert reasons == {
        "stored in an earlier format": {"ED": 1},
        "the file cannot be read": {f"file {files[1].name}": 1},
        "computed by other code than the present one": {"ED": 4},
    }


def test_a_variant_under_the_name_of_a_default_is_returned_but_not_on_the_board(release: Path, tmp_path: Path) -> None:
    from readbench_data.evaluation.methods.features import Features

    result = evaluate_methods(release, tmp_path, [Features(clip=1.0)], ["waves"])
    assert result.counts() == {"ok": 3}
    board = leaderboard(release, tmp_path)
    assert board.macro().is_empty()
    assert board.left_out()[0].startswith("3 stored results (3 of Features): computed with other parameters")


def test_a_key_is_known_for_names_of_the_registry_as_they_are_written() -> None:
    parameters = json.dumps(Euclidean().parameters(), sort_keys=True)
    assert present_key("ED") == (parameters, Euclidean().code_version())
    assert present_key("ed") is None
    assert present_key("Mine") is None


def test_a_board_does_not_depend_on_the_order_of_runs(release: Path, tmp_path: Path) -> None:
    for order in (["ED", "Random"], ["Random", "ED"]):
        for name in order:
            evaluate(release, tmp_path / order[0], [name], ["waves"])
    one, other = (leaderboard(release, tmp_path / name).result.rows for name in ("ED", "Random"))
    values = ["method", "dataset", "rho", "metric", "k", "value"]
    assert one.select(values).equals(other.select(values))
