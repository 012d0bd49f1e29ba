"""The commands for submissions, and ``readbench doctor``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from tests.support.built import Built, readbench

BROKEN = "def rank(query, corpus):\n    return list(range(len(corpus) - 1))\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    assert readbench("submission", "new", folder).code == 0
    return folder


def test_a_new_submission_is_valid(mine: Path) -> None:
    ran = readbench("submission", "validate", mine)
    assert (ran.code, ran.err) == (0, "")
    assert "is a valid submission" in ran.out


def test_the_missing_files_of_a_submission_are_named(mine: Path) -> None:
    (mine / "metadata.yaml").unlink()
    ran = readbench("submission", "validate", mine)
    assert ran.code == 1
    assert "metadata.yaml" in ran.err


def test_a_submission_is_ranked_and_its_results_are_confirmed(lite: Built, mine: Path, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release", "evaluation")
    ran = readbench("submission", "run", mine, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 0, ran.err
    claimed = json.loads((mine / "results.json").read_text())
    assert {row["dataset"] for row in claimed["results"]} == {"mit_bih"}
    board = readbench("leaderboard", "--data", data, "--markdown")
    assert "| mine |" in board.out
    assert readbench("submission", "verify", mine, "--data", data).code == 0
    claimed["results"][0]["value"] = 0.999
    (mine / "results.json").write_text(json.dumps(claimed))
    refused = readbench("submission", "verify", mine, "--data", data)
    assert refused.code == 1
    assert "results.json has 0.999" in refused.err


def test_a_submission_that_breaks_the_contract_fails_with_the_reason(lite: Built, mine: Path, tmp_path: Path) -> None:
    (mine / "method.py").write_text(BROKEN)
    data = lite.copy(tmp_path / "data", "release", "evaluation")
    ran = readbench("evaluate", "--submission", mine, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 1, "none of the selected methods could be run"
    assert "failed" in ran.err
    ran = readbench("submission", "run", mine, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 1
    assert "warning: mit_bih at 0 %:" in ran.err
    assert "Traceback" not in ran.err


def test_an_invalid_submission_does_not_stop_the_others(lite: Built, mine: Path, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release", "evaluation")
    invalid = [tmp_path / "no-metadata", tmp_path / "no-python"]
    for folder in invalid:
        assert readbench("submission", "new", folder).code == 0
    (invalid[0] / "metadata.yaml").unlink()
    (invalid[1] / "method.py").write_text("def rank(query, corpus)\n")
    words = [word for folder in (*invalid, mine) for word in ("--submission", folder)]
    ran = readbench("evaluate", *words, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 1
    first, second = ran.err.splitlines()
    assert first == f"warning: {invalid[0] / 'metadata.yaml'}: file is missing"
    assert second == f"readbench: {invalid[1] / 'method.py'}, line 1: expected ':'"
    assert "mine" in readbench("leaderboard", "--data", data).out
    nowhere = readbench("evaluate", "--submission", tmp_path / "nowhere", "--data", data)
    assert nowhere.code == 2
    assert "no such folder" in nowhere.error


def test_a_suite_and_single_methods_can_be_combined(
    lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = lite.copy(tmp_path / "data", "release")
    monkeypatch.setattr("readbench_data.evaluation.methods.registry.SHORT_LIST", ("Random", "Majority"))
    ran = readbench("evaluate", "--suite", "short", "--method", "ED", "--data", data, "--dataset", "mit_bih")
    assert (ran.code, ran.err) == (0, "")
    table = tmp_path / "rows.parquet"
    ran = readbench("leaderboard", "--data", data, "--parquet", table)
    assert ran.out == f"written: {table}\n"
    assert set(pl.read_parquet(table)["method"]) == {"Random", "Majority", "ED"}


def test_shared_arrays_of_a_removed_release_are_removed(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release")
    assert readbench("evaluate", "--method", "ED", "--data", data, "--dataset", "mit_bih").code == 0
    kept = {path.name for path in (data / "evaluation" / "shared").glob("*/*")}
    left = data / "evaluation" / "shared" / "mit_bih" / ("0" * 32 + ".npz")
    left.write_bytes(b"of a removed release")
    os.utime(left, (0, 0))
    assert readbench("evaluate", "--method", "ED", "--data", data, "--dataset", "mit_bih").code == 0
    assert {path.name for path in (data / "evaluation" / "shared").glob("*/*")} == kept


def test_the_leaderboard_page_is_one_file(lite: Built, tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    assert readbench("leaderboard", "--data", lite.data, "--html", page).code == 0
    text = page.read_text()
    assert "<html" in text
    assert 'src="http' not in text
    assert 'href="http' not in text.replace("https://arxiv.org", "")


def test_the_leaderboard_exports_grids_as_csv_and_latex(lite: Built, tmp_path: Path) -> None:
    csv, latex = tmp_path / "grid.csv", tmp_path / "grid.tex"
    ran = readbench("leaderboard", "--data", lite.data, "--csv", csv, "--latex", latex)
    assert ran.out == f"written: {csv}\nwritten: {latex}\n"
    table = pl.read_csv(csv)
    assert set(table["level"]) == {0, 10, 20}
    assert set(table["note"]) == {"built from miniatures: not READ-Bench results"}
    assert latex.read_text().count("begin{tabular}") == 3
    assert readbench("leaderboard", "--data", lite.data, "--csv", csv, "--grid", "metrics").code == 0
    assert {"P@1", "HR@5", "NDCG@10", "F1@10"} <= set(pl.read_csv(csv).columns)
    nowhere = readbench("leaderboard", "--data", lite.data, "--csv", tmp_path / "no" / "grid.csv")
    assert nowhere.code == 2
    assert "there is no folder" in nowhere.error


def test_the_doctor_lists_the_releases(lite: Built) -> None:
    ran = readbench("doctor", "--data", lite.data)
    assert ran.code == 0, ran.err
    assert lite.release.name in ran.out
    assert "BAD" not in ran.out
