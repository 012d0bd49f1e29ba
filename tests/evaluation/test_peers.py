"""Where libraries disagree with ours or with each other, one test a disagreement: what each gives, and who is right."""

from __future__ import annotations

import ir_measures
import numpy as np
import pytest
import pytrec_eval
from aeon.distances import dtw_distance
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, ndcg_score
from tslearn.metrics import cdist_normalized_cc

from readbench_data.evaluation.kernels.dtw_independent import dtw_independent
from readbench_data.evaluation.kernels.sbd import sbd_dependent
from readbench_data.evaluation.scoring.metrics import (
    macro_f1,
    n_relevant,
    ranking_metrics,
    relevance,
    tie_averaged_gain,
)
from readbench_data.evaluation.scoring.ties import rank, tie_keys


@settings(max_examples=20)
@given(st.integers(4, 40), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_tslearn_agrees_on_sbd_d(length: int, channels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, length, channels)), rng.normal(size=(3, length, channels))
    norms = [np.linalg.norm(a, axis=(1, 2)) for a in (x, y)]
    peer = 1 - cdist_normalized_cc(x, y, norms1=norms[0], norms2=norms[1], self_similarity=False)
    assert sbd_dependent(x, y, np.float64) == pytest.approx(peer, abs=1e-9)


def test_disagreement_sums_of_squares_and_sums_of_roots_rank_differently() -> None:
    """DTW-I adds channels up. aeon's cost is the square, dtaidistance's and tslearn's its root: of two windows one is
    nearer by either. Ours adds squares, as the multichannel cost does on one path; both are called DTW-I."""
    query = np.zeros((1, 1, 2))
    corpus = np.array([[[3.0, 0.0]], [[2.0, 2.0]]])  # squares 9 and 8, roots 3 and 4
    squares = dtw_independent(query, corpus, None, np.float64)[0]
    assert squares.tolist() == [9.0, 8.0]
    peer = [[dtw_distance(query[0, :, c], item[:, c]) for c in range(2)] for item in corpus]
    assert np.sum(peer, axis=1).tolist() == [9.0, 8.0]
    assert np.sqrt(peer).sum(axis=1).tolist() == [3.0, 4.0]


def test_disagreement_trec_eval_drops_an_absent_query_ir_measures_counts_it_zero() -> None:
    """A query a run has no answer for is a failure and counts 0, as in ir_measures; ours refuses such a run before."""
    qrels = {"a": {"d": 1}, "b": {"d": 1}}
    run = {"a": {"d": 1.0}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    assert list(trec) == ["a"]
    assert ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)[ir_measures.nDCG @ 10] == 0.5


def test_disagreement_scikit_learn_knows_only_the_listed_relevant_items() -> None:
    """One of two relevant items was returned, first: its NDCG@2 is perfect to scikit-learn. The ideal order has both:
    ours, trec_eval and the board's definition count the relevant items of the whole corpus."""
    listed = ndcg_score([[1, 0]], [[2.0, 1.0]], k=2)
    assert listed == 1.0
    ours = ranking_metrics(np.array([[1, 0]]), np.array([2]))["ndcg", 2 + 1][0]
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.3"}).evaluate(run)["q"]["ndcg_cut_3"]
    assert ours == pytest.approx(trec)
    assert ours == pytest.approx(1 / (1 + 1 / np.log2(3)))


def test_disagreement_scikit_learns_macro_f1_counts_a_stray_class() -> None:
    """One answer of a class no query has: the default averages over it too, 0.556 in place of 0.833. The classes are
    those of the queries."""
    truth, answers = np.array(["A", "A", "B"]), np.array(["A", "C", "B"])
    assert f1_score(truth, answers, average="macro", zero_division=0) == pytest.approx(0.5556, abs=1e-4)
    assert macro_f1(truth, answers) == pytest.approx(0.8333, abs=1e-4)


def test_disagreement_four_answers_to_a_tie() -> None:
    """Two items of equal score, the relevant one first in the corpus. trec_eval orders by document id descending,
    scikit-learn averages; an order by position would read a corpus sorted by class. Ours: a hash of the entry, the same
    whichever way the corpus lies, and the average beside it."""
    corpus, truth = np.array(["A", "B"]), np.array(["A"])
    scores = np.zeros((1, 2))
    by_position = ranking_metrics(relevance(np.array([[0, 1]]), truth, corpus), np.array([1]))["ndcg", 1][0]
    trec = pytrec_eval.RelevanceEvaluator({"q": {"d0": 1, "d1": 0}}, {"ndcg_cut.1"})
    assert (by_position, trec.evaluate({"q": {"d0": 0.0, "d1": 0.0}})["q"]["ndcg_cut_1"]) == (1.0, 0.0)
    average = ndcg_score([[1, 0]], scores, k=1)
    ours = ranking_metrics(tie_averaged_gain(np.array([[0, 1]]), scores, truth, corpus), np.array([1]))["ndcg", 1][0]
    assert ours == average == 0.5
    ids = ["one", "two"]
    first = [ids[i] for i in rank(scores, tie_keys(ids))[0]]
    assert [ids[::-1][i] for i in rank(scores, tie_keys(ids[::-1]))[0]] == first


def test_a_query_without_a_relevant_item_counts_zero_everywhere() -> None:
    corpus, truth = np.array(["A", "B"]), np.array(["Z"])
    ours = ranking_metrics(relevance(np.array([[0, 1]]), truth, corpus), n_relevant(truth, corpus))
    trec = pytrec_eval.RelevanceEvaluator({"q": {"a": 0}}, {"ndcg_cut.10"}).evaluate({"q": {"a": 1.0}})
    assert ours["ndcg", 10][0] == trec["q"]["ndcg_cut_10"] == ndcg_score([[0, 0]], [[2.0, 1.0]]) == 0.0


def test_a_corpus_shorter_than_k() -> None:
    """P@20 of 3 items is still divided by 20, as in trec_eval; c3-charm's retrieval_metrics refuses such a corpus."""
    ours = ranking_metrics(np.array([[1, 0, 1]]), np.array([2]))
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    trec = pytrec_eval.RelevanceEvaluator(qrels, {"P.20", "ndcg_cut.20"}).evaluate(run)["q"]
    assert ours["precision", 20][0] == pytest.approx(trec["P_20"]) == pytest.approx(0.1)
    assert ours["ndcg", 20][0] == pytest.approx(trec["ndcg_cut_20"])
