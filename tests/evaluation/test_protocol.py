"""The protocol end to end on synthetic releases: rows, resume, failures, ties, nesting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from readbench_data.errors import UsageError
from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.board.text import to_markdown, to_text
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.euclidean import Euclidean
from readbench_data.evaluation.methods.registry import method_names
from readbench_data.evaluation.run.protocol import evaluate, evaluate_methods, run_unit
from readbench_data.evaluation.scoring.metrics import n_relevant, random_expectation
from readbench_data.evaluation.scoring.ties import rank, tie_keys
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task, View


def value(rows: pl.DataFrame, **where: object) -> float:
    picked = rows.filter(*(pl.col(k) == v for k, v in where.items()))
    assert picked.height == 1, picked
    return float(picked["value"][0])


def test_rows_for_every_method_dataset_level_and_metric(release: Path, tmp_path: Path) -> None:
    result = evaluate(release, tmp_path, ["Random", "Majority", "ED"])
    units = result.rows.unique(["method", "dataset", "rho"])
    assert units.height == 3 * 3 * 3
    assert result.counts() == {"ok": 18, "no_data": 9}
    absent = result.rows.filter(pl.col("dataset") == "absent")
    assert absent["value"].null_count() == absent.height
    assert set(absent["reason"]) == {"not in the mirror"}
    assert result.per_query.height == 3 * 2 * 3 * 9


def test_random_is_its_exact_expectation(release: Path, tmp_path: Path) -> None:
    rows = evaluate(release, tmp_path, ["Random"]).rows
    for rho, size in ((0, 36), (10, 40), (20, 45)):
        got = value(rows, dataset="waves", rho=rho, metric="precision", k=10)
        assert got == pytest.approx(12 / size, abs=1e-12)
        expected = random_expectation(size, np.full(9, 12))["ndcg", 10].mean()
        assert value(rows, dataset="waves", rho=rho, metric="ndcg", k=10) == pytest.approx(expected)


def test_euclidean_beats_random_on_waves_and_majority_does_not(release: Path, tmp_path: Path) -> None:
    rows = evaluate(release, tmp_path, ["Random", "Majority", "ED"]).rows
    scores = {m: value(rows, method=m, dataset="waves", rho=0, metric="ndcg", k=10) for m in rows["method"].unique()}
    assert scores["ED"] > scores["Random"] + 0.3
    assert scores["Majority"] == pytest.approx(1 / 3)  # all of A first: right for the three queries of class A


def test_a_rerun_does_no_work(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate(release, tmp_path, ["ED"]).rows
    monkeypatch.setattr(Task, "load", classmethod(lambda cls, *a: pytest.fail("a stored unit was run again")))
    said: list[str] = []
    again = evaluate(release, tmp_path, ["ED"], progress=said.append).rows
    assert again.equals(first)
    assert "all stored" in said[0]


def test_only_missing_units_are_run(release: Path, tmp_path: Path) -> None:
    evaluate(release, tmp_path, ["ED"])
    units = sorted((tmp_path / "units" / "waves").glob("ED*.npz"))
    before = {u: u.stat().st_mtime_ns for u in units}
    units[1].unlink()
    units[2].write_bytes(b"PK half a file")
    evaluate(release, tmp_path, ["ED"])
    after = {u: u.stat().st_mtime_ns for u in units}
    assert after[units[0]] == before[units[0]]
    assert after[units[1]] != before[units[1]]
    assert after[units[2]] != before[units[2]]


def test_the_latest_result_of_an_identity_counts_once(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = evaluate(release, tmp_path, ["ED"], ["waves"]).rows
    monkeypatch.setattr(Euclidean, "code_version", lambda self: "newer")
    monkeypatch.setattr(Euclidean, "score", lambda self, view, fitted: np.zeros((view.n_queries, view.n_corpus)))
    evaluate(release, tmp_path, ["ED"], ["waves"])
    assert len(list((tmp_path / "units" / "waves").glob("ED*.npz"))) == 6  # both versions are kept
    rows = leaderboard(release, tmp_path).result.rows.filter(pl.col("dataset") == "waves")
    assert rows.height == first.height
    assert set(rows["code_version"]) == {"newer"}
    now = value(rows, rho=0, metric="ndcg_tie_averaged", k=10)
    assert now == pytest.approx(random_expectation(36, np.array([12]))["ndcg", 10][0])  # all tied


@dataclass(frozen=True)
class Broken(Method):
    message: str = "sensor on fire"

    @property
    def name(self) -> str:
        return "Broken"

    def score(self, view: object, fitted: object) -> np.ndarray:
        raise RuntimeError(self.message)


def test_a_failing_method_is_a_row_and_the_others_go_on(release: Path, tmp_path: Path) -> None:
    result = evaluate_methods(release, tmp_path, [Broken(), Euclidean()], ["waves"])
    assert result.counts() == {"failed": 3, "ok": 3}
    failed = result.rows.filter(pl.col("status") == "failed")
    assert set(failed["reason"]) == {"RuntimeError: sensor on fire"}
    board = leaderboard(release, tmp_path)
    assert board.macro()["method"].to_list() == ["ED", "Broken"]  # what has no value is last, never first
    assert "Broken on waves at 0 %: RuntimeError: sensor on fire" in to_text(board)


def test_a_method_on_fewer_datasets_stands_below_those_on_all(release: Path, tmp_path: Path) -> None:
    """To fail where it is hard must not raise a method's place: Majority on the one dataset where it is best."""
    whole = evaluate_methods(release, tmp_path, [Euclidean()])
    assert whole.counts()["ok"] > 3
    best = leaderboard(release, tmp_path).cells().filter(rho=0).sort("value")["dataset"].to_list()
    evaluate(release, tmp_path, ["Features"], [d for d in best if d != "absent"][-1:])
    macro = leaderboard(release, tmp_path).macro()
    assert macro["method"].to_list() == ["ED", "Features"]
    assert macro["complete"].to_list() == [True, False]
    assert macro["rho0"][1] >= macro["rho0"][0], "its mean is higher, over fewer"


