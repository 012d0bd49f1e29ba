"""The queries and the corpus of one dataset as arrays, as tables, and as TREC qrels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.errors import UsageError
from readbench_data.evaluation.task.release_data import LEVELS, Release, TaskLabels, normal_positions
from readbench_data.evaluation.task.windows import Windows

RUN_ID = "0"
"""The second column of a TREC qrels file; it has no meaning."""


@dataclass(frozen=True)
class Loaded:
    """One dataset of a release at one level.

    Attributes
    ----------
    dataset : str
    level : int
        Percent of Normal windows in the corpus: 0, 10 or 20.
    queries, corpus, normals : Windows
        ``entry_ids``, ``values`` (float32 [T][C] each) and ``channels``. ``normals`` are the Normal windows of the
        20 % corpus, which a method may use as its reference of normal operation at every level.
    query_labels, corpus_labels : str array
        The class of each query [nq] and corpus entry [n].
    """

    dataset: str
    level: int
    queries: Windows
    corpus: Windows
    normals: Windows
    query_labels: np.ndarray
    corpus_labels: np.ndarray

    @cached_property
    def relevance(self) -> np.ndarray:
        """Whether a corpus entry has the fault of a query: bool [nq, n]."""
        same = self.query_labels[:, None] == self.corpus_labels[None, :]
        return np.asarray(same & (self.query_labels != NORMAL)[:, None])

    @property
    def qrels(self) -> pl.DataFrame:
        """The relevant pairs, one row each: ``query_id``, ``doc_id``, ``relevance`` (always 1)."""
        query, item = np.nonzero(self.relevance)
        ids = np.array(self.queries.entry_ids, object), np.array(self.corpus.entry_ids, object)
        columns = {"query_id": ids[0][query].tolist(), "doc_id": ids[1][item].tolist()}
        return pl.DataFrame(columns, schema={"query_id": pl.String, "doc_id": pl.String}).with_columns(relevance=1)

    def frame(self, part: str = "corpus") -> pl.DataFrame:
        """``queries`` or ``corpus`` as a table: ``entry_id``, ``class_label``, ``channels``, ``ts_values``."""
        if part not in ("queries", "corpus"):
            raise UsageError(f"part {part!r}: give queries or corpus")
        windows = self.queries if part == "queries" else self.corpus
        labels = self.query_labels if part == "queries" else self.corpus_labels
        return pl.DataFrame(
            {
                "entry_id": windows.entry_ids,
                "class_label": labels.tolist(),
                "channels": [list(names) for names in windows.channels],
                "ts_values": [value.tolist() for value in windows.values],
            },
            schema_overrides={"ts_values": pl.List(pl.List(pl.Float32))},
        )

    def queries_iter(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield (id, values [T][C]) of every query, as ir_datasets does."""
        yield from zip(self.queries.entry_ids, self.queries.values, strict=True)

    def docs_iter(self) -> Iterator[tuple[str, np.ndarray]]:
        """Yield (id, values [T][C]) of every corpus entry."""
        yield from zip(self.corpus.entry_ids, self.corpus.values, strict=True)


def load(release: str | Path, dataset: str, level: int = 0, data: str = "data") -> Loaded:
    """Load one dataset of a release at one level.

    Parameters
    ----------
    release : str or Path
        A folder, a version in the data root, or OWNER/NAME@TAG on the Hub, which is pulled.
    dataset : str
    level : {0, 10, 20}
        Percent of Normal windows in the corpus.
    data : str
        The data root.

    Raises
    ------
    UsageError
        The dataset is unknown or has no data, or there is no such level.

    Examples
    --------
    ``release`` is a folder with a dataset ``waves`` of three fault classes:

    >>> waves = load(release, "waves", level=10)
    >>> waves.corpus.values[0].shape, waves.relevance.shape
    ((32, 3), (9, 40))
    >>> waves.qrels.columns
    ['query_id', 'doc_id', 'relevance']
    """
    opened = open_release(release, data)
    labels = labels_of(opened, dataset, level)
    queries, corpus = opened.windows(dataset)
    members = labels.members(level)
    return Loaded(
        dataset=dataset,
        level=level,
        queries=queries,
        corpus=corpus.take(members),
        normals=corpus.take(normal_positions(labels)),
        query_labels=labels.query_labels,
        corpus_labels=labels.corpus_labels[members],
    )


def qrels(
    release: str | Path,
    path: str | Path | None = None,
    level: int = 0,
    datasets: Sequence[str] | None = None,
    data: str = "data",
) -> pl.DataFrame:
    """Return the relevant pairs of a release, and write them as a TREC qrels file if ``path`` is given.

    The file is what ir_measures, ranx and pytrec_eval read: query id, 0, entry id, 1. Ids are unique over all datasets.

    Examples
    --------
    >>> table = qrels(release, out / "waves.qrels", datasets=["waves"])
    >>> table.height, (out / "waves.qrels").read_text().splitlines()[0].split()[1::2]
    (108, ['0', '1'])
    """
    opened = open_release(release, data)
    names = datasets if datasets is not None else [n for n, info in opened.datasets.items() if info.has_data]
    tables = []
    for name in names:
        labels = labels_of(opened, name, level)
        members = labels.members(level)
        query, item = np.nonzero(labels.query_labels[:, None] == labels.corpus_labels[members][None, :])
        found = {
            "dataset": [name] * len(query),
            "query_id": [labels.query_ids[i] for i in query],
            "doc_id": [labels.corpus_ids[members[i]] for i in item],
        }
        tables.append(pl.DataFrame(found, schema=dict.fromkeys(found, pl.String)).with_columns(relevance=1))
    table = pl.concat(tables)
    if path is not None:
        lines = (f"{query} {RUN_ID} {doc} 1\n" for query, doc in table.select("query_id", "doc_id").iter_rows())
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("".join(lines), encoding="utf-8")
    return table


def open_release(release: str | Path, data: str) -> Release:
    """Open a release; see :func:`load` for its names."""
    from readbench_data.cli.common import find_release

    return Release(find_release(data, str(release)))


def labels_of(release: Release, dataset: str, level: int) -> TaskLabels:
    """Return ids and classes of a dataset. Raises ``UsageError`` if it has no data or there is no such level."""
    if level not in LEVELS:
        raise UsageError(f"level {level!r}: there are {', '.join(map(str, LEVELS))} (percent of Normal windows)")
    info = release.info(dataset)
    if not info.has_data:
        raise UsageError(f"{dataset}: no data in this release ({info.reason or info.status})")
    return release.labels(dataset)
