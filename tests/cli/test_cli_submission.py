"""The commands around a method of your own, and the doctor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from built import Built, readbench

BROKEN = "def rank(query, corpus):\n    return list(range(len(corpus) - 1))\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    assert readbench("submission", "new", folder).code == 0
    return folder


def test_a_new_submission_is_one_at_once(mine: Path) -> None:
    ran = readbench("submission", "validate", mine)
    assert (ran.code, ran.err) == (0, "")
    assert "is a submission" in ran.out


def test_an_incomplete_submission_is_told_file_by_file(mine: Path) -> None:
    (mine / "metadata.yaml").unlink()
    ran = readbench("submission", "validate", mine)
    assert ran.code == 1
    assert "metadata.yaml" in ran.err


def test_a_submission_joins_the_board_and_its_results_are_confirmed(lite: Built, mine: Path, tmp_path: Path) -> None:
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
    assert "results.json says 0.999" in refused.err


def test_a_submission_that_breaks_the_contract_says_how_and_exits_1(lite: Built, mine: Path, tmp_path: Path) -> None:
    (mine / "method.py").write_text(BROKEN)
    data = lite.copy(tmp_path / "data", "release", "evaluation")
    ran = readbench("evaluate", "--submission", mine, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 0, "the others go on"
    assert "failed" in ran.err
    ran = readbench("submission", "run", mine, "--data", data, "--dataset", "mit_bih")
    assert ran.code == 1
    assert "warning: mit_bih at 0 %:" in ran.err
    assert "Traceback" not in ran.err


def test_the_page_of_the_board_is_one_file(lite: Built, tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    assert readbench("leaderboard", "--data", lite.data, "--html", page).code == 0
    text = page.read_text()
    assert "<html" in text
    assert 'src="http' not in text
    assert 'href="http' not in text.replace("https://arxiv.org", "")


def test_the_doctor_says_what_is_built(lite: Built) -> None:
    ran = readbench("doctor", "--data", lite.data)
    assert ran.code == 0, ran.err
    assert lite.release.name in ran.out
    assert "BAD" not in ran.out
