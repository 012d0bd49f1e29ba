"""The sweep of k in Normal-Residual and the budget of labels: equal to single runs and to values by hand."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF

from readbench_data.errors import UsageError
from readbench_data.evaluation.board.sweeps import (
    draw_labels,
    draw_neighbours,
    label_means,
    label_text,
    neighbour_text,
)
from readbench_data.evaluation.kernels.gaussian_process import class_probabilities_at
from readbench_data.evaluation.methods.embedding import Embedder, NormalResidual, Vectors
from readbench_data.evaluation.methods.features import Features
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.methods.rerank import GPC
from readbench_data.evaluation.run.label_budget import ALL, draw_labelled, reranked, sweep_labels
from readbench_data.evaluation.run.neighbour_sweep import residuals, sweep_neighbours
from readbench_data.evaluation.run.protocol import evaluate_methods
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task

LEVELS = (0, 10, 20)


def test_residuals_worked_out_by_hand() -> None:
    """Query (1, 0); Normal windows (.6, .8) and (0, 1); corpus item (0, 1), itself the second of these."""
    plain = Vectors(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.array([[0.6, 0.8], [0.0, 1.0]]))
    one, two = residuals(plain, most=100)
    assert one.queries == pytest.approx(np.array([[0.4, -0.8]]) / 0.8**0.5)
    assert one.corpus.tolist() == [[0.0, 0.0]], "its nearest Normal window is itself: nothing is left"
    # the mean of both is (.3, .9)
    assert two.queries == pytest.approx(np.array([[0.7, -0.9]]) / 1.3**0.5)
    assert two.corpus == pytest.approx(np.array([[-0.3, 0.1]]) / 0.1**0.5)
    assert one.cosine().item() == 0.0
    assert two.cosine().item() == pytest.approx((-0.21 - 0.09) / 0.13**0.5)


@dataclass(frozen=True)
class Counted(Embedder):
    """The first step of each window as a direction; counts how often the vectors are computed."""

    calls: ClassVar[list[int]] = []

    @property
    def name(self) -> str:
        return "Counted"

    def embed(self, view: Any) -> Vectors:
        self.calls.append(view.rho)
        return Features().embed(view)


def test_the_sweep_equals_single_runs_and_computes_vectors_once_per_level(release: Path, tmp_path: Path) -> None:
    Counted.calls.clear()
    swept = sweep_neighbours(release, tmp_path, Counted(), most=12)
    assert Counted.calls == [*LEVELS, *LEVELS], "two datasets, three levels, whatever the number of k"
    assert swept.height == 2 * 3 * 13
    runs = [(0, Features()), *((k, NormalResidual(Features(), k)) for k in (1, 4, 9, 12))]
    for k, scorer in runs:
        rows = evaluate_methods(release, tmp_path, [scorer], ["waves", "plain"]).rows.filter(metric="ndcg", k=10)
        expected = {(d, rho): v for d, rho, v in rows.select("dataset", "rho", "value").iter_rows()}
        got = {(d, rho): v for d, rho, v in swept.filter(k=k).select("dataset", "rho", "value").iter_rows()}
        assert got == pytest.approx(expected, abs=1e-12)
    assert swept.filter(dataset="plain", rho=0)["value"].n_unique() == 1, "no Normal windows: k is without effect"
    waves = swept.filter(dataset="waves", rho=0)
    assert waves["n_normals"].unique().to_list() == [9]
    assert waves.filter(pl.col("k") >= 9)["value"].n_unique() == 1, "nine Normal windows: all are used from there on"


def test_the_sweep_refuses_what_makes_no_sense(release: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"name the embedder without \+NR"):
        sweep_neighbours(release, tmp_path, NormalResidual(Features()))
    with pytest.raises(UsageError, match="must be 1 or more"):
        sweep_neighbours(release, tmp_path, Features(), most=0)
    with pytest.raises(UsageError, match="none of absent has data"):
        sweep_neighbours(release, tmp_path, Features(), datasets=["absent"])
    with pytest.raises(UsageError, match=r"name a pipeline that ends in \+GPC"):
        sweep_labels(release, tmp_path, method("ED"))
    with pytest.raises(UsageError, match="must be 1 or more"):
        sweep_labels(release, tmp_path, method("ED+GPC"), budgets=[0])


@pytest.fixture(scope="module")
def waves(release: Path) -> Task:
    return Task.load(Release(release), "waves")


def test_labelled_items_are_drawn_per_class_and_nest(waves: Task) -> None:
    for rho in LEVELS:
        view = waves.view(rho)
        labels = view.corpus_labels
        for seed in (0, 1):
            one, five, many = (draw_labelled(view, m, seed) for m in (1, 5, 50))
            assert not (one & ~five).any(), "a larger budget contains a smaller one"
            assert many.all(), "a class with fewer items is labelled whole"
            sizes = {name: int((labels == name).sum()) for name in np.unique(labels)}
            drawn = {name: int(five[labels == name].sum()) for name in sizes}
            assert drawn == {name: min(5, size) for name, size in sizes.items()}
        assert (draw_labelled(view, 3, 0) != draw_labelled(view, 3, 1)).any()
    faults = waves.view(0).n_corpus
    low, high = (draw_labelled(waves.view(rho), 2, 0) for rho in (0, 20))
    assert (low == high[:faults]).all(), "the same faults at every level"


def test_with_all_labels_it_is_gpc_itself(release: Path, tmp_path: Path) -> None:
    for name in ("ED+GPC", "Features+NR|DTW-I+GPC"):
        swept = sweep_labels(release, tmp_path, method(name), budgets=[1, 3], draws=2)
        assert swept.height == 2 * 3 * (1 + 2 * 2 + 1)
        base = name.removesuffix("+GPC")
        rows = evaluate_methods(release, tmp_path, [method(base), method(name)]).rows.filter(metric="ndcg", k=10)
        for items, of in ((0, base), (ALL, name)):
            stored = rows.filter(method=of, status="ok").sort("dataset", "rho")["value"].to_list()
            assert swept.filter(items=items).sort("dataset", "rho")["value"].to_list() == stored


def test_a_single_labelled_class_and_no_label_change_nothing(waves: Task) -> None:
    view, gpc = waves.view(20), method("ED+GPC")
    assert isinstance(gpc, GPC)
    order = view.rank(gpc.base.score(view, gpc.base.fit(view))).astype(np.int64)
    only_a = np.flatnonzero(view.corpus_labels == "A")[:4]
    labelled = np.zeros(view.n_corpus, bool)
    assert (reranked(view, gpc, order, labelled) == order).all()
    labelled[only_a] = True
    assert (reranked(view, gpc, order, labelled) == order).all(), "every item is of the one known class"


def test_an_unlabelled_candidate_scores_the_probability_of_sharing_the_class(waves: Task) -> None:
    """Against scikit-learn: sum over classes of P(query is c) P(candidate is c), or P(query is its class) by label."""
    view, gpc = waves.view(20), GPC(method("ED"), Features(), candidates=12)
    order = view.rank(gpc.base.score(view, gpc.base.fit(view))).astype(np.int64)
    labelled = draw_labelled(view, 3, 0)
    new, vectors = reranked(view, gpc, order, labelled), gpc.space.vectors(view)
    seen = 0
    for q in range(view.n_queries):
        known = [i for i in order[q] if labelled[i]][:12]
        peer = GaussianProcessClassifier(RBF(1.0, "fixed"), optimizer=None)
        peer.fit(vectors.corpus[known], view.corpus_labels[known])
        column = {name: j for j, name in enumerate(peer.classes_)}
        of_query = peer.predict_proba(vectors.queries[q : q + 1])[0]
        of_items = peer.predict_proba(vectors.corpus[order[q, :12]])
        score = {}
        for place, item in enumerate(order[q, :12].tolist()):
            by_label = of_query[column[view.corpus_labels[item]]] if labelled[item] else None
            score[item] = by_label if by_label is not None else float(of_query @ of_items[place])
            seen += labelled[item]
        got = [score[item] for item in new[q, :12].tolist()]
        assert (np.diff(got) <= 1e-8).all()
        assert (new[q, 12:] == order[q, 12:]).all()
    assert seen > 5


@pytest.mark.parametrize("n_classes", [2, 4])
def test_probabilities_at_several_points_equal_scikit_learn(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    known, points = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    labels = rng.permutation(np.arange(20) % n_classes)

    def kernel(one: np.ndarray, other: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((one[:, None] - other[None]) ** 2).sum(axis=2))

    counts = np.array([n_classes])
    got = class_probabilities_at(
        kernel(known, known)[None], kernel(points, known)[None], np.ones((1, 5)), labels[None], counts
    )
    peer = GaussianProcessClassifier(RBF(1.0, "fixed"), optimizer=None).fit(known, labels)
    assert got[0] == pytest.approx(peer.predict_proba(points), abs=1e-9)


def label_rows() -> pl.DataFrame:
    """Two datasets, one level: none, one item in two draws, all."""
    values = {(0, 0): (0.4, 0.2), (1, 0): (0.5, 0.3), (1, 1): (0.9, 0.5), (ALL, 0): (1.0, 0.8)}
    rows = [(m, s, d, 0, 3, v) for (m, s), pair in values.items() for d, v in zip("ab", pair, strict=True)]
    return pl.DataFrame(rows, schema=["items", "seed", "dataset", "rho", "n_labelled", "value"], orient="row")


def test_means_of_the_budget_are_over_datasets_then_draws() -> None:
    means = label_means(label_rows())
    assert means["items"].to_list() == [0, 1, ALL]
    assert means["value"].to_list() == pytest.approx([0.3, 0.55, 0.9])
    assert means["low"].to_list() == pytest.approx([0.3, 0.4, 0.9])
    assert means["high"].to_list() == pytest.approx([0.3, 0.7, 0.9])
    assert means["draws"].to_list() == [1, 2, 1]
    text = label_text(label_rows(), "ED+GPC")
    assert "mean over 2 datasets and 2 draws" in text
    assert [line.split() for line in text.splitlines()[-3:]] == [
        ["none", "0.300"],
        ["1", "0.550", "[0.400,", "0.700]"],
        ["all", "0.900"],
    ]


def test_the_text_of_the_sweep_names_the_best_k_and_what_limits_it() -> None:
    value = {0: (0.2, 0.4), 1: (0.1, 0.1), 2: (0.6, 0.8), 3: (0.6, 0.8)}
    rows = [(k, d, 0, n, v[i]) for k, v in value.items() for i, (d, n) in enumerate((("a", 2), ("b", 0)))]
    table = pl.DataFrame(rows, schema=["k", "dataset", "rho", "n_normals", "value"], orient="row")
    text = neighbour_text(table, "Features")
    assert "without    0.300\n       1    0.100\n       2    0.700\n       3    0.700\n" in text
    assert "best at 0 %: k = 2 (0.700)" in text, "the smallest of equal ones"
    assert "a has 2 Normal windows: from k = 2 on, all are used" in text
    assert "b has no Normal windows: k is without effect" in text
    drawing, alternative = draw_neighbours(table, "Features")
    assert alternative.endswith("at 0 % best k 2, 0.700")
    assert ET.fromstring(drawing.document(alternative)).tag.endswith("svg")


def test_the_picture_of_the_budget_has_a_mark_per_budget_and_a_text_alternative() -> None:
    drawing, alternative = draw_labels(label_rows(), "ED+GPC")
    assert alternative.endswith("at 0 %: none 0.300, 1 0.550, all 0.900")
    root = ET.fromstring(drawing.document(alternative))
    space = "{http://www.w3.org/2000/svg}"
    texts = [t.text for t in root.iter(f"{space}text")]
    assert {"none", "1", "all", "0 % Normal windows"} <= set(texts)
    assert len(list(root.iter(f"{space}circle"))) == 3
    assert "var(" not in drawing.document(alternative)
