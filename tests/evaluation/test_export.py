"""The exported results repository: its own scripts agree with this harness."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission import Limits, export, new, run_submission, verify_submission
from readbench_data.evaluation.submission.board import checks
from readbench_data.evaluation.submission.contract import problems
from readbench_data.evaluation.submission.repository import repository_board
from readbench_data.evaluation.submission.results_file import ResultsFile
from readbench_data.evaluation.task.supervision import Supervision
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
    assert done.stderr.splitlines() == [
        f"{example}/requirements.txt: file is missing",
        f"{example}/method.py, line 1: rank must take two arguments, (query, corpus)",
    ]
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
    "wants more": "def rank(query, corpus, k=10):\n    return list(range(len(corpus)))[:k]\n",
    "exits": "import sys\n\ndef rank(query, corpus):\n    sys.exit('enough')\n",
    "imports": "import nothing_like_this\n\ndef rank(query, corpus):\n    return []\n",
    "dies": "import os\n\ndef rank(query, corpus):\n    os._exit(3)\n",
    "fields": """
import hashlib

def rank(query, corpus):
    seen = [sorted((key, type(value).__name__, repr(value)) for key, value in one.items()) for one in [query, *corpus]]
    raise ValueError(hashlib.sha256(repr(seen).encode()).hexdigest())
""",
    "files": """
import method
import table

COUNT = table.first()

def rank(query, corpus):
    assert method.COUNT == COUNT == 1, COUNT  # imported anew for every dataset and level
    means = [sum(map(sum, entry["ts_values"])) for entry in corpus]
    return sorted(range(len(corpus)), key=lambda i: means[i])
""",
}
REFUSED = ("bad", "wants more", "exits", "imports", "dies", "fields")
TABLE = """
import builtins

def first():
    builtins.calls = getattr(builtins, "calls", 0) + 1
    return builtins.calls
"""
"""A module next to method.py that counts, in its process, how often it was asked."""


@pytest.fixture
def scripts(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The exported eval_submission.py, imported from its repository; imports of datasets are shared by the tests."""
    import datasets.config

    export(tmp_path / "repo")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", shared_folder(tmp_path_factory) / "datasets-cache")
    monkeypatch.syspath_prepend(str(tmp_path / "repo"))
    for name in ("checks", "eval_submission"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("eval_submission")
    for name in ("checks", "eval_submission"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", list(METHODS))
def test_both_harnesses_give_the_same_numbers_or_the_same_refusal(
    name: str, lite: Built, tmp_path: Path, scripts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "submission"
    new(folder, name.replace(",", ""))
    (folder / "method.py").write_text(METHODS[name])
    (folder / "table.py").write_text(TABLE)
    meta = (folder / "metadata.yaml").read_text()
    changed = meta.replace("name:", "method:").replace("supervision: none", "supervision: Label-free")
    if name == "numpy, declared":
        changed = changed.replace("arrays: lists ", "arrays: numpy ")
    (folder / "metadata.yaml").write_text(changed)
    results = folder / "results.json"

    monkeypatch.setattr(sys, "argv", ["eval_submission.py", "--submission", str(folder), "--data", str(lite.release)])
    with pytest.raises(SystemExit) as ended:
        scripts.main()
    assert ended.value.code == (1 if name in REFUSED else 0)
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
        assert row.status == other.status == ("failed" if name in REFUSED else "ok")
        if row.value is None or other.value is None:
            assert name in REFUSED
            assert row.value is other.value
            timed = re.sub(r" after [\d.]+ s\)$", ")", row.reason or "")  # only this harness says how long it took
            assert timed == other.reason
        else:
            assert (row.reason, row.value) == (other.reason, pytest.approx(other.value, abs=1e-12))
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


def test_a_board_refuses_what_no_harness_can_have_written(lite: Built, tmp_path: Path) -> None:
    folder = tmp_path / "submissions" / "one"
    new(folder, "one")
    (folder / "method.py").write_text("def rank(query, corpus):\n    return list(range(len(corpus)))\n")
    run_submission(folder, lite.release, tmp_path / "out", mode="official", datasets=["ctsr"], limits=QUICK)
    path = folder / "results.json"
    sound = json.loads(path.read_text())
    assert repository_board(tmp_path, lite.release)[1] == []
    row = sound["results"][0]
    forged = {
        "results.0.method is not a known field": {"results": [{**row, "method": "ED"}, *sound["results"][1:]]},
        "ndcg@1 of ctsr at 0 % is in it more than once": {"results": [*sound["results"], {**row, "value": 1.0}]},
        "it states another name than metadata.yaml": {"name": "two"},
        "it states another family and supervision than": {"family": "x", "supervision": str(Supervision.SUPERVISED)},
    }
    for said, change in forged.items():
        path.write_text(json.dumps({**sound, **change}))
        _, (note,) = repository_board(tmp_path, lite.release)
        assert note.startswith(f"{path}: ")
        assert said in note
    path.write_text("[]")
    assert len(repository_board(tmp_path, lite.release)[1]) == 1


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
def test_the_spellings_of_a_supervision(text: str, meant: str | None) -> None:
    assert checks.supervision_of(text) == meant
    assert set(checks.SPELLINGS.values()) == {*map(str, Supervision)} == {*checks.SUPERVISIONS}


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
    (line,) = checks.metadata_problems(found)
    assert line.startswith(problem)


@pytest.mark.parametrize("name", ["ED", "euclidean", "Features + NR | DTW-I + GPC", "dtw_i"])
def test_a_name_of_the_benchmark_is_refused_by_both_harnesses(name: str, tmp_path: Path) -> None:
    export(tmp_path / "repo")
    folder = tmp_path / "repo" / "submissions" / "mine"
    new(folder, name)
    (line,) = problems(folder)
    assert line.endswith(f"name {name!r} belongs to a method of this project; choose another")
    done = call(tmp_path / "repo", "--submission", str(folder))
    assert (done.returncode, done.stderr) == (1, f"{line}\n")


def test_validate_says_what_a_supervision_was_taken_for(tmp_path: Path) -> None:
    export(tmp_path / "repo")
    folder = tmp_path / "repo" / "example_submission"
    meta = folder / "metadata.yaml"
    meta.write_text(meta.read_text().replace("supervision: none", "supervision: zero-shot"))
    taken = "supervision 'zero-shot' is taken as none"
    assert readbench("submission", "validate", folder).out == f"{folder}: is a valid submission; {taken}\n"
    assert call(tmp_path / "repo", "--submission", str(folder)).stdout == f"structure: ok ({taken})\n"
