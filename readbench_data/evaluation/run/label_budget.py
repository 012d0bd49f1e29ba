"""The budget of labels: how good is GPC when only m items per class are labelled?

The labelled items are drawn per class (Normal is one of the classes) from the corpus of a level: the first m of the
class in a permutation of the largest corpus by the seed. So a larger budget contains a smaller one, and the labelled
faults are the same at every level. A class with fewer than m items is labelled whole.

GPC is fitted per query on the first 100 labelled items of the base ranking and reorders its first 100 items: with all
labels this is ``+GPC`` itself. A candidate without a label scores the probability of sharing the query's class, the sum
over classes of P(query is c) times P(candidate is c); for a labelled candidate P(candidate is c) is 1 for its class, so
it scores the probability of its class, as in ``+GPC``. Classes of which no item is labelled near the query are unknown
to the classifier. These choices are ours: the paper does not vary the number of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.errors import UsageError
from readbench_data.evaluation.kernels.gaussian_process import class_probabilities_at
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.rerank import GPC
from readbench_data.evaluation.run.sweeps import Progress, ndcg_10, tasks
from readbench_data.evaluation.task.release_data import LEVELS
from readbench_data.evaluation.task.task import View

BUDGETS = (1, 2, 5, 10, 20)
"""Labelled items per class; also none (the base ranking) and all."""

DRAWS = 5
"""Draws of the labelled items, with the seeds 0 to 4."""

ALL = -1
"""Stands for all labels in the column ``items``."""

SCHEMA = {"items": pl.Int64, "seed": pl.Int64, "dataset": pl.String, "rho": pl.Int64, "n_labelled": pl.Int64}
SCHEMA |= {"value": pl.Float64}


def sweep_labels(
    release: Path,
    out: Path,
    pipeline: Method,
    budgets: Sequence[int] = BUDGETS,
    draws: int = DRAWS,
    datasets: Sequence[str] | None = None,
    levels: Sequence[int] = LEVELS,
    progress: Progress = lambda line: None,
) -> pl.DataFrame:
    """Return NDCG@10 of a pipeline that ends in ``+GPC`` for every budget of labels.

    Parameters
    ----------
    release, out : Path
        The release, and the folder of results whose shared arrays are reused.
    pipeline : Method
        Such as ``Features+NR|DTW-I+GPC``.
    budgets : sequence of int
        Labelled items per class.
    draws : int
        How many times the labelled items are drawn.
    datasets : sequence of str, optional
        None: all that have data.
    levels : sequence of int
        Levels of pollution in percent.

    Returns
    -------
    polars.DataFrame
        One row per (dataset, rho, items, seed): ``value``, the mean over queries, and ``n_labelled``, how many items
        are labelled. ``items`` is 0 for the base ranking and -1 for all labels; both are not drawn and have seed 0.

    Raises
    ------
    UsageError
        The pipeline does not end in ``+GPC``, or a budget or the number of draws is below 1.
    """
    if not isinstance(pipeline, GPC) or pipeline.faults_first:
        raise UsageError(f"{pipeline.name}: the budget of labels is one of GPC: name a pipeline that ends in +GPC")
    if draws < 1 or not budgets or min(budgets) < 1:
        raise UsageError("a budget of labels and the number of draws must be 1 or more")
    rows = []
    for task in tasks(release, out, datasets, progress):
        for rho in levels:
            view = task.view(rho)
            order = view.rank(pipeline.base.score(view, pipeline.base.fit(view))).astype(np.int64)
            rows.append((0, 0, task.dataset, rho, 0, ndcg_10(view, order)))
            runs = [(m, seed) for m in sorted(set(budgets)) for seed in range(draws)] + [(ALL, 0)]
            for m, seed in runs:
                labelled = draw_labelled(view, m, seed) if m != ALL else np.ones(view.n_corpus, bool)
                value = ndcg_10(view, reranked(view, pipeline, order, labelled))
                rows.append((m, seed, task.dataset, rho, int(labelled.sum()), value))
            progress(f"{task.dataset} at {rho} %: base {rows[-len(runs) - 1][-1]:.3f}, all labels {rows[-1][-1]:.3f}")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def draw_labelled(view: View, items: int, seed: int) -> np.ndarray:
    """Return which items of the corpus of this level are labelled, bool [n]: ``items`` per class, if it has as many."""
    permutation = np.random.default_rng(seed).permutation(len(view.task.corpus))
    place = np.argsort(permutation)[view.members]
    labelled = np.zeros(view.n_corpus, bool)
    for name in np.unique(view.corpus_labels):
        own = np.flatnonzero(view.corpus_labels == name)
        labelled[own[np.argsort(place[own])[:items]]] = True
    return labelled


def reranked(view: View, gpc: GPC, order: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the ranking after GPC with the labels of some items only, int64 [nq, n].

    Parameters
    ----------
    view : View
    gpc : GPC
        Its vectors, length scale and number of candidates are used.
    order : int64 array [nq, n]
        The base ranking.
    labelled : bool array [n]
        Which items of the corpus have a label.
    """
    if not labelled.any():
        return order
    items = order[:, : gpc.candidates]
    known = np.take_along_axis(order, np.argsort(~labelled[order], axis=1, kind="stable"), axis=1)
    known = known[:, : min(gpc.candidates, int(labelled.sum()))]
    values = _same_class(view, gpc, items, known, labelled)
    new = order.copy()
    new[:, : gpc.candidates] = np.take_along_axis(items, np.argsort(-values, axis=1, kind="stable"), axis=1)
    return new


def _same_class(view: View, gpc: GPC, items: np.ndarray, known: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the probability that each candidate shares the query's class, [nq, m], fitted on ``known`` [nq, l]."""
    gram, vectors = gpc.space.gram(view), gpc.space.vectors(view)
    norms, query_norms = np.diag(gram), (vectors.queries**2).sum(axis=1)
    cosine = np.take_along_axis(vectors.cosine(), known, axis=1)

    def kernel(one: np.ndarray, other: np.ndarray, products: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 / gpc.length_scale**2 * np.maximum(one + other - 2.0 * products, 0.0))

    among = kernel(norms[known][:, :, None], norms[known][:, None], gram[known[:, :, None], known[:, None]])
    query = kernel(query_norms[:, None], norms[known], cosine)
    others = kernel(norms[items][:, :, None], norms[known][:, None], gram[items[:, :, None], known[:, None]])
    labels, n_classes = np.empty(known.shape, np.int64), np.empty(len(known), np.int64)
    classes = []
    for q, names in enumerate(view.corpus_labels[known]):
        found, labels[q] = np.unique(names, return_inverse=True)
        n_classes[q] = len(found)
        classes.append(found)
    points = np.concatenate([query[:, None], others], axis=1)
    probabilities = class_probabilities_at(among, points, np.ones(points.shape[:2]), labels, n_classes)
    of_query, of_items = probabilities[:, 0], probabilities[:, 1:]
    values = np.einsum("qc,qmc->qm", of_query, of_items)
    for q, found in enumerate(classes):  # a label that is known replaces what the classifier would guess
        has = labelled[items[q]]
        values[q, has] = of_query[q, np.searchsorted(found, view.corpus_labels[items[q, has]])]
    return values
