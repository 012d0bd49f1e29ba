"""From stored units to rows: metrics per query, means per unit, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.run.present import LeftOut
from readbench_data.evaluation.run.results_store import ResultsStore, Unit, UnitRecord, UnitStatus, in_order
from readbench_data.evaluation.scoring.chance import random_macro_f1
from readbench_data.evaluation.scoring.metrics import (
    CUTOFFS,
    Scores,
    macro_f1,
    n_relevant,
    predict_labels,
    random_expectation,
    ranking_metrics,
    relevance,
    tie_averaged_gain,
)
from readbench_data.evaluation.task.release_data import LEVELS, DatasetInfo, Release, TaskLabels

F1_CUTOFFS = (1, 10)
METRICS = (
    *((m, k) for m in ("ndcg", "ndcg_tie_averaged", "precision", "hit_rate") for k in CUTOFFS),
    *(("macro_f1", k) for k in F1_CUTOFFS),
)
"""(metric, K) of every row; macro_f1 at K = 1 predicts by the first item, at 10 by the majority of ten."""

Row = dict[str, Any]
"""A row of results: its cells by column, as in ``ROW_SCHEMA``."""

ROW_SCHEMA: dict[str, type[pl.DataType]] = {
    "method": pl.String,
    "family": pl.String,
    "supervision": pl.String,
    "dataset": pl.String,
    "alignment": pl.String,
    "rho": pl.Int64,
    "random_state": pl.Int64,
    "metric": pl.String,
    "k": pl.Int64,
    "value": pl.Float64,
    "n_queries": pl.Int64,
    "n_no_relevant": pl.Int64,
    "n_corpus": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
    "origin": pl.String,
    "partial": pl.Boolean,
    "same_at_all_levels": pl.Boolean,
    "wall_s": pl.Float64,
    "cpu_s": pl.Float64,
    "fit_wall_s": pl.Float64,
    "fit_cpu_s": pl.Float64,
    "score_wall_s": pl.Float64,
    "score_cpu_s": pl.Float64,
    "reused_wall_s": pl.Float64,
    "reused_cpu_s": pl.Float64,
    "peak_memory_mb": pl.Float64,
    "gpu_memory_mb": pl.Float64,
    "threads": pl.Int64,
    "harness": pl.String,
    "created": pl.String,
    "code_version": pl.String,
    "data_hash": pl.String,
}
FACTS = (
    "family", "supervision", "status", "reason", "wall_s", "cpu_s", "fit_wall_s", "fit_cpu_s", "score_wall_s",
    "score_cpu_s", "reused_wall_s", "reused_cpu_s", "peak_memory_mb", "gpu_memory_mb", "threads", "harness", "created",
)  # fmt: skip


@dataclass(frozen=True)
class EvaluationResult:
    """The results of an evaluation as tables.

    Attributes
    ----------
    rows : polars.DataFrame
        One row per (method, random state, dataset, rho, metric, k). ``value`` is the mean over queries, null where
        ``status`` is not ``ok``. ``harness`` states how a submission was run; it is null for our own methods.
    per_query : polars.DataFrame
        One row per query, one column per metric.
    left_out : tuple of LeftOut
        Stored results that do not count, such as those of earlier code, with the reason.
    """

    rows: pl.DataFrame
    per_query: pl.DataFrame
    left_out: tuple[LeftOut, ...] = ()

    def write(self, out: Path) -> None:
        """Write ``results.parquet`` and ``per_query.parquet`` to the folder ``out``."""
        out.mkdir(parents=True, exist_ok=True)
        for name, table in (("results", self.rows), ("per_query", self.per_query)):
            temporary = out / f".{name}.parquet.tmp"
            table.write_parquet(temporary)
            temporary.replace(out / f"{name}.parquet")

    def counts(self) -> dict[str, int]:
        """Return the number of units per status."""
        units = self.rows.unique(["method", "random_state", "dataset", "rho"])
        return {str(s): int(n) for s, n in units.group_by("status").len().iter_rows()}


def unit_metrics(record: UnitRecord, labels: TaskLabels) -> tuple[Scores, dict[tuple[str, int], float]]:
    """Compute every metric of a stored unit from its ranking and scores alone.

    Parameters
    ----------
    record : UnitRecord
        If it stands for all random orders (Random), the exact expectations are returned.
    labels : TaskLabels
        Classes of all queries and of the largest corpus.

    Returns
    -------
    per_query : dict of (metric, K) to float64 array [nq]
    f1 : dict of (metric, K) to float
        Macro-F1, which has no value per query.

    Raises
    ------
    ReadbenchError
        The stored ranking does not have the shape [queries, corpus].
    """
    corpus = labels.corpus_labels[labels.members(record.unit.rho)]
    n_rel = n_relevant(labels.query_labels, corpus)
    if record.facts.expectation:
        metrics = random_expectation(len(corpus), n_rel)
        tied, f1 = metrics, {("macro_f1", k): random_macro_f1(labels.query_labels, corpus, k) for k in F1_CUTOFFS}
    else:
        ranking, scores = record.arrays()
        if ranking.shape != (len(labels.query_labels), len(corpus)):
            raise ReadbenchError(f"{record.file}: ranking has shape {ranking.shape}; delete the file and rerun")
        metrics = ranking_metrics(relevance(ranking, labels.query_labels, corpus), n_rel)
        tied = ranking_metrics(tie_averaged_gain(ranking, scores, labels.query_labels, corpus), n_rel)
        predicted = {k: predict_labels(ranking, corpus, k) for k in F1_CUTOFFS}
        f1 = {("macro_f1", k): macro_f1(labels.query_labels, p) for k, p in predicted.items()}
    return metrics | {("ndcg_tie_averaged", k): tied["ndcg", k] for k in CUTOFFS}, f1


def gather(
    release: Release,
    store: ResultsStore,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    units: Sequence[Unit] | None = None,
    alignments: Mapping[str, str] | None = None,
) -> EvaluationResult:
    """Return the rows of everything that is stored for a release.

    Every (method, dataset, level) has rows. Where nothing is stored, the status is ``no_data`` if the dataset has no
    data, otherwise ``not_run``.

    Parameters
    ----------
    release : Release
    store : ResultsStore
    datasets, methods : sequence of str, optional
        Limit the rows to these. None: all.
    units : sequence of Unit, optional
        Exactly these units. None: those that count (``run.present``).
    alignments : mapping of dataset to alignment, optional
        How channels were compared; default: as the release states. Results of other alignments are left out, so that
        the two never mix in a mean.

    Returns
    -------
    EvaluationResult
    """
    infos = [release.info(d) for d in (datasets if datasets is not None else release.datasets)]
    records, left_out = _stored(store, infos, units)
    ways = {i.name: i.alignment for i in infos} | dict(alignments or {})
    records = [r for r in records if r.unit.alignment == ways[r.unit.dataset]]
    if methods is None:
        methods = list(dict.fromkeys(r.unit.method for r in records))
    records = [r for r in records if r.unit.method in methods]
    described = {r.unit.method: {k: getattr(r.facts, k) for k in ("family", "supervision")} for r in records}
    rows: list[Row] = []
    queries: list[pl.DataFrame] = []
    for info in infos:
        labels = release.labels(info.name) if info.has_data else None
        mine = [r for r in records if r.unit.dataset == info.name]
        for record in mine if labels is not None else ():
            assert labels is not None
            new_rows, table = _derived(store, record, info, labels)
            rows.extend(new_rows)
            if table is not None:
                queries.append(table)
        covered = {(r.unit.method, r.unit.rho) for r in mine}
        absent = [(m, rho) for m in methods for rho in LEVELS if (m, rho) not in covered]
        for name, rho in absent:
            rows.extend(absent_rows(name, described.get(name, {}), info, rho))
    per_query = pl.concat(queries) if queries else pl.DataFrame()
    return EvaluationResult(pl.DataFrame(rows, schema=ROW_SCHEMA), per_query, left_out)


def _stored(
    store: ResultsStore, infos: Sequence[DatasetInfo], units: Sequence[Unit] | None
) -> tuple[list[UnitRecord], tuple[LeftOut, ...]]:
    if units is None:
        return store.selected({i.name: i.data_hash for i in infos if i.has_data})
    found = (store.find(unit) for unit in units)
    return sorted((record for record in found if record is not None), key=in_order), ()


def _derived(
    store: ResultsStore, record: UnitRecord, info: DatasetInfo, labels: TaskLabels
) -> tuple[list[Row], pl.DataFrame | None]:
    """Return :func:`_unit_rows`, computed once per record that a store has read."""
    key = record.file, info
    held = store.derived.get(key)
    if held is None or held[0] is not record:
        held = store.derived[key] = record, _unit_rows(record, info, labels)
    rows: tuple[list[Row], pl.DataFrame | None] = held[1]
    return rows


def _unit_rows(record: UnitRecord, info: DatasetInfo, labels: TaskLabels) -> tuple[list[Row], pl.DataFrame | None]:
    unit = record.unit
    corpus = labels.corpus_labels[labels.members(unit.rho)]
    n_rel = n_relevant(labels.query_labels, corpus)
    base = {k: getattr(record.facts, k) for k in FACTS} | {
        "method": unit.method,
        "dataset": unit.dataset,
        "alignment": unit.alignment,
        "rho": unit.rho,
        "random_state": unit.random_state,
        "n_queries": len(n_rel),
        "n_no_relevant": int((n_rel == 0).sum()),
        "n_corpus": len(corpus),
        "origin": info.origin,
        "partial": info.partial,
        "same_at_all_levels": labels.same_at_all_levels,
        "code_version": unit.code_version,
        "data_hash": unit.data_hash,
    }
    if not record.ok:
        return _with_metrics(base, {}), None
    per_query, f1 = unit_metrics(record, labels)
    means = {key: float(v.mean()) for key, v in per_query.items()}
    keys = ("method", "dataset", "alignment", "rho", "random_state")
    table = pl.DataFrame(
        {
            "query_id": labels.query_ids,
            "class_label": labels.query_labels.tolist(),
            "n_relevant": n_rel,
            **{f"{metric}@{k}": values for (metric, k), values in per_query.items()},
        }
    ).select(*(pl.lit(base[k], dtype=ROW_SCHEMA[k]).alias(k) for k in keys), pl.all())
    return _with_metrics(base, means | f1), table


def absent_rows(name: str, described: Row, info: DatasetInfo, rho: int) -> list[Row]:
    """Return the rows of a method that has no result for a dataset at one level, with the reason."""
    status = UnitStatus.NOT_RUN if info.has_data else UnitStatus.NO_DATA
    reason = None if info.has_data else info.reason or info.status
    base = {"method": name, "dataset": info.name, "rho": rho, "status": status, "reason": reason, **described}
    return _with_metrics({**base, "origin": info.origin, "partial": info.partial}, {})


def _with_metrics(base: Row, values: dict[tuple[str, int], float]) -> list[Row]:
    return [{**base, "metric": m, "k": k, "value": values.get((m, k))} for m, k in METRICS]
