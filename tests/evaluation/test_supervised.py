"""Supervised references: three random states, graded scores, and one clear line where the extra is missing."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from readbench_data.evaluation.board.leaderboard import leaderboard
from readbench_data.evaluation.methods.registry import DEFAULT_SUITE, method, method_names
from readbench_data.evaluation.methods.supervised import RDST, Classifier, MRHydra
from readbench_data.evaluation.run.protocol import evaluate, evaluate_methods
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task


class Projection:
    """A classifier that draws its weights: spectra through random directions, then the nearest class mean."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def fit(self, x: np.ndarray, y: np.ndarray) -> Projection:
        self.weights = self.rng.normal(size=(spectra(x).shape[1], 2))
        self.classes_ = np.unique(y)
        self.means = np.stack([(spectra(x[y == c]) @ self.weights).mean(axis=0) for c in self.classes_])
        return self

    def margins(self, x: np.ndarray) -> np.ndarray:
        return -np.linalg.norm((spectra(x) @ self.weights)[:, None] - self.means, axis=2)


def spectra(x: np.ndarray) -> np.ndarray:
    return np.abs(np.fft.rfft(x, axis=2)).reshape(len(x), -1)


class Drawn(Classifier):
    @property
    def name(self) -> str:
        return "Drawn"

    def classifier(self, seed: int) -> Any:
        return Projection(seed)

    def margins(self, fitted: Any, x: np.ndarray) -> np.ndarray:
        return fitted.margins(x)  # type: ignore[no-any-return]


def test_three_random_states_are_stored_singly_and_averaged_on_the_board(release: Path, tmp_path: Path) -> None:
    rows = evaluate_methods(release, tmp_path, [Drawn()], ["waves"]).rows
    primary = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == 20))
    assert primary["random_state"].to_list() == [0, 1, 2]
    assert primary["value"].n_unique() > 1
    assert primary["value"].min() > 0.34  # type: ignore[operator]
    cell = leaderboard(release, tmp_path).cells().filter((pl.col("dataset") == "waves") & (pl.col("rho") == 20))
    assert cell["value"].to_list() == pytest.approx([primary["value"].mean()])
    assert cell["supervision"].to_list() == ["supervised"]


def test_scores_are_graded_and_normal_is_one_of_the_classes(release: Path) -> None:
    view = Task.load(Release(release), "waves").view(20)
    model = Drawn()
    scores = model.score(view, model.fit(view))
    assert len(np.unique(scores[0])) == 4  # one value per class, Normal among them, not one-hot
    assert ((scores > 0) & (scores < 1)).all()


def test_the_variant_ranks_normal_windows_last(release: Path) -> None:
    view = Task.load(Release(release), "waves").view(20)
    model = Drawn(faults_first=True)
    scores = model.score(view, model.fit(view))
    normal = view.corpus_labels == "Normal"
    assert np.isneginf(scores[:, normal]).all()
    assert len(np.unique(scores[0, ~normal])) == 3
    assert method("RDST-faults").name == "RDST-faults"
    assert method("mr-hydra-faults").name == "MR-Hydra-faults"


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_a_missing_extra_is_one_clear_line(release: Path, tmp_path: Path) -> None:
    rows = evaluate(release, tmp_path, ["MR-Hydra", "ED"], ["waves"]).rows
    failed = rows.filter(pl.col("status") == "failed")
    assert set(failed["reason"]) == {"ReadbenchError: needs torch: pip install 'readbench-data[supervised]'"}
    assert set(rows.filter(pl.col("method") == "ED")["status"]) == {"ok"}


def test_what_needs_an_extra_is_known_but_in_no_list() -> None:
    assert {"RDST", "MR-Hydra"} <= set(method_names())
    assert not {"RDST", "MR-Hydra"} & set(DEFAULT_SUITE)


@pytest.mark.skipif("READBENCH_SLOW" not in os.environ, reason="compiles for two minutes: set READBENCH_SLOW")
def test_aeons_shapelets(release: Path, tmp_path: Path) -> None:
    rows = evaluate_methods(release, tmp_path, [RDST(max_shapelets=200)], ["waves"]).rows
    primary = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10))
    assert set(primary["status"]) == {"ok"}
    assert primary["value"].min() > 0.6  # type: ignore[operator]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="not installed: torch")
def test_aeons_multirocket_and_hydra(release: Path) -> None:
    """Of two random states: other scores, both far above chance; the same state twice: the same scores."""
    view, other = (Task.load(Release(release), "waves").view(20, seed) for seed in (0, 1))
    model = MRHydra()
    scores = model.score(view, model.fit(view))
    assert scores.tolist() == model.score(view, model.fit(view)).tolist()
    moved = model.score(other, model.fit(other))
    assert scores.tolist() != moved.tolist()
    truth = view.task.labels.query_labels
    said = model.fit(view).predict(view.queries.values.transpose(0, 2, 1).astype(float))
    assert view.corpus_labels[scores.argmax(axis=1)].tolist() == said.tolist()  # aeon's own answers are the first
    for drawn in (scores, moved):
        assert (view.corpus_labels[drawn.argmax(axis=1)] == truth).mean() > 0.7
        assert np.isfinite(drawn).all()
