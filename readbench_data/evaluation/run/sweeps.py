"""What the two sweeps share: tasks of a release one after the other, and NDCG@10 of a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from readbench_data.errors import UsageError
from readbench_data.evaluation.run.results_store import ResultsStore
from readbench_data.evaluation.scoring.metrics import n_relevant, ranking_metrics, relevance
from readbench_data.evaluation.task.arrays import ArrayCache
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task, View

Progress = Callable[[str], None]


def tasks(release: Path, out: Path, datasets: Sequence[str] | None, progress: Progress) -> Iterator[Task]:
    """Yield the task of each dataset that has data; shared arrays are those of the stored results in ``out``.

    Raises
    ------
    UsageError
        A dataset is unknown, or none has data.
    """
    opened, store = Release(release), ResultsStore(out)
    infos = [opened.info(name) for name in (datasets if datasets is not None else opened.datasets)]
    if not any(info.has_data for info in infos):
        raise UsageError(f"{release}: none of {', '.join(i.name for i in infos)} has data: choose another dataset")
    for info in infos:
        if info.has_data:
            yield Task.load(opened, info.name, ArrayCache(store.shared))
        else:
            progress(f"{info.name}: no data ({info.reason or info.status})")


def ndcg_10(view: View, ranking: np.ndarray) -> float:
    """Return the mean NDCG@10 over queries of a ranking, int [nq, n] of positions in the corpus of this level."""
    queries, corpus = view.task.labels.query_labels, view.corpus_labels
    scores = ranking_metrics(relevance(ranking, queries, corpus), n_relevant(queries, corpus))
    return float(scores["ndcg", 10].mean())