def test_scores_that_are_not_numbers_fail(release: Path) -> None:
    @dataclass(frozen=True)
    class NotANumber(Broken):
        def score(self, view: object, fitted: object) -> np.ndarray:
            return np.full((9, 36), np.nan)

    facts, ranking, _ = run_unit(NotANumber(), Task.load(Release(release), "waves"), 0, 0)
    assert facts.status == "failed"
    assert facts.reason is not None
    assert "NaN" in facts.reason
    assert ranking is None


def test_unknown_names_are_usage_errors_with_close_names(release: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean Majority"):
        evaluate(release, tmp_path, ["Majorty"])
    with pytest.raises(UsageError, match="unknown dataset 'wave'"):
        evaluate(release, tmp_path, ["ED"], ["wave"])
    with pytest.raises(UsageError, match="no release here"):
        evaluate(tmp_path / "nothing", tmp_path, ["ED"])
    assert {"Random", "Majority", "ED"} <= set(method_names())


def test_ties_follow_the_entry_not_the_position() -> None:
    ids = [f"entry-{i}" for i in range(50)]
    flat = np.zeros((1, 50))
    order = [ids[i] for i in rank(flat, tie_keys(ids))[0]]
    turned = ids[::-1]
    assert [turned[i] for i in rank(flat, tie_keys(turned))[0]] == order
    assert order != ids
    assert order != turned
    assert rank(np.array([[-np.inf, 1.0, 0.5]]), tie_keys(ids[:3])).tolist() == [[1, 2, 0]]


def test_a_ranking_is_a_permutation_by_descending_score(release: Path) -> None:
    task = Task.load(Release(release), "waves")
    for rho, size in ((0, 36), (10, 40), (20, 45)):
        _, ranking, scores = run_unit(Euclidean(), task, rho, 0)
        assert ranking is not None
        assert scores is not None
        assert ranking.dtype == np.int32
        assert ranking.shape == (9, size)
        assert (np.sort(ranking, axis=1) == np.arange(size)).all()
        assert (np.diff(np.take_along_axis(scores, ranking.astype(np.int64), axis=1), axis=1) <= 0).all()


def test_standardisation_never_sees_a_query_nor_the_level(release: Path, build: object, tmp_path: Path) -> None:
    task = Task.load(Release(release), "waves")
    assert task.only(0).scale == task.scale
    shifted = build.simple(0)  # type: ignore[attr-defined]
    for item in shifted.items["queries"]:
        item.values += 1000
    other = Task.load(Release(build.write(tmp_path, {"waves": shifted})), "waves")  # type: ignore[attr-defined]
    assert other.scale == task.scale


def test_queries_without_a_relevant_entry_count_zero_and_are_reported(build: object, tmp_path: Path) -> None:
    spec = build.simple(0)  # type: ignore[attr-defined]
    spec.items["queries"][0].class_label = "Z"
    rows = evaluate(build.write(tmp_path / "r", {"waves": spec}), tmp_path, ["ED"]).rows  # type: ignore[attr-defined]
    assert set(rows["n_no_relevant"]) == {1}
    assert value(rows, rho=0, metric="hit_rate", k=20) == pytest.approx(8 / 9)


def test_the_text_board_marks_what_a_reader_must_know(build: object, tmp_path: Path) -> None:
    mini, part = build.simple(0), build.simple(1, normals=(0, 0))  # type: ignore[attr-defined]
    mini.manifest["origin"] = "miniature"
    part.manifest.update(origin="mirror", partial=True)
    root = build.write(tmp_path / "r", {"waves": mini, "plain": part})  # type: ignore[attr-defined]
    assert "no results are stored" in to_text(leaderboard(root, tmp_path))
    evaluate(root, tmp_path, ["Random", "ED"])
    text = to_text(leaderboard(root, tmp_path))
    assert text.startswith("*** built from miniatures: not READ-Bench results ***")
    assert "mirror, partial data, no Normal windows: same corpus at all levels" in text
    assert "2/2" in text
    assert "no data" not in text
    evaluate(root, tmp_path, ["ED"], ["plain"])
    assert np.isfinite(n_relevant(np.array(["A"]), np.array(["A", "B"]))).all()


def test_tables_show_only_datasets_with_data_by_their_full_names(build: object, tmp_path: Path) -> None:
    names = [f"a_dataset_with_a_long_name_{i}" for i in range(5)]
    gone = {name: {"status": "not_selected", "reason": None} for name in ("gone_a", "gone_b")}
    gone["gone_c"] = {"status": "no_data", "reason": "not in the mirror"}
    specs = {n: build.simple(i) for i, n in enumerate(names)} | gone  # type: ignore[attr-defined]
    root = build.write(tmp_path / "r", specs)  # type: ignore[attr-defined]
    evaluate(root, tmp_path, ["Random", "ED"])
    board = leaderboard(root, tmp_path)
    assert board.with_data == tuple(names)
    text = to_text(board)
    tables, data = text.split("\ndata\n")
    assert "gone" not in tables
    assert re.findall(r"\d/\d", tables) == ["5/5", "5/5"]
    heads = [line.split() for line in tables.splitlines() if line.startswith("method ")]
    assert heads[1:] == [["method", *names[:3]], ["method", *names[3:]]] * 3
    assert max(len(line) for line in text.splitlines()) <= 110
    assert data.splitlines()[5:] == [
        f"  {'no data':{len(names[0])}}  gone_a, gone_b (not selected for this build)",
        f"  {'no data':{len(names[0])}}  gone_c (not in the mirror)",
    ]
    assert to_markdown(board).endswith(
        "- no data: gone_a, gone_b (not selected for this build)\n- no data: gone_c (not in the mirror)\n"
    )


def test_what_is_kept_at_a_level_is_made_once_and_costs_every_user_the_same(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0], process_time=lambda: now[0])
    for module in ("task.task", "task.arrays"):
        monkeypatch.setattr(f"readbench_data.evaluation.{module}.time", clock)
    task = Task.load(Release(release), "waves")
    made: list[str] = []

    def make(name: str, seconds: int) -> np.ndarray:
        made.append(name)
        now[0] += seconds
        return np.zeros(1)

    def inner(view: View) -> np.ndarray:
        return view.at_level("inner", lambda: view.shared("array", lambda: make("array", 3)) + make("inner", 5))

    def outer(view: View) -> np.ndarray:
        return view.at_level("outer", lambda: inner(view) + make("outer", 7))

    first, second, third = (task.view(10) for _ in range(3))
    outer(first)
    assert first.reused_wall_s == 0.0
    outer(second)
    inner(second)  # has been counted as part of outer
    inner(third)
    assert made == ["array", "inner", "outer"]
    assert second.reused_wall_s == 15
    assert third.reused_wall_s == 8
    inner(task.view(20))
    assert made == ["array", "inner", "outer", "inner"]
