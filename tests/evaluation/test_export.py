"""The exported results repository: its own scripts agree with this harness."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission import export, run_submission
from readbench_data.evaluation.submission.board import eval_submission


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


def test_both_harnesses_give_the_same_numbers(release: Path, tmp_path: Path) -> None:
    export(tmp_path / "repo")
    example = tmp_path / "repo" / "example_submission"
    rows = run_submission(example, release, tmp_path / "out", mode="official", datasets=["waves"]).rows
    assert json.loads((example / "results.json").read_text())["mode"] == "official"
    data = release / "data" / "waves"
    queries = pq.read_table(data / "queries.parquet").to_pylist()
    names = ("corpus-anomalies", "corpus-normals-10", "corpus-normals-20")
    rank = eval_submission.load_rank(str(example))
    for i, rho in enumerate((0, 10, 20)):
        corpus: Any = pa.concat_tables([pq.read_table(data / f"{n}.parquet") for n in names[: i + 1]]).to_pylist()
        theirs = eval_submission.evaluate(rank, queries, corpus, shows_classes=False)
        for metric, k in (("ndcg", 10), ("precision", 5), ("hit_rate", 1), ("ndcg", 20)):
            ours = rows.filter((pl.col("metric") == metric) & (pl.col("k") == k) & (pl.col("rho") == rho))["value"][0]
            assert ours == pytest.approx(theirs[f"{metric}@{k}"], abs=1e-9)
