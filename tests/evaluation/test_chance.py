"""Expected macro-F1 of a random order: by enumeration of all orders, by drawing, and on a release."""

from __future__ import annotations

from itertools import permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.scoring.chance import _f1, majority_probability, random_macro_f1
from readbench_data.evaluation.scoring.metrics import macro_f1, predict_labels


@pytest.mark.parametrize("corpus", [["A", "A", "B", "Normal"], ["A", "B", "B", "C", "C"], ["A"], ["B", "B", "B"]])
@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_every_order_of_a_small_corpus(corpus: list[str], k: int) -> None:
    labels = np.array(corpus)
    orders = np.array(list(permutations(range(len(corpus)))))
    predicted = predict_labels(orders, labels, k)
    names, sizes = np.unique(labels, return_counts=True)
    assert majority_probability(sizes, k) == pytest.approx([(predicted == n).mean() for n in names], abs=1e-12)
    truth = np.array(["A", "A", "B"])
    share = {n: (predicted == n).mean() for n in names}
    by_hand = sum(
        np.prod([share[p] for p in answers]) * macro_f1(truth, np.array(answers))
        for answers in product(share, repeat=len(truth))
    )
    assert random_macro_f1(truth, labels, k) == pytest.approx(by_hand, abs=1e-12)


def test_drawn_orders_of_a_larger_corpus() -> None:
    rng = np.random.default_rng(0)
    corpus = np.repeat(["A", "B", "C", "Normal"], [40, 12, 30, 20])
    truth = np.repeat(["A", "B", "C"], [6, 2, 5])
    for k in (1, 10):
        drawn = [
            macro_f1(truth, predict_labels(np.array([rng.permutation(len(corpus)) for _ in truth]), corpus, k))
            for _ in range(1500)
        ]
        error = np.std(drawn) / np.sqrt(len(drawn))
        assert random_macro_f1(truth, corpus, k) == pytest.approx(np.mean(drawn), abs=4 * error)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 12))
def test_some_label_always_has_the_majority(sizes: list[int], k: int) -> None:
    probability = majority_probability(np.array(sizes), k)
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    equal = [p for s, p in zip(sizes, probability, strict=True) if s == sizes[0]]
    assert equal == pytest.approx([equal[0]] * len(equal), abs=1e-12)


def test_random_has_a_macro_f1_like_every_method(release: Path, tmp_path: Path) -> None:
    rows = evaluate(release, tmp_path, ["Random"], ["waves"]).rows.filter(pl.col("metric") == "macro_f1")
    at_zero = rows.filter((pl.col("rho") == 0) & (pl.col("k") == 1))["value"][0]
    assert 0.3 < at_zero < 1 / 3  # three classes of one size: a third is right, and F1 of few queries is a little less
    assert rows["value"].null_count() == 0
    assert rows.filter(pl.col("rho") == 20)["value"].max() < at_zero  # type: ignore[operator]


def test_the_value_does_not_depend_on_the_order_of_a_set() -> None:
    truth = np.array([f"class {i}" for i in range(40) for _ in range(i % 7 + 1)])
    corpus = np.array([f"class {i}" for i in range(40) for _ in range(i % 5 + 1)])
    names, sizes = np.unique(corpus, return_counts=True)
    probability = majority_probability(sizes, 10)
    ordered = [_f1(int((truth == c).sum()), len(truth), p) for c, p in zip(names, probability, strict=True)]
    assert random_macro_f1(truth, corpus, 10) == float(np.mean(ordered))
    assert len({float(np.mean(np.random.default_rng(s).permutation(ordered))) for s in range(20)}) > 1
