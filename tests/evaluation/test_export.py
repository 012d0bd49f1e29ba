"""The exported results repository: its own scripts agree with this harness."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission import Limits, export, new, run_submission, verify_submission, worker
from readbench_data.evaluation.submission.board import eval_submission
from readbench_data.evaluation.submission.metadata import SPELLINGS, metadata_problems, supervision_of
from readbench_data.evaluation.submission.results_file import ResultsFile
from tests.support.built import THREE, Built, readbench, shared_folder

QUICK = Limits(seconds=60, memory_gib=8)


def call(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "validate_submission.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_the_example_is_valid_and_a_broken_copy_is_not(tmp_path: Path) -> None:
    written = export(tmp_path / "repo")
    assert all(p.is_file() for p in written)
    example = tmp_path / "repo" / "example_submission"
    done = call(tmp_path / "repo", "--submission", str(example))
    assert (done.returncode, done.stdout) == (0, "structure: ok\n")
    (example / "method.py").write_text("def rank(query):\n    return []\n")
    (example / "requirements.txt").unlink()
    done = call(tmp_path / "repo", "--submission", str(example))
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["requirements.txt is missing", "rank must take two arguments, (query, corpus)"]
    with pytest.raises(UsageError, match="is not empty"):
        export(tmp_path / "repo")


def test_the_scripts_need_nothing_of_this_project(tmp_path: Path) -> None:
    for path in export(tmp_path / "repo"):
        if path.suffix == ".py":
            assert "readbench_data" not in path.read_text()


FIRST = "[row[0] for row in {}['ts_values'][:16]]"
METHODS = {
    "lists": """
def rank(query, corpus):
    flat = [sum(entry["ts_values"], []) for entry in [query, *corpus]]
    found = [sum(abs(a - b) for a, b in zip(flat[0], one)) for one in flat[1:]]
    return sorted(range(len(corpus)), key=lambda i: (found[i], flat[i + 1]))
""",
    "pure Python": f"""
def first(entry):
    return {FIRST.format("entry")}

def rank(query, corpus):
    wanted = first(query)
    found = [first(item) for item in corpus]
    return sorted(range(len(corpus)), key=lambda i: (sum((a - b) ** 2 for a, b in zip(wanted, found[i])), found[i]))
""",
    "numpy, converted": """
import numpy as np

def rank(query, corpus):
    means = [np.asarray(entry["ts_values"], np.float32).mean() for entry in corpus]
    return np.argsort(np.abs(np.array(means) - np.mean(query["ts_values"], dtype=np.float32)), kind="stable")
""",
    "numpy, declared": """
def rank(query, corpus):
    spread = [entry["ts_values"].std(axis=0).max() for entry in corpus]
    return sorted(range(len(corpus)), key=lambda i: (abs(spread[i] - query["ts_values"].std(axis=0).max()), spread[i]))
