"""Reruns a submission and compares the results with its results.json."""

from __future__ import annotations

import tempfile
from pathlib import Path

from readbench_data.errors import UsageError
from readbench_data.evaluation.submission.contract import Submission
from readbench_data.evaluation.submission.guard import Limits
from readbench_data.evaluation.submission.harness import Progress, run_submission
from readbench_data.evaluation.submission.results_file import RESULTS, ResultsFile
from readbench_data.evaluation.task.release_data import Release

TOLERANCE = 1e-12
ORDER_MATTERS = "the answers depend on the order of the corpus: decide ties by the values"

Key = tuple[str, int, str, int]
Values = dict[Key, float | None]


def verify_submission(
    folder: Path, release: Path, limits: Limits | None = None, progress: Progress | None = None
) -> list[str]:
    """Rerun ``folder`` and compare with its results.json: returns one line per difference, empty if all is confirmed.

    In strict mode the corpus is in a different order in every run. Datasets whose values differ are run once more: if
    the two reruns differ too, the answers depend on that order, and the line reports it.
    """
    path = Path(folder) / RESULTS
    if not path.is_file():
        raise UsageError(f"{path}: file is missing; run the submission first")
    claim, submission, opened = ResultsFile.read(path), Submission.load(Path(folder)), Release(release)
    stated = {(r.dataset, r.rho, r.metric, r.k): r.value for r in claim.results}
    found = []
    if claim.submission_sha256 != submission.sha256:
        found.append("the files are not those that results.json was computed from")
    known = {n: opened.info(n).data_hash for n in opened.datasets}
    found += [
        f"{n}: results.json was computed on other data" for n, data in claim.datasets.items() if known.get(n) != data
    ]
    wanted = [n for n, data in claim.datasets.items() if known.get(n) == data]

    def again(datasets: list[str]) -> Values:
        return _rerun(path, release, claim.mode, datasets, limits, progress)

    now = again(wanted)
    claimed = {key for key, value in stated.items() if value is not None}
    unbacked = sorted({dataset for dataset, *_ in claimed - now.keys()} - claim.datasets.keys())
    found += [f"{n}: results.json has values for it but not the hash of its data" for n in unbacked]
    differing = [key for key, value in now.items() if not _same(stated.get(key), value)]
    second = again(sorted({key[0] for key in differing})) if differing and claim.mode == "strict" else {}
    for key in differing:
        dataset, rho, metric, k = key
        order_dependent = key in second and not _same(second[key], now[key])
        why = f"; another rerun gives {second[key]}: {ORDER_MATTERS}" if order_dependent else ""
        found.append(f"{dataset} at {rho} %: {metric}@{k} is {now[key]}, results.json has {stated.get(key)}{why}")
    return found


def _rerun(
    path: Path, release: Path, mode: str, datasets: list[str], limits: Limits | None, progress: Progress | None
) -> Values:
    """Return the values of a run into a temporary store; results.json is left unchanged."""
    before = path.read_bytes()
    try:
        with tempfile.TemporaryDirectory() as fresh:
            rows = run_submission(path.parent, release, Path(fresh), mode, datasets, limits, progress).rows
    finally:
        path.write_bytes(before)
    return {(r["dataset"], r["rho"], r["metric"], r["k"]): r["value"] for r in rows.iter_rows(named=True)}


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= TOLERANCE
