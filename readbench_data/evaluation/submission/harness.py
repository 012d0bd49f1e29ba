"""Creates, validates and runs submissions; ``verification`` reruns one and compares the results.

new("submissions/my-method")                            writes a working example to edit
validate("submissions/my-method")                       returns its problems without executing it
run_submission("submissions/my-method", release, out)   ranks every query in a sandbox and writes results.json
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.methods.fusion import scores_of
from readbench_data.evaluation.run.protocol import environment
from readbench_data.evaluation.run.results import EvaluationResult, gather
from readbench_data.evaluation.run.results_store import ResultsStore, Unit, UnitFacts, UnitStatus
from readbench_data.evaluation.scoring.measure import measured
from readbench_data.evaluation.submission import example
from readbench_data.evaluation.submission.contract import Submission, problems
from readbench_data.evaluation.submission.guard import Limits, Spent
from readbench_data.evaluation.submission.masking import (
    MODES,
    EntryFields,
    entries_of,
    masked_item,
    masked_query,
    shown,
)
from readbench_data.evaluation.submission.metadata import Metadata
from readbench_data.evaluation.submission.results_file import FORMAT, RESULTS, ResultsFile
from readbench_data.evaluation.submission.sandbox import MethodFailed, can_isolate, rank_all
from readbench_data.evaluation.task.release_data import CORPUS_FILES, LEVELS, DatasetInfo, Release

Progress = Callable[[str], None]


def new(folder: Path, name: str | None = None) -> list[Path]:
    """Write the example submission into ``folder``, which must be new or empty, and return the files written."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    title = re.sub(r"[^\w .+|~>-]", " ", name or folder.resolve().name)
    for file, text in example.FILES.items():
        (folder / file).write_text(text.replace("{name}", json.dumps(title)))
    return [folder / file for file in example.FILES]


def validate(folder: Path) -> list[str]:
    """Return the problems of the submission in ``folder``, one line each; empty if it is valid."""
    return problems(Path(folder))


def run_submission(
    folder: Path,
    release: Path,
    out: Path,
    mode: str = "strict",
    datasets: list[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Rank every query of every dataset at every level with the method in ``folder``; store and write results.json.

    A unit (dataset and level) in which the method breaks the contract or a limit is ``failed`` with the reason in one
    line; the other units still run. Results stored for the same files, mode and data are reused. Without namespaces the
    results are marked ``unisolated``. Raises ReadbenchError if the folder is not a valid submission, or if another
    folder of this name was run into ``out`` before.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; use {' or '.join(MODES)}")
    submission, opened, store = Submission.load(Path(folder)), Release(release), ResultsStore(Path(out))
    _refuse_second_folder(submission, store)
    report = progress or (lambda line: None)
    if submission.note:
        report(f"{submission.name}: {submission.note}")
    infos = [opened.info(d) for d in (datasets if datasets is not None else opened.datasets)]
    units: list[Unit] = []
    for info in infos:
        if not info.has_data:
            report(f"{info.name}: no data ({info.reason or info.status})")
            continue
        for rho in LEVELS:
            unit = _unit(submission, mode, info, rho)
            units.append(unit)
            store.mark(unit, submission.folder)
            stored = store.find(unit)
            if stored is None or not stored.ok:
                _run_unit(submission, opened, info, unit, mode, limits or Limits(), store, report)
    result = gather(opened, store, [i.name for i in infos], [submission.name], units)
    _write_results(submission, opened, mode, result)
    return result


def _refuse_second_folder(submission: Submission, store: ResultsStore) -> None:
    """Two folders of one name would replace each other on the board; a folder that was moved or renamed may go on."""
    other = store.folder_of(submission.name)
    if other is None or other == submission.folder.resolve() or not other.is_dir() or problems(other):
        return
    if Metadata.read(other).name == submission.name:
        raise ReadbenchError(
            f"{submission.folder}: the name {submission.name!r} is that of {other} too, which was run before: "
            "rename one of the two in its metadata.yaml"
        )


def isolation() -> str:
    """Return how methods run on this machine: ``isolated`` in their own namespaces, or ``unisolated``."""
    return "isolated" if can_isolate() else "unisolated"


def _unit(submission: Submission, mode: str, info: DatasetInfo, rho: int) -> Unit:
    parameters = {"submission": submission.sha256, "mode": mode, "isolated": can_isolate()}
    text = json.dumps(parameters, sort_keys=True)
    return Unit(submission.name, text, None, info.name, rho, info.data_hash, info.alignment, submission.sha256[:12])


def _run_unit(
    submission: Submission,
    release: Release,
    info: DatasetInfo,
    unit: Unit,
    mode: str,
    limits: Limits,
    store: ResultsStore,
    report: Progress,
) -> None:
    queries, corpus = _released(release, info, unit.rho)
    key = secrets.token_bytes(32)
    masked = shown(queries, mode, key, partial(masked_query, mode=mode))
    items = shown(corpus, mode, key, partial(masked_item, mode=mode, supervision=submission.supervision))
    status, reason, created = UnitStatus.OK, None, datetime.now(UTC).isoformat()
    ranking = scores = None
    spent = Spent(None, None)
    with measured(memory=False) as cost:
        try:
            ranked = rank_all(submission.folder, masked.entries, items.entries, limits, submission.arrays)
            spent = ranked.spent
            ranking = np.empty_like(ranked.orders)
            ranking[masked.origin] = items.origin[ranked.orders]
            scores = scores_of(ranking)
        except MethodFailed as failure:
            status, reason = UnitStatus.FAILED, str(failure)
    facts = UnitFacts(
        status=status,
        reason=reason,
        family=submission.family,
        supervision=submission.supervision,
        expectation=False,
        environment=environment(),
        created=created,
        wall_s=cost.wall_s,
        cpu_s=spent.cpu_s,
        reused_wall_s=0.0,
        reused_cpu_s=0.0,
        fit_wall_s=None,
        fit_cpu_s=None,
        score_wall_s=cost.wall_s,
        score_cpu_s=None,
        peak_memory_mb=spent.peak_memory_mb,
        threads=None,
        harness=f"{mode}, {isolation()}",
    )
    store.put(unit, facts, ranking, scores)
    outcome = f"{cost.wall_s:.2f} s" if status == UnitStatus.OK else f"FAILED: {reason}"
    report(f"{info.name}: {submission.name} at {unit.rho} %: {outcome}")


def _released(release: Release, info: DatasetInfo, rho: int) -> tuple[list[EntryFields], list[EntryFields]]:
    folder = release.root / "data" / info.name
    tables = [pq.read_table(folder / f) for level, f in CORPUS_FILES.items() if level <= rho and f in info.files]
    return entries_of(pq.read_table(folder / "queries.parquet")), entries_of(pa.concat_tables(tables))


def _write_results(submission: Submission, release: Release, mode: str, result: EvaluationResult) -> None:
    rows = result.rows.select(
        "dataset", "rho", "metric", "k", "value", "status", "reason", "n_queries", "n_no_relevant"
    )
    names = result.rows.filter(pl.col("status") != UnitStatus.NO_DATA)["dataset"].unique(maintain_order=True)
    content = {
        "format": FORMAT,
        "name": submission.name,
        "family": submission.family,
        "supervision": submission.supervision,
        "submission_sha256": submission.sha256,
        "mode": mode,
        "isolation": isolation(),
        "release": release.version,
        "datasets": {n: release.info(n).data_hash for n in names},
        "results": list(rows.iter_rows(named=True)),
    }
    ResultsFile.parse(content).write(submission.folder / RESULTS)