""",
    "bad": "def rank(query, corpus):\n    return [0] * len(corpus)\n",
}


@pytest.mark.parametrize("name", list(METHODS))
def test_both_harnesses_give_the_same_numbers_or_the_same_refusal(
    name: str, lite: Built, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets.config

    folder = tmp_path / "submission"
    new(folder, name.replace(",", ""))
    (folder / "method.py").write_text(METHODS[name])
    meta = (folder / "metadata.yaml").read_text()
    changed = meta.replace("name:", "method:").replace("supervision: none", "supervision: Label-free")
    if name == "numpy, declared":
        changed = changed.replace("arrays: lists ", "arrays: numpy ")
    (folder / "metadata.yaml").write_text(changed)
    results = folder / "results.json"

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", shared_folder(tmp_path_factory) / "datasets-cache")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["eval_submission.py", "--submission", str(folder), "--data", str(lite.release)])
    with pytest.raises(SystemExit) as ended:
        eval_submission.main()
    assert ended.value.code == (1 if name == "bad" else 0)
    theirs = ResultsFile.read(results)

    lines: list[str] = []
    run_submission(folder, lite.release, tmp_path / "out", mode="official", limits=QUICK, progress=lines.append)
    ours = ResultsFile.read(results)
    assert f"{ours.name}: supervision 'Label-free' is taken as none" in lines
    said = {"results": (), "isolation": ""}
    assert ours.changed(**said).to_json() == theirs.changed(**said).to_json()
    keyed = {(r.dataset, r.rho, r.metric, r.k): r for r in theirs.results}
    own = [r for r in ours.results if r.dataset in THREE]
    assert len(own) == len(keyed) == len(THREE) * 3 * 22
    for row in own:
        other = keyed[row.dataset, row.rho, row.metric, row.k]
        assert (row.status, row.reason) == (other.status, other.reason)
        if row.value is None or other.value is None:
            assert name == "bad"
            assert row.value is other.value
        else:
            assert row.value == pytest.approx(other.value, abs=1e-12)
            assert (row.n_queries, row.n_no_relevant) == (other.n_queries, other.n_no_relevant)

    if name in ("lists", "numpy, declared"):
        strict = run_submission(folder, lite.release, tmp_path / "out", mode="strict", datasets=["ctsr"], limits=QUICK)
        assert set(strict.rows["status"]) == {"ok"}
    if name == "lists":
        theirs.write(results)
        assert verify_submission(folder, lite.release, QUICK) == []


def test_the_literal_command_of_the_board_works_in_an_exported_repository(lite: Built, tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    assert readbench("submission", "export", repository, "--release", lite.release).code == 0
    for slug in ("one", "two"):
        shutil.copytree(repository / "example_submission", repository / "submissions" / slug)
    words = ["validate_submission.py", "--submission", "submissions/one", "--run"]
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=repository,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("structure: ok\n")
    shown = readbench("submission", "board", repository, "--release", lite.release, "--html", tmp_path / "board.html")
    assert shown.code == 0, shown.err
    assert "Euclidean example (official, unisolated)" in shown.out
    assert "Euclidean example" in (tmp_path / "board.html").read_text()

    shutil.copyfile(repository / "submissions/one/results.json", repository / "submissions/two/results.json")
    refused = readbench("submission", "board", repository, "--release", lite.release)
    assert (refused.code, refused.out) == (1, "")
    assert "the name 'Euclidean example' is that of" in refused.error
    shutil.rmtree(repository / "submissions" / "two")
    with (repository / "submissions/one/method.py").open("a") as file:
        file.write("# changed\n")
    stale = readbench("submission", "board", repository, "--release", lite.release)
    assert "left out: the files have changed since" in stale.err


def test_both_harnesses_check_an_answer_with_the_same_code() -> None:
    assert inspect.getsource(worker.checked) == inspect.getsource(eval_submission.checked)


def test_a_repository_without_a_release_says_how_to_name_one(tmp_path: Path) -> None:
    export(tmp_path / "repo")
    done = call(tmp_path / "repo", "--submission", str(tmp_path / "repo" / "example_submission"), "--run")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("config.json names no release: give one with --data")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Unsupervised", "none"),
        ("label free", "none"),
        ("zero_shot", "none"),
        ("self-supervised", "none"),
        ("neighbor-labels", "neighbour-labels"),
        ("SUPERVISED", "supervised"),
        ("normals", "normals"),
        ("magic", None),
    ],
)
def test_spellings_of_a_supervision_mean_the_same_in_both_harnesses(text: str, meant: str | None) -> None:
    assert supervision_of(text) == eval_submission.supervision_of(text) == meant
    assert {k: str(v) for k, v in SPELLINGS.items()} == eval_submission.SPELLINGS


STATED = {"name": "a", "family": "f", "supervision": "none", "authors": "x"}


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ({**STATED, "supervision": "magic"}, "supervision 'magic' is not one of none"),
        ({**STATED, "method": "b"}, "'name' and 'method' differ"),
        ({**STATED, "arrays": "torch"}, "arrays 'torch' is not one of lists, numpy"),
        ({**STATED, "name": None}, "key 'name' is missing or empty"),
        (["name"], "must contain the keys name, family"),
    ],
)
def test_what_is_wrong_with_metadata_is_one_line(found: object, problem: str) -> None:
    (line,) = metadata_problems(found)
    assert line.startswith(problem)
