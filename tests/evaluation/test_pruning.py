"""Shared arrays: kept while a result of a release that is there was made with them, removed after."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.elastic import DTWI
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.run.pruning import prune_shared
from readbench_data.evaluation.run.results_store import FRESH_S

METHODS = ["DTW-I", "Features+NR", "Features|DTW-I", "DTW-I+GPC"]


def shared(out: Path) -> set[str]:
    return {f"{p.parent.name}/{p.name}" for p in (out / "shared").glob("*/*")}


def age(out: Path) -> None:
    """All files are older than what is left alone."""
    for file in (out / "shared").glob("*/*"):
        os.utime(file, (file.stat().st_mtime - 2 * FRESH_S,) * 2)


@pytest.fixture
def evaluated(build: Any, tmp_path: Path) -> tuple[Path, Path]:
    root, out = tmp_path / "release", tmp_path / "out"
    build.write(root, {"waves": build.simple(0)})
    evaluate(root, out, METHODS)
    age(out)
    return root, out


def test_what_the_results_were_made_with_stays(evaluated: tuple[Path, Path]) -> None:
    root, out = evaluated
    before = shared(out)
    assert len(before) == 3  # one matrix of distances; features of queries and corpus, which holds the normal reference
    assert prune_shared(out, [root]) == []
    assert shared(out) == before


def test_arrays_of_data_that_are_gone_are_removed_and_results_stay(
    evaluated: tuple[Path, Path], build: Any, tmp_path: Path
) -> None:
    root, out = evaluated
    old, units = shared(out), set(out.glob("units/*/*"))
    other = build.write(tmp_path / "other", {"waves": build.simple(5)})
    evaluate(other, out, ["DTW-I"])
    assert prune_shared(out, [root, other]) == []
    removed = prune_shared(out, [other])
    assert {f"{p.parent.name}/{p.name}" for p in removed} == old
    assert len(shared(out)) == 1
    assert units < set(out.glob("units/*/*"))
    said: list[str] = []
    evaluate(root, out, METHODS, progress=said.append)  # the old release comes back: nothing is run again
    assert said == ["waves: 4 methods, all stored"]


def test_arrays_of_an_earlier_version_of_the_code_are_removed(
    evaluated: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, out = evaluated
    old = shared(out)
    unchanged = Method.code_version

    def changed(self: Method) -> str:
        return "changed" if any(isinstance(part, DTWI) for part in self.parts()) else unchanged(self)

    monkeypatch.setattr(Method, "code_version", changed)
    evaluate(root, out, METHODS)
    age(out)
    assert len(shared(out)) == len(old) + 1
    removed = prune_shared(out, [root])
    assert len(removed) == 1
    assert f"waves/{removed[0].name}" in old


def test_a_young_file_is_left_to_the_run_that_wrote_it(evaluated: tuple[Path, Path]) -> None:
    root, out = evaluated
    written = out / "shared" / "waves" / "0123.npz"
    written.write_bytes(b"by a run that is going on")
    assert prune_shared(out, [root]) == []
    age(out)
    assert prune_shared(out, [root]) == [written]


def test_nothing_is_removed_when_a_release_cannot_be_read(evaluated: tuple[Path, Path], tmp_path: Path) -> None:
    root, out = evaluated
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    assert prune_shared(out, [broken]) == []
    assert prune_shared(out, [root, tmp_path / "nowhere"]) == []
    assert len(shared(out)) == 3
