"""The sweep of k in Normal-Residual: NDCG@10 for 1 to ``most`` nearest Normal windows.

The neighbours are found once, for the largest k; a running sum over them gives the mean of the first k for each k. The
vectors are those of the embedder at each level, computed once. So the sweep costs one product of vectors per k instead
of a run per k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.embedding import Embedder, NormalResidual, Vectors, unit
from readbench_data.evaluation.run.sweeps import Progress, ndcg_10, tasks
from readbench_data.evaluation.task.release_data import LEVELS

MOST = 100
"""The largest k of the paper's sweep (A.7.3)."""

SCHEMA = {"k": pl.Int64, "dataset": pl.String, "rho": pl.Int64, "n_normals": pl.Int64, "value": pl.Float64}


def sweep_neighbours(
    release: Path,
    out: Path,
    embedder: Embedder,
    most: int = MOST,
    datasets: Sequence[str] | None = None,
    progress: Progress = lambda line: None,
) -> pl.DataFrame:
    """Return NDCG@10 of ``embedder`` with Normal-Residual for every k.

    Parameters
    ----------
    release, out : Path
        The release, and the folder of results whose shared arrays are reused.
    embedder : Embedder
        Without Normal-Residual.
    most : int
        The largest k. Where a dataset has fewer Normal windows, all of them are used from there on, as ``+NR`` does; a
        dataset without Normal windows has the same value for every k.
    datasets : sequence of str, optional
        None: all that have data.

    Returns
    -------
    polars.DataFrame
        One row per (dataset, rho, k): ``value``, the mean over queries, and ``n_normals``, the number of Normal windows
        that the dataset has for this. k = 0 is the embedder without Normal-Residual.

    Raises
    ------
    UsageError
        ``embedder`` has Normal-Residual already, or ``most`` is below 1.
    """
    if isinstance(embedder, NormalResidual):
        raise UsageError(f"{embedder.name}: the sweep adds Normal-Residual itself: name the embedder without +NR")
    if most < 1:
        raise UsageError(f"the largest k is {most}: it must be 1 or more")
    rows = []
    for task in tasks(release, out, datasets, progress):
        for rho in LEVELS:
            view = task.view(rho)
            plain = embedder.vectors(view)
            values = [ndcg_10(view, view.rank(plain.cosine()))]
            values += [ndcg_10(view, view.rank(vectors.cosine())) for vectors in residuals(plain, most)]
            values += values[-1:] * (most + 1 - len(values))
            rows += [(k, task.dataset, rho, len(plain.reference), value) for k, value in enumerate(values)]
            best = int(np.argmax(values[1:])) + 1
            progress(f"{task.dataset} at {rho} %: best k {best} ({values[best]:.3f}), without {values[0]:.3f}")
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def residuals(plain: Vectors, most: int) -> Iterator[Vectors]:
    """Yield the residual unit vectors of queries and corpus for k = 1, 2, ..., up to ``most`` or the number of Normal
    windows, whichever is smaller; where there are none, the vectors as they are, once.

    They equal those of :class:`~readbench_data.evaluation.methods.embedding.NormalResidual` up to rounding.
    """
    normals = plain.reference
    if not len(normals):
        yield plain
        return
    parts = (plain.queries, plain.corpus)
    nearest = [np.argsort(-(v @ normals.T), axis=1, kind="stable")[:, :most] for v in parts]
    sums = [np.zeros(v.shape) for v in parts]
    for k in range(1, nearest[0].shape[1] + 1):
        for total, order in zip(sums, nearest, strict=True):
            total += normals[order[:, k - 1]]
        queries, corpus = (unit(v - total / k) for v, total in zip(parts, sums, strict=True))
        yield Vectors(queries, corpus, normals)
