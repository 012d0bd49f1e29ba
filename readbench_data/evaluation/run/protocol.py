"""Runs every method on every dataset at every level; each unit is stored as soon as it is computed."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from readbench_data.evaluation.methods.base import RANDOM_STATES, Method
from readbench_data.evaluation.methods.registry import SHORT_LIST, method
from readbench_data.evaluation.methods.trivial import Random
from readbench_data.evaluation.run.results import EvaluationResult, gather
from readbench_data.evaluation.run.results_store import ResultsStore, Unit, UnitFacts, UnitStatus
from readbench_data.evaluation.run.session import Session
from readbench_data.evaluation.run.warm import warm_up
from readbench_data.evaluation.scoring.measure import Cost, measured, pinned_threads
from readbench_data.evaluation.task.release_data import LEVELS, DatasetInfo, Release
from readbench_data.evaluation.task.task import Task
from readbench_data.evaluation.task.windows import NAME, POSITION

Progress = Callable[[str], None]


def evaluate(
    release: Path,
    out: Path,
    methods: list[str] | None = None,
    datasets: list[str] | None = None,
    progress: Progress | None = None,
    alignment: str | None = None,
    session: Session | None = None,
) -> EvaluationResult:
    """Evaluate methods on a release, store the results and return them as rows.

    A result that is already stored for the same data, parameters and code is not computed again. A method that fails on
    a unit gets a ``failed`` row with its reason and the run continues; a dataset without data gets ``no_data`` rows.

    Parameters
    ----------
    release : Path
        A release folder.
    out : Path
        Folder for the results; created if it does not exist.
    methods : list of str, optional
        Names as in :mod:`~readbench_data.evaluation.methods.registry`. None: the short list.
    datasets : list of str, optional
        None: all datasets of the release.
    progress : function, optional
        Called with one line of text per unit.
    alignment : {"position", "name"}, optional
        How channels are compared. None: as the release states for each dataset. Where both alignments are possible and
        differ, the other one is computed and stored too, so that the board can show the difference; the returned rows
        are those of the stated one only.
    session : Session, optional
        What earlier calls for the same two folders have read. None: everything is read again.

    Returns
    -------
    EvaluationResult
        One row per method, random state, dataset, level, metric and K.

    Raises
    ------
    UsageError
        A method or dataset is unknown, or ``release`` is not a release.

    Examples
    --------
    ``release`` is a folder with a dataset ``waves`` of three fault classes, ``out`` an empty folder:

    >>> result = evaluate(release, out, ["Random", "ED"], ["waves"])
    >>> result.counts()
    {'ok': 6}
    >>> rows = result.rows.filter(metric="ndcg", k=10, rho=0)
    >>> random, ed = (rows.filter(method=name)["value"].item() for name in ("Random", "ED"))
    >>> ed > random
    True
    """
    return evaluate_methods(
        release, out, [method(m) for m in methods or SHORT_LIST], datasets, progress, alignment, session
    )


def evaluate_methods(
    release: Path,
    out: Path,
    methods: Sequence[Method],
    datasets: list[str] | None = None,
    progress: Progress | None = None,
    alignment: str | None = None,
    session: Session | None = None,
) -> EvaluationResult:
    """Evaluate method objects, also your own; otherwise the same as :func:`evaluate`.

    Parameters
    ----------
    methods : sequence of Method
        See :class:`~readbench_data.evaluation.methods.base.Method`. Results are stored by name, parameters and code.
    """
    session = session or Session.open(release, out)
    opened, store = session.release, session.store
    tell = progress or (lambda line: None)
    chosen = [opened.info(d) for d in (datasets if datasets is not None else opened.datasets)]
    chosen = [_aligned(opened, info, alignment, tell) for info in chosen]
    others = [] if alignment else [o for info in chosen if (o := _otherwise(opened, info)) is not None]
    for info in (*chosen, *others):
        if info.has_data:
            _evaluate_dataset(session, info, methods, tell)
        else:
            tell(f"{info.name}: no data ({info.reason or info.status})")
    units = [u for m in methods for i in chosen if i.has_data for u in _units(m, i)]
    for unit in {u.method: u for u in units}.values():
        store.mark(unit)
    ways = {i.name: i.alignment for i in chosen}
    result = gather(opened, store, [i.name for i in chosen], [m.name for m in methods], units, ways)
    result.write(Path(out))
    return result


def _aligned(release: Release, info: DatasetInfo, alignment: str | None, tell: Progress) -> DatasetInfo:
    """Return the dataset with the requested alignment, or with its own where the requested one is impossible."""
    if alignment in (None, info.alignment) or not info.has_data:
        return info
    if alignment == POSITION and not release.same_channel_count(info.name):
        tell(f"{info.name}: windows differ in how many channels they have: aligned by {info.alignment}")
        return info
    return replace(info, alignment=str(alignment))


def _otherwise(release: Release, info: DatasetInfo) -> DatasetInfo | None:
    """Return the dataset with the other alignment, or None where that is impossible or makes no difference."""
    other = release.other_alignment(info.name) if info.has_data else None
    return None if other is None else replace(info, alignment=other)


def _units(scorer: Method, info: DatasetInfo) -> list[Unit]:
    states: Sequence[int | None] = RANDOM_STATES if scorer.is_stochastic() else (None,)
    parameters = json.dumps(scorer.parameters(), sort_keys=True)
    code = scorer.code_version()
    return [
        Unit(scorer.name, parameters, state, info.name, rho, info.data_hash, info.alignment, code)
        for state in states
        for rho in LEVELS
    ]


def _evaluate_dataset(session: Session, info: DatasetInfo, methods: Sequence[Method], tell: Progress) -> None:
    store = session.store
    todo = [(m, u) for m in methods for u in _units(m, info) if not _done(store, u)]
    todo.sort(key=lambda pair: pair[1].rho)  # what methods share at a level is kept for one level at a time
    if not todo:
        tell(f"{_shown(info)}: {len(methods)} methods, all stored")
        return
    task = session.task(info)
    for scorer, unit in todo:
        facts, ranking, scores = run_unit(scorer, task, unit.rho, unit.random_state or 0)
        store.put(unit, facts.changed(origin=info.origin, partial=info.partial), ranking, scores)
        state = "" if unit.random_state is None else f", state {unit.random_state}"
        where = f" on {', '.join(scorer.devices())}" if scorer.devices() else ""
        outcome = f"{facts.wall_s:.2f} s{where}" if facts.status == UnitStatus.OK else f"FAILED: {facts.reason}"
        tell(f"{_shown(info)}: {scorer.name} at {unit.rho} %{state}: {outcome}")
    task.drop_caches()


def _shown(info: DatasetInfo) -> str:
    return info.name if info.alignment == NAME else f"{info.name} (channels by {info.alignment})"


def _done(store: ResultsStore, unit: Unit) -> bool:
    record = store.find(unit)
    return record is not None and record.ok


def run_unit(scorer: Method, task: Task, rho: int, seed: int) -> tuple[UnitFacts, np.ndarray | None, np.ndarray | None]:
    """Run one method on one task at one level.

    Parameters
    ----------
    scorer : Method
    task : Task
    rho : int
        Level of pollution in percent: 0, 10 or 20.
    seed : int
        Random state of a stochastic method.

    Returns
    -------
    facts : UnitFacts
        Status, cost and provenance. If the method raises an exception, the status is ``failed``, with the reason.
    ranking : int32 array [nq, n], or None
        Positions in the corpus of this level, best first; None if the method failed.
    scores : float64 array [nq, n], or None
    """
    view = task.view(rho, seed)
    fit, score = Cost(), Cost()
    status, reason, created = UnitStatus.OK, None, datetime.now(UTC).isoformat()
    ranking = scores = None
    with pinned_threads() as threads:
        if not scorer.is_remote():
            warm_up(scorer)
        try:
            with measured() as fit:
                fitted = scorer.fit(view)
            with measured() as score:
                scores = checked(scorer.score(view, fitted), (view.n_queries, view.n_corpus))
            ranking = view.rank(scores)
        except Exception as error:  # any exception of a method becomes a failed row, and the run continues
            status, reason = UnitStatus.FAILED, f"{type(error).__name__}: {error}".split("\n")[0]
            ranking = scores = None
    parts = {f"fit_{k}": v for k, v in asdict(fit).items()} | {f"score_{k}": v for k, v in asdict(score).items()}
    facts = UnitFacts(
        status=status,
        reason=reason,
        family=scorer.family,
        supervision=scorer.declared_supervision(),
        expectation=isinstance(scorer, Random),
        environment=environment(),
        created=created,
        reused_wall_s=view.reused_wall_s,
        reused_cpu_s=view.reused_cpu_s,
        wall_s=fit.wall_s + score.wall_s + view.reused_wall_s,
        cpu_s=fit.cpu_s + score.cpu_s + view.reused_cpu_s,
        peak_memory_mb=_most(fit.peak_memory_mb, score.peak_memory_mb),
        gpu_memory_mb=_most(fit.gpu_memory_mb, score.gpu_memory_mb),
        threads=threads,
        shared=tuple(view.shared_files),
        **parts,
    )
    return facts, ranking, scores


def _most(*values: float | None) -> float | None:
    return max((v for v in values if v is not None), default=None)


def checked(scores: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return ``scores`` as float64 [nq, n].

    Raises
    ------
    ValueError
        The shape is not ``shape``, or a score is NaN or +inf.
    """
    scores = np.asarray(scores, np.float64)
    if scores.shape != shape:
        raise ValueError(f"scores have shape {scores.shape}, expected {shape}")
    if np.isnan(scores).any() or np.isposinf(scores).any():
        raise ValueError("scores hold NaN or infinity")
    return scores


@lru_cache(maxsize=1)
def environment() -> dict[str, str]:
    """Return the Python version, the machine's architecture and the versions of the packages that computed a result."""
    packages = ("numpy", "numba", "scipy", "scikit-learn", "readbench-data")
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in packages:
        try:
            found[package] = version(package)
        except ImportError:
            found[package] = "not installed"
    return found
