"""Metrics against golden values, peers and enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, ndcg_score

from readbench_data.evaluation.scoring.metrics import (
    CUTOFFS,
    macro_f1,
    n_relevant,
    predict_labels,
    random_expectation,
    ranking_metrics,
    relevance,
    tie_averaged_gain,
)

SHORT = {"ndcg": "ndcg", "p": "precision", "hr": "hit_rate"}


def test_golden_rankings(golden: Callable[[str], Any]) -> None:
    for case in golden("ranking_metrics")["cases"]:
        got = ranking_metrics(np.array([case["rel_at_rank"]]), np.array([case["n_relevant_in_corpus"]]))
        for k, row in case["expected"].items():
            for short, expected in row.items():
                mine = got[SHORT[short.lower()], int(k)][0]
                assert mine == pytest.approx(expected or 0.0, abs=1e-9), (case["name"], k, short)


def test_golden_random_expectation(golden: Callable[[str], Any]) -> None:
    for case in golden("random_baseline")["cases"]:
        got = random_expectation(case["N"], np.array([case["R"]]))
        for k, row in case["expected"].items():
            for short, expected in row.items():
                assert got[SHORT[short.lower()], int(k)][0] == pytest.approx(expected, abs=1e-12)


def test_random_expectation_by_enumeration() -> None:
    n, r = 6, 2
    orders = np.array(list(permutations([1] * r + [0] * (n - r))))
    got = ranking_metrics(orders, np.full(len(orders), r))
    expected = random_expectation(n, np.array([r]))
    for key, per_order in got.items():
        assert expected[key][0] == pytest.approx(per_order.mean(), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_trec_eval_and_ir_measures_agree_on_untied_rankings(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corpus = rng.choice(["A", "B", "Normal"], n)
    truth = np.array(["A", "B"])
    ranking = np.array([rng.permutation(n) for _ in truth])
    got = ranking_metrics(relevance(ranking, truth, corpus), n_relevant(truth, corpus))
    qrels = {q: {str(i): int(corpus[i] == q) for i in range(n)} for q in truth.tolist()}
    run = {q: {str(i): float(n - place) for place, i in enumerate(ranking[j])} for j, q in enumerate(truth.tolist())}
    cuts = ",".join(map(str, CUTOFFS))
    trec = pytrec_eval.RelevanceEvaluator(qrels, {f"ndcg_cut.{cuts}", f"P.{cuts}", f"success.{cuts}"}).evaluate(run)
    names = {"ndcg": "ndcg_cut_{}", "precision": "P_{}", "hit_rate": "success_{}"}
    for (metric, k), values in got.items():
        assert values == pytest.approx([trec[q][names[metric].format(k)] for q in truth.tolist()], abs=1e-9)
    peer = ir_measures.calc_aggregate([ir_measures.nDCG @ 10, ir_measures.P @ 5], qrels, run)
    assert got["ndcg", 10].mean() == pytest.approx(peer[ir_measures.nDCG @ 10], abs=1e-9)
    assert got["precision", 5].mean() == pytest.approx(peer[ir_measures.P @ 5], abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_tie_averaged_ndcg_is_scikit_learns(n: int, levels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    corpus = rng.choice(["A", "B"], n)
    corpus[0] = "A"
    scores = rng.integers(0, levels, (1, n)).astype(float)
    truth = np.array(["A"])
    ranking = np.argsort(-scores, axis=1)
    got = ranking_metrics(tie_averaged_gain(ranking, scores, truth, corpus), n_relevant(truth, corpus))
    for k in CUTOFFS:
        peer = ndcg_score([(corpus == "A").astype(float)], scores, k=k)
        assert got["ndcg", k][0] == pytest.approx(peer, abs=1e-9)


def test_disagreement_trec_eval_keeps_scores_as_float32_and_reverses_close_ones() -> None:
    """Scores 1e-9 apart are one float32: trec_eval then orders by document id, descending. Ours keeps float64."""
    n = 12
    scores = 0.5 + 1e-9 * np.arange(n, 0, -1)
    corpus = np.array(["A"] * 3 + ["B"] * (n - 3))
    ranking = np.argsort(-scores)[None]
    mine = ranking_metrics(relevance(ranking, np.array(["A"]), corpus), np.array([3]))["ndcg", 3][0]
    qrels = {"q": {f"d{i:02d}": int(c == "A") for i, c in enumerate(corpus)}}
    run = {"q": {f"d{i:02d}": float(s) for i, s in enumerate(scores)}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.3"}).evaluate(run)["q"]["ndcg_cut_3"]
    assert mine == 1.0
    assert trec == 0.0


def test_a_normal_query_has_nothing_relevant() -> None:
    corpus = np.array(["Normal", "Normal", "A"])
    truth = np.array(["Normal"])
    assert n_relevant(truth, corpus).tolist() == [0]
    assert not relevance(np.array([[0, 1, 2]]), truth, corpus).any()


def test_golden_macro_f1(golden: Callable[[str], Any]) -> None:
    for case in golden("fusion_f1_bootstrap_nr")["macro_f1"]["cases"]:
        got = macro_f1(np.array(case["y_true"]), np.array(case["y_pred"]))
        assert got == pytest.approx(case["sklearn_macro_labels_true_only"], abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["A", "B", "Normal"])), min_size=1, max_size=30))
def test_macro_f1_is_scikit_learns_with_the_labels_of_the_queries(pairs: list[tuple[str, str]]) -> None:
    truth, predicted = (np.array(x) for x in zip(*pairs, strict=True))
    peer = f1_score(truth, predicted, labels=np.unique(truth), average="macro", zero_division=0)
    assert macro_f1(truth, predicted) == pytest.approx(peer)


def test_majority_of_ten_breaks_ties_by_the_better_rank() -> None:
    corpus = np.array(["B", "A", "A", "B", "C"])
    assert predict_labels(np.array([[0, 1, 2, 3, 4]]), corpus, 10).tolist() == ["B"]
    assert predict_labels(np.array([[1, 0, 2, 3, 4]]), corpus, 1).tolist() == ["A"]
