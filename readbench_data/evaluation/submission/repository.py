"""The leaderboard of a results repository, from ``submissions/*/results.json``; nothing is executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.evaluation.board.leaderboard import Leaderboard
from readbench_data.evaluation.run.results import ROW_SCHEMA, EvaluationResult, absent_rows
from readbench_data.evaluation.submission.contract import folder_hash, problems
from readbench_data.evaluation.submission.metadata import Metadata
from readbench_data.evaluation.submission.results_file import RESULTS, ResultsFile
from readbench_data.evaluation.task.release_data import LEVELS, Release


def repository_board(repository: Path, release: Path) -> tuple[Leaderboard, list[str]]:
    """The board of a repository on a release, and one line for each result that is left out, with the reason.

    Left out are results of files that have changed since, and values of other data than the release's. Raises
    ReadbenchError if two submissions have the same name, UsageError if there is no results.json.
    """
    paths = sorted(Path(repository).glob(f"submissions/*/{RESULTS}"))
    if not paths:
        raise UsageError(f"{repository}: no submissions/*/{RESULTS}: run a submission first")
    opened = Release(release)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    named: dict[str, Path] = {}
    for path in paths:
        try:
            found = ResultsFile.read(path)
        except ReadbenchError as error:
            notes.append(str(error))
            continue
        if found.name in named:
            raise ReadbenchError(
                f"{path}: the name {found.name!r} is that of {named[found.name]} too: rename one of the two"
            )
        named[found.name] = path
        if why := _disagreement(found, path.parent):
            notes.append(f"{path}: left out: {why}: run the submission again")
            continue
        other = [n for n, data in found.datasets.items() if _hash(opened, n) != data]
        notes += [f"{path}: {name} is left out: its data are not those of release {opened.version}" for name in other]
        rows += _rows(found, opened, set(found.datasets) - set(other))
    result = EvaluationResult(pl.DataFrame(rows, schema=ROW_SCHEMA), pl.DataFrame())
    return Leaderboard(opened.version, tuple(opened.datasets), result, foreign=opened.foreign), notes


def _disagreement(found: ResultsFile, folder: Path) -> str | None:
    """What results.json states otherwise than the files next to it; None if they agree."""
    if wrong := problems(folder):
        return wrong[0]
    if found.submission_sha256 != folder_hash(folder):
        return "the files have changed since"
    meta = Metadata.read(folder)
    keys = ("name", "family", "supervision")
    other = [key for key in keys if getattr(found, key) != getattr(meta, key)]
    return f"it states another {' and '.join(other)} than metadata.yaml" if other else None


def _hash(release: Release, name: str) -> str | None:
    info = release.datasets.get(name)
    return info.data_hash if info is not None and info.has_data else None


def _rows(found: ResultsFile, release: Release, datasets: set[str]) -> list[dict[str, Any]]:
    described = {"family": found.family, "supervision": str(found.supervision)}
    rows: list[dict[str, Any]] = []
    for info in release.datasets.values():
        if info.name not in datasets:
            rows += [row for rho in LEVELS for row in absent_rows(found.name, described, info, rho)]
            continue
        base = {
            "method": found.name,
            **described,
            "alignment": info.alignment,
            "origin": info.origin,
            "partial": info.partial,
            "same_at_all_levels": release.labels(info.name).same_at_all_levels,
            "harness": f"{found.mode}, {found.isolation}",
            "code_version": found.submission_sha256[:12],
            "data_hash": info.data_hash,
        }
        rows += [{**base, **row.to_json()} for row in found.results if row.dataset == info.name]
    return rows
