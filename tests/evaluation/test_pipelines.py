"""Embeddings, Normal-Residual, fusion, rerankers, names; and every method against a run on one level alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from readbench_data.errors import UsageError
from readbench_data.evaluation.kernels.gaussian_process import class_probabilities
from readbench_data.evaluation.methods.embedding import Embedder, residual, unit
from readbench_data.evaluation.methods.features import QUANTILES, Features, channel_features, quantiles
from readbench_data.evaluation.methods.fusion import Cascade, ReciprocalRank, min_max, ranks_of, scores_of
from readbench_data.evaluation.methods.registry import DEFAULT_SUITE, SHORT_LIST, method
from readbench_data.evaluation.methods.rerank import RERANKERS, VARIANTS
from readbench_data.evaluation.run.protocol import run_unit
from readbench_data.evaluation.task.release_data import LEVELS, Release
from readbench_data.evaluation.task.supervision import Supervision
from readbench_data.evaluation.task.task import Task, View
from readbench_data.evaluation.task.windows import Aligned


@pytest.fixture(scope="module")
def task(release: Path) -> Task:
    return Task.load(Release(release), "waves")


@pytest.mark.parametrize("name", DEFAULT_SUITE)
def test_every_level_equals_a_run_on_that_level_alone(task: Task, name: str) -> None:
    for rho in LEVELS:
        _, ranking, scores = run_unit(method(name), task, rho, 0)
        facts, alone, alone_scores = run_unit(method(name), task.only(rho), rho, 0)
        assert facts.status == "ok", facts.reason
        assert scores == pytest.approx(alone_scores, rel=1e-5, abs=1e-6)
        assert (ranking == alone).all()


def test_names_are_read_back_as_written() -> None:
    for name in {*DEFAULT_SUITE, *SHORT_LIST, "Features+NR|DTW-I|SAX-BM25+PRF+GPC", "ED>Features+MajVote"}:
        assert method(name).name == name
    assert method("features+nr|dtw-i+gpc").name == "Features+NR|DTW-I+GPC"
    assert method("Features+NR|DTW-I+GPC").space == method("Features+NR")  # type: ignore[attr-defined]
    assert method("DTW-I+GPC").space == Features()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("DTW-J", "did you mean DTW-I"),
        ("Features+NR|DTW+GPC", "unknown method 'DTW' in"),
        ("ED+NR", "'NR' needs an embedder"),
        ("ED+GPX", "did you mean GPC"),
        ("Features+GPC|ED", "'GPC' cannot follow 'Features'"),
        ("ED|DTW-I~SBD-I", "one kind of fusion"),
        ("ED+GPC+NR", "'NR' is not a reranker"),
        ("", "unknown method ''"),
    ],
)
def test_bad_names_say_what_is_wrong(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        method(name)


def test_supervision_is_the_strongest_of_the_parts() -> None:
    expected = {
        "ED": Supervision.NONE,
        "Features+NR": Supervision.NORMALS,
        "Features+NR|DTW-I": Supervision.NORMALS,
        "DTW-I+PRF": Supervision.NONE,
        "Features+NR+GPC": Supervision.NEIGHBOUR_LABELS,
        "Majority": Supervision.SUPERVISED,
    }
    assert {n: method(n).declared_supervision() for n in expected} == expected


def test_golden_normal_residual(golden: Callable[[str], Any]) -> None:
    case = golden("fusion_f1_bootstrap_nr")["normal_residual_k2"]
    normals = unit(np.array(case["normals"]))
    got = residual(unit(np.array([case["query"], case["candidate"]])), normals, 2)
    assert got[0] == pytest.approx(case["residual_query"], abs=1e-12)
    assert got[1] == pytest.approx(case["residual_candidate"], abs=1e-12)
    assert got[0] @ got[1] == pytest.approx(case["cosine"], abs=1e-12)


def test_normal_residual_edges() -> None:
    vectors = unit(np.array([[1.0, 2.0], [3.0, -1.0]]))
    assert residual(vectors, np.empty((0, 2)), 30) is vectors
    few = unit(np.array([[1.0, 0.0], [0.0, 1.0]]))
    assert residual(vectors, few, 30) == pytest.approx(unit(vectors - few.mean(axis=0)))
    assert residual(vectors[:1], vectors[:1], 1).tolist() == [[0.0, 0.0]]


def test_normal_residual_gets_the_same_reference_at_every_level(task: Task) -> None:
    sizes = {len(method("Features+NR").vectors(task.view(rho)).reference) for rho in LEVELS}  # type: ignore[attr-defined]
    assert sizes == {9}


def test_golden_reciprocal_rank_fusion(golden: Callable[[str], Any]) -> None:
    case = golden("fusion_f1_bootstrap_nr")["rrf_k60"]
    fused: dict[str, float] = {}
    for run in case["runs"]:
        ranks = ranks_of(np.arange(len(run))[None])[0]
        for item, rank in zip(run, ranks.tolist(), strict=True):
            fused[item] = fused.get(item, 0.0) + 1 / (60 + rank)
    assert fused == pytest.approx(case["hand"], abs=1e-12)
    assert sorted(fused, key=lambda i: -fused[i]) == case["order"]


def test_golden_min_max_of_a_constant_run_is_zero(golden: Callable[[str], Any]) -> None:
    case = golden("fusion_f1_bootstrap_nr")["wsum_minmax"]
    runs = [np.array([[run["a"], run["b"]]]) for run in case["constant_run_runs"]]
    fused = sum(w * min_max(r) for w, r in zip(case["constant_run_weights"], runs, strict=True))
    assert fused[0].tolist() == [case["constant_run_ranx"]["a"], case["constant_run_ranx"]["b"]]
    assert min_max(np.array([[-np.inf, 2.0, 4.0]])).tolist() == [[0.0, 0.0, 1.0]]


def test_fusions_on_the_task(task: Task) -> None:
    view = task.view(10)
    one, two = (method(n) for n in ("ED", "SBD-I"))
    orders = [view.rank(m.score(view, None)) for m in (one, two)]
    rrf = ReciprocalRank((one, two)).score(view, (None, None))
    by_hand = 1 / (60 + ranks_of(orders[0])) + 1 / (60 + ranks_of(orders[1]))
    assert rrf == pytest.approx(by_hand)
    cascade = view.rank(Cascade((one, two), first=5).score(view, (None, None)))
    assert (cascade[:, 5:] == orders[0][:, 5:]).all()
    for q in range(view.n_queries):
        head = set(orders[0][q, :5].tolist())
        assert cascade[q, :5].tolist() == [i for i in orders[1][q].tolist() if i in head]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_scores_of_an_order_give_it_back(n: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(n)[None]
    assert (np.argsort(-scores_of(order), axis=1) == order).all()


def test_golden_gpc(golden: Callable[[str], Any]) -> None:
    case = golden("gpc")
    x, queries = np.array(case["X"]), np.array(case["queries"])
    for setting in case["cases"].values():
        labels = np.array(setting["labels"])
        got = probabilities(x, queries, labels)
        assert got == pytest.approx(np.array(setting["sklearn"]), abs=1e-8)


def probabilities(x: np.ndarray, queries: np.ndarray, labels: np.ndarray) -> np.ndarray:
    kernel, to_query = RBF(1.0)(x), RBF(1.0)(queries, x)
    n = len(queries)
    return class_probabilities(
        np.repeat(kernel[None], n, 0),
        to_query,
        np.ones(n),
        np.repeat(labels[None], n, 0),
        np.full(n, labels.max() + 1),
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(6, 40), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_scikit_learn_agrees_on_gpc(classes: int, m: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, queries = rng.normal(size=(m, d)), rng.normal(size=(3, d))
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, m - classes)])
    peer = GaussianProcessClassifier(1.0 * RBF(1.0), optimizer=None).fit(x, labels).predict_proba(queries)
    assert probabilities(x, queries, labels) == pytest.approx(peer, abs=1e-9)


def test_one_class_in_the_pool_scikit_learn_refuses_ours_keeps_the_order() -> None:
    x = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(ValueError, match="2 or more distinct classes"):
        GaussianProcessClassifier(optimizer=None).fit(x, np.zeros(5))
    assert probabilities(x, x[:1], np.zeros(5, int)).tolist() == [[1.0]]


@pytest.mark.parametrize("code", [*RERANKERS, *VARIANTS])
def test_rerankers_only_reorder_their_candidates(task: Task, code: str) -> None:
    base = method("Features")
    assert isinstance(base, Embedder)
    view = task.view(20)
    before = view.rank(base.score(view, base.fit(view)))
    reranker = (RERANKERS | VARIANTS)[code](base=base, space=base, candidates=15)
    after = view.rank(reranker.score(view, reranker.fit(view)))
    assert (after[:, 15:] == before[:, 15:]).all()
    assert (np.sort(after[:, :15], axis=1) == np.sort(before[:, :15], axis=1)).all()
    normal = view.corpus_labels[after[:, :15]] == "Normal"
    if code in VARIANTS:
        assert (np.diff(normal.astype(int), axis=1) >= 0).all(), "Normal candidates are last in the variant only"


class Renamed(View):
    """A view whose Normal windows carry another class name."""

    @property
    def corpus_labels(self) -> np.ndarray:
        labels = super().corpus_labels
        return np.where(labels == "Normal", "another", labels)


@pytest.mark.parametrize("code", ["GPC", "MajVote", "Purity", "QPurity"])
def test_normal_is_a_class_like_any_other(task: Task, code: str) -> None:
    made, orders = method(f"Features+{code}"), []
    for view in (View(task, 20), Renamed(task, 20)):
        orders.append(view.rank(made.score(view, made.fit(view))))
    assert (View(task, 20).corpus_labels == "Normal").sum() == 9
    assert np.array_equal(*orders), "the name of a class decides nothing"
    faults = method(f"Features+{code}-faults")
    assert faults.name == f"Features+{code}-faults"
    assert faults.parameters() != method(f"Features+{code}").parameters()


def test_majority_vote_puts_the_class_of_the_first_ten_first(task: Task) -> None:
    view = task.view(0)
    base = Features()
    before = view.rank(base.score(view, base.fit(view)))
    vote = method("Features+MajVote")
    after = view.rank(vote.score(view, vote.fit(view)))
    for q in range(view.n_queries):
        names, counts = np.unique(view.corpus_labels[before[q, :10]], return_counts=True)
        if np.sum(counts == counts.max()) == 1:
            assert view.corpus_labels[after[q, 0]] == names[counts.argmax()]


def test_features_are_finite_for_any_window_and_blind_to_what_is_absent(build: Any, tmp_path: Path) -> None:
    for length in (1, 2, 3, 17):
        spec = build.simple(5, length=length)
        spec.items["queries"][0].values[:] = 0
        task = Task.load(Release(build.write(tmp_path / str(length), {"d": spec})), "d")
        assert np.isfinite(channel_features(task.aligned_queries)).all()
        scores = Features().score(task.view(0), None)
        assert np.isfinite(scores).all()
        assert (np.abs(scores) <= 1 + 1e-9).all()


@pytest.mark.parametrize("length", [1, 2, 3, 7, 256, 1001])
def test_quantiles_of_sorted_values_are_numpys_to_the_last_bit(length: int) -> None:
    values = np.random.default_rng(length).normal(size=(5, 3, length)).astype(np.float32)
    expected = np.quantile(values.astype(np.float64), QUANTILES, axis=2)
    assert np.array(quantiles(np.sort(values, axis=2), QUANTILES)).tolist() == expected.tolist()


@pytest.mark.parametrize("channels", [1, 3])
def test_features_leave_the_windows_as_they_are_and_see_one_zero(channels: int) -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random((4, 40, channels)) < 0.5, 0.0, rng.normal(size=(4, 40, channels))).astype(np.float32)
    values[:, :20] -= values[:, :20].mean(axis=1, keepdims=True)
    values[1] = 0.0
    signed = np.where(values == 0, np.float32(-0.0), values)
    assert np.signbit(signed).sum() > np.signbit(values).sum()
    kept = values.copy()
    present, names = np.ones((4, channels), bool), tuple(map(str, range(channels)))
    plain, other = (channel_features(Aligned(v, present, names)) for v in (values, signed))
    assert values.tobytes() == kept.tobytes()
    assert plain.tolist() == other.tolist()
