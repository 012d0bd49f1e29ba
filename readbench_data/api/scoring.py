"""Scores a function with the board's contract, or a method, on a release; nothing is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.api.data import labels_of, open_release
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.run.protocol import evaluate_methods
from readbench_data.evaluation.scoring.metrics import n_relevant, ranking_metrics, relevance
from readbench_data.evaluation.submission.masking import entries_of, masked_item, masked_query
from readbench_data.evaluation.submission.worker import checked
from readbench_data.evaluation.task.release_data import CORPUS_FILES, LEVELS, Release
from readbench_data.evaluation.task.supervision import Supervision

Rank = Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]]], Sequence[int]]
"""``rank(query, corpus)`` returns the indices of the corpus, most similar first; entries as on READ-Bench's board."""

COLUMNS = ("method", "dataset", "rho", "metric", "k", "value")


def evaluate(
    rank_or_method: Rank | Method | str,
    release: str | Path,
    datasets: Sequence[str] | None = None,
    levels: Sequence[int] = LEVELS,
    supervision: str = "none",
    data: str = "data",
) -> pl.DataFrame:
    """Score a function or a method; returns one row per dataset, level, metric and K.

    Parameters
    ----------
    rank_or_method : function, Method or str
        ``rank(query, corpus)`` with the contract of the board: both get ``ts_values`` (float32 [T][C]), ``channels``
        and so on, without labels except as ``supervision`` allows. Or a
        :class:`~readbench_data.evaluation.methods.base.Method`, or the name of one. It runs in this process: a method
        that you did not write belongs into ``readbench submission run``, which isolates it.
    release : str or Path
        As for :func:`~readbench_data.api.data.load`.
    datasets : sequence of str, optional
        None: all that have data.
    levels : sequence of int
        Percent of Normal windows in the corpus.
    supervision : {"none", "normals", "neighbour-labels", "supervised"}
        Which labels of the corpus the function may read.

    Returns
    -------
    polars.DataFrame
        ``method``, ``dataset``, ``rho`` (the level), ``metric``, ``k``, ``value`` (the mean over queries).

    Examples
    --------
    ``release`` is a folder with a dataset ``waves`` of three fault classes:

    >>> import numpy as np
    >>> def rank(query, corpus):
    ...     return np.argsort([np.abs(query["ts_values"] - one["ts_values"]).sum() for one in corpus])
    >>> table = evaluate(rank, release, ["waves"], levels=[0])
    >>> table.filter(metric="ndcg", k=10)["value"].item() > 0.5
    True
    """
    opened = open_release(release, data)
    names = list(datasets) if datasets is not None else [n for n, i in opened.datasets.items() if i.has_data]
    for name in names:
        for level in levels:
            labels_of(opened, name, level)
    if isinstance(rank_or_method, str | Method):
        chosen = method(rank_or_method) if isinstance(rank_or_method, str) else rank_or_method
        with tempfile.TemporaryDirectory(prefix="readbench-evaluate-") as folder:
            rows = evaluate_methods(opened.root, Path(folder), [chosen], names).rows
        rows = rows.filter(pl.col("rho").is_in(list(levels)))
        return rows.group_by(COLUMNS[:-1], maintain_order=True).agg(pl.col("value").mean())
    allowed = Supervision(supervision)
    parts = [_scored(rank_or_method, opened, name, level, allowed) for name in names for level in levels]
    return pl.concat(parts)


def _scored(rank: Rank, release: Release, dataset: str, level: int, supervision: Supervision) -> pl.DataFrame:
    folder, info = release.root / "data" / dataset, release.info(dataset)
    files = [file for rho, file in CORPUS_FILES.items() if rho <= level and file in info.files]
    queries = entries_of(pq.read_table(folder / "queries.parquet"))
    corpus = entries_of(pa.concat_tables([pq.read_table(folder / file) for file in files]))
    hide = partial(masked_item, mode="strict", supervision=supervision)
    shown = [hide(entry) for entry in corpus]
    orders = [checked(rank(masked_query(query, "strict"), shown), len(shown)) for query in queries]
    ranking = np.array(orders, np.int64).reshape(len(queries), len(corpus))
    query_labels = np.array([q["class_label"] for q in queries])
    corpus_labels = np.array([c["class_label"] for c in corpus])
    found = ranking_metrics(relevance(ranking, query_labels, corpus_labels), n_relevant(query_labels, corpus_labels))
    name = getattr(rank, "__name__", type(rank).__name__)
    rows = [(name, dataset, level, metric, k, float(value.mean())) for (metric, k), value in found.items()]
    return pl.DataFrame(rows, schema=list(COLUMNS), orient="row")
