"""New, validate and run: from a folder with a method to rows on the leaderboard; ``verification`` reruns and compares.

new("submissions/my-method")                      a working example to edit
validate("submissions/my-method")                 what is wrong, executing nothing
run("submissions/my-method", release, out)        ranks every query in a jail, writes results.json
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.errors import UsageError
from readbench_data.evaluation.methods.fusion import scores_of
from readbench_data.evaluation.run.protocol import environment
from readbench_data.evaluation.run.results import EvaluationResult, gather
from readbench_data.evaluation.run.results_store import Store, Unit
from readbench_data.evaluation.scoring.measure import measured
from readbench_data.evaluation.submission import example
from readbench_data.evaluation.submission.contract import RESULTS, Submission, problems
from readbench_data.evaluation.submission.guard import Limits, Spent
from readbench_data.evaluation.submission.masking import MODES, Entry, entries_of, masked_item, masked_query, shown
from readbench_data.evaluation.submission.sandbox import Refused, can_isolate, rank_all
from readbench_data.evaluation.task.release_data import CORPUS_FILES, LEVELS, DatasetInfo, Release

Progress = Callable[[str], None]
FORMAT = 1


def new(folder: Path, name: str | None = None) -> list[Path]:
    """Write the example submission into ``folder``, which must not exist or be empty; the files written."""
    folder = Path(folder)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    title = re.sub(r"[^\w .+|~>-]", " ", name or folder.resolve().name)
    for file, text in example.FILES.items():
        (folder / file).write_text(text.replace("{name}", json.dumps(title)))
    return [folder / file for file in example.FILES]


def validate(folder: Path) -> list[str]:
    """What keeps ``folder`` from being a submission, one line each; empty when it is one."""
    return problems(Path(folder))


def run(
    folder: Path,
    release: Path,
    out: Path,
    mode: str = "strict",
    datasets: list[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Rank every query of every dataset at every level with the method in ``folder``; store and write results.json.

    A unit in which the method breaks the contract or a limit is ``failed`` with one line that says how; the others
    go on. What is stored for the same files, mode and data is not run again. Where namespaces cannot be had the
    results say ``unisolated``. ReadbenchError if the folder is not a submission.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}; use {' or '.join(MODES)}")
    submission, opened, store = Submission.load(Path(folder)), Release(release), Store(Path(out))
    tell = progress or (lambda line: None)
    infos = [opened.info(d) for d in (datasets if datasets is not None else opened.datasets)]
    units: set[Path] = set()
    for info in infos:
        if info.status != "ok":
            tell(f"{info.name}: no data ({info.reason or info.status})")
            continue
        for rho in LEVELS:
            unit = _unit(submission, mode, info, rho)
            units.add(unit.path)
            stored = store.find(unit)
            if stored is None or not stored.ok:
                _run_unit(submission, opened, info, unit, mode, limits or Limits(), store, tell)
    result = gather(opened, store, [i.name for i in infos], [submission.name], units)
    _write_results(submission, opened, mode, result)
    return result


def isolation() -> str:
    """How methods run on this machine: ``isolated`` in namespaces of their own, or ``unisolated``."""
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
    store: Store,
    tell: Progress,
) -> None:
    queries, corpus = _released(release, info, unit.rho)
    key = secrets.token_bytes(32)
    asked = shown(queries, mode, key, partial(masked_query, mode=mode))
    items = shown(corpus, mode, key, partial(masked_item, mode=mode, supervision=submission.supervision))
    facts: dict[str, Any] = {
        "status": "ok",
        "reason": None,
        "family": submission.family,
        "supervision": submission.supervision,
        "expectation": False,
        "harness": f"{mode}, {isolation()}",
        "environment": environment(),
        "created": datetime.now(UTC).isoformat(),
    }
    ranking = scores = None
    spent = Spent(None, None)
    with measured(memory=False) as cost:
        try:
            ranked = rank_all(submission.folder, asked.entries, items.entries, limits)
            spent = ranked.spent
            ranking = np.empty_like(ranked.orders)
            ranking[asked.origin] = items.origin[ranked.orders]
            scores = scores_of(ranking)
        except Refused as refusal:
            facts["status"], facts["reason"] = "failed", str(refusal)
    facts |= dict.fromkeys(("fit_wall_s", "fit_cpu_s", "score_cpu_s", "threads"))
    facts |= {"reused_wall_s": 0.0, "reused_cpu_s": 0.0, "wall_s": cost.wall_s, "score_wall_s": cost.wall_s}
    facts |= {"cpu_s": spent.cpu_s, "peak_memory_mb": spent.peak_memory_mb}
    store.put(unit, facts, ranking, scores)
    outcome = f"{cost.wall_s:.2f} s" if facts["status"] == "ok" else f"FAILED: {facts['reason']}"
    tell(f"{info.name}: {submission.name} at {unit.rho} %: {outcome}")


def _released(release: Release, info: DatasetInfo, rho: int) -> tuple[list[Entry], list[Entry]]:
    folder = release.root / "data" / info.name
    tables = [pq.read_table(folder / f) for level, f in CORPUS_FILES.items() if level <= rho and f in info.files]
    return entries_of(pq.read_table(folder / "queries.parquet")), entries_of(pa.concat_tables(tables))


def _write_results(submission: Submission, release: Release, mode: str, result: EvaluationResult) -> None:
    rows = result.rows.select(
        "dataset", "rho", "metric", "k", "value", "status", "reason", "n_queries", "n_no_relevant"
    )
    names = result.rows.filter(pl.col("status") != "no_data")["dataset"].unique(maintain_order=True)
    content = {
        "format": FORMAT,
        "name": submission.name,
        "supervision": submission.supervision,
        "submission_sha256": submission.sha256,
        "mode": mode,
        "isolation": isolation(),
        "release": release.version,
        "datasets": {n: release.info(n).data_hash for n in names},
        "results": list(rows.iter_rows(named=True)),
    }
    path = submission.folder / RESULTS
    temporary = path.with_name(f".{RESULTS}.tmp")
    temporary.write_text(json.dumps(content, indent=1) + "\n")
    temporary.replace(path)
