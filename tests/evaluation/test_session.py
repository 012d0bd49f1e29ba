"""A session reads each dataset, each table of labels and each stored unit once, and gives the same rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assets.evaluation import _session, forget_session
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.run import results
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.run.pruning import prune_shared
from readbench_data.evaluation.run.results import EvaluationResult
from readbench_data.evaluation.run.results_store import ResultsStore
from readbench_data.evaluation.run.session import Session
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task

FAMILIES = (["Random", "Majority"], ["ED"], ["Features"], ["Features+GPC"])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """What is read or computed, counted."""
    count: Counter[str] = Counter()

    def watched(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*args: Any) -> Any:
            count[name] += 1
            return original(*args)

        monkeypatch.setattr(owner, name, staticmethod(call) if owner is ResultsStore or owner is Task else call)

    watched(Task, "load")
    watched(ResultsStore, "_parse")
    watched(Release, "_read_labels")
    watched(results, "_unit_rows")
    return count


def families(release: Path, out: Path, session: Session | None) -> EvaluationResult:
    """What the assets of a run do: every family, then all results, then the leaderboard."""
    for methods in FAMILIES:
        evaluate(release, out, methods, session=session)
    prune_shared(out, [release], session.store if session else None)
    leaderboard(release, out, session)
    return leaderboard(release, out, session).result


def test_each_dataset_and_each_unit_is_read_once(release: Path, tmp_path: Path, read: Counter[str]) -> None:
    shared = families(release, tmp_path / "shared", Session.open(release, tmp_path / "shared"))
    units = 5 * 2 * 3  # methods, datasets with data, levels
    labels = 2 + 2  # for the labels alone, and with the windows: the same call, made once per dataset
    assert read["load"] == 2
    assert read["_read_labels"] <= labels
    assert read["_parse"] == read["_unit_rows"] == units
    alone = families(release, tmp_path / "alone", None)
    assert read["load"] == 2 + 2 * len(FAMILIES)
    assert shared.per_query.equals(alone.per_query)
    same = [c for c in shared.rows.columns if not c.endswith(("_s", "_mb")) and c != "created"]
    assert shared.rows.select(same).equals(alone.rows.select(same))


def test_a_stored_unit_that_changes_is_read_again(release: Path, tmp_path: Path) -> None:
    session = Session.open(release, tmp_path)
    before = evaluate(release, tmp_path, ["ED"], session=session)
    unit = min((tmp_path / "units" / "waves").glob("ED*.npz"))
    unit.write_bytes(b"PK half a file")
    assert evaluate(release, tmp_path, ["ED"], ["plain"], session=session).counts() == {"ok": 3}
    assert leaderboard(release, tmp_path, session).result.counts() == {"ok": 5, "not_run": 1, "no_data": 3}
    again = evaluate(release, tmp_path, ["ED"], session=session)
    assert again.counts() == before.counts()
    assert again.per_query.equals(before.per_query)


def test_datasets_beyond_the_limit_are_loaded_each_time(release: Path, tmp_path: Path, read: Counter[str]) -> None:
    session = Session(Release(release), ResultsStore(tmp_path), limit=0)
    for methods in (["ED"], ["Majority"]):
        evaluate(release, tmp_path, methods, session=session)
    assert read["load"] == 4


def test_the_assets_of_one_run_share_a_session(release: Path, tmp_path: Path) -> None:
    first = _session("run 1", release, tmp_path)
    assert _session("run 1", release, tmp_path) is first
    assert _session("run 2", release, tmp_path) is not first
    forget_session()
    assert _session.cache_info().currsize == 0
