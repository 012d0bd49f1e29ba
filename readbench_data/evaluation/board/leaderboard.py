"""The leaderboard: what is stored for a release, as one table. Its forms: ``text``, ``page``, ``files``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from readbench_data.dataset.files import OriginKind
from readbench_data.evaluation.board.means import BASELINES, compared, covered, macro_table
from readbench_data.evaluation.run.results import EvaluationResult, Row, gather
from readbench_data.evaluation.run.results_store import UnitStatus
from readbench_data.evaluation.run.session import Session
from readbench_data.evaluation.task.release_data import LEVELS

if TYPE_CHECKING:
    from readbench_data.evaluation.statistics.comparison import Comparison

PRIMARY = ("ndcg", 10)
"""READ-Bench's primary metric: NDCG@10, the mean over queries, then over datasets."""

HASH_SHOWN = 8
"""Digits of a hash that tables show."""

MINIATURE_BANNER = "built from miniatures: not READ-Bench results"


class AlignmentRow(NamedTuple):
    """NDCG@10 of a method by level: as the release states, the other way, and other minus stated; None where it was not
    run at a level."""

    method: str
    stated: list[float | None]
    otherwise: list[float | None]
    difference: list[float | None]


class AlignmentTable(NamedTuple):
    """What depends on how the channels of one dataset are aligned: ``stated`` in the release, or the ``other`` way."""

    dataset: str
    stated: str
    other: str
    rows: tuple[AlignmentRow, ...]


@dataclass(frozen=True)
class Leaderboard:
    """Results of every stored method on one release."""

    version: str
    datasets: tuple[str, ...]
    result: EvaluationResult
    otherwise: EvaluationResult | None = None
    """Rows of datasets whose channels can be aligned another way, aligned that way."""
    foreign: frozenset[str] = frozenset()
    """Datasets from outside READ-Bench: they are in no mean over its datasets and have a mean of their own."""

    def alignment_effects(self, metric: str = "ndcg", k: int = 10) -> pl.DataFrame:
        """What depends on how channels are aligned: one row per (method, dataset, rho) with ``stated`` and ``other``
        alignment, their values ``value`` and ``otherwise``, and ``difference`` (other minus stated)."""
        keys = ["method", "dataset", "rho"]
        chosen = (pl.col("metric") == metric) & (pl.col("k") == k) & (pl.col("status") == "ok")

        def values(result: EvaluationResult | None) -> pl.DataFrame:
            rows = self.result.rows.clear() if result is None else result.rows.filter(chosen)
            return rows.group_by([*keys, "alignment"], maintain_order=True).agg(pl.col("value").mean())

        both = values(self.result).join(values(self.otherwise), on=keys, suffix="_other", maintain_order="left")
        return both.select(
            *keys,
            stated="alignment",
            other="alignment_other",
            value="value",
            otherwise="value_other",
            difference=pl.col("value_other") - pl.col("value"),
        )

    def alignment_tables(self) -> list[AlignmentTable]:
        """:meth:`alignment_effects` as one table per dataset."""
        tables = []
        effects = self.alignment_effects()
        for (dataset, stated, other), rows in effects.group_by(["dataset", "stated", "other"], maintain_order=True):
            body = []
            for (method,), own in rows.group_by(["method"], maintain_order=True):
                by_level = {r["rho"]: r for r in own.iter_rows(named=True)}
                columns = ("value", "otherwise", "difference")
                groups = [[by_level[rho][c] if rho in by_level else None for rho in LEVELS] for c in columns]
                body.append(AlignmentRow(str(method), *groups))
            tables.append(AlignmentTable(str(dataset), str(stated), str(other), tuple(body)))
        return tables

    def cells(self, metric: str = "ndcg", k: int = 10) -> pl.DataFrame:
        """One row per (method, dataset, rho): ``value`` averaged over random states; null if any of them failed."""
        rows = self.result.rows.filter((pl.col("metric") == metric) & (pl.col("k") == k))
        return (
            rows.group_by(["method", "dataset", "rho"], maintain_order=True)
            .agg(
                pl.col("value").mean().alias("value"),
                pl.col("family").first(),
                pl.col("supervision").first(),
                pl.col("status").sort_by(pl.col("status") == UnitStatus.OK).first(),
                pl.col("reason").drop_nulls().first(),
                pl.col("origin").first(),
                pl.col("partial").first(),
                pl.col("same_at_all_levels").first(),
                pl.col("n_queries").first(),
                pl.col("n_no_relevant").first(),
                pl.col("wall_s").sum(),
                pl.col("cpu_s").sum(),
                pl.col("peak_memory_mb").max(),
                pl.col("gpu_memory_mb").max(),
                pl.col("threads").max(),
                pl.col("harness").drop_nulls().first(),
                pl.col("code_version").drop_nulls().first(),
            )
            .with_columns(pl.when(pl.col("status") == UnitStatus.OK).then(pl.col("value")).alias("value"))
        )

    def macro(self, metric: str = "ndcg", k: int = 10) -> pl.DataFrame:
        """One row per method: means over datasets at each level, always over the same datasets; what is incomplete is
        last and states what it lacks. The columns are those of
        :func:`~readbench_data.evaluation.board.means.macro_table`."""
        return macro_table(self._counted(metric, k))

    def foreign_macro(self) -> pl.DataFrame | None:
        """The same over datasets from outside READ-Bench; None where :meth:`macro` is about them or there is none."""
        cells = self.cells()
        outside = cells.filter(pl.col("dataset").is_in(list(self.foreign)))
        return None if outside.is_empty() or self._only_foreign else macro_table(outside)

    @property
    def _only_foreign(self) -> bool:
        """Whether no dataset of READ-Bench has data here; the means are then over those from outside."""
        return set(self.with_data) <= self.foreign

    def _counted(self, metric: str, k: int) -> pl.DataFrame:
        """:meth:`cells` of the datasets over which means are taken and methods are compared."""
        cells = self.cells(metric, k)
        return cells if self._only_foreign else cells.filter(~pl.col("dataset").is_in(list(self.foreign)))

    @property
    def scope(self) -> str:
        """A sentence about datasets from outside READ-Bench; empty without any."""
        names = ", ".join(name for name in self.with_data if name in self.foreign)
        if not names:
            return ""
        if self._only_foreign:
            return f"Not READ-Bench: {names} come from outside it." if "," in names else f"Not READ-Bench: {names}."
        return f"Means and comparisons are over datasets of READ-Bench; {names} from outside it: means of their own."

    @property
    def compared(self) -> tuple[str, ...]:
        """The datasets over which means are taken."""
        return tuple(compared(self._counted(*PRIMARY)))

    @property
    def data_hash(self) -> str:
        """A hash of the data behind the numbers: of the hash of each dataset that has data, 12 hex digits."""
        hashes = self.data_hashes()
        text = "".join(f"{name} {hashes[name]}\n" for name in sorted(hashes))
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def data_hashes(self) -> dict[str, str]:
        """The hash of the released data of each dataset that has results."""
        known = self.result.rows.filter(pl.col("data_hash").is_not_null()).unique("dataset", maintain_order=True)
        return {name: str(value) for name, value in known.select("dataset", "data_hash").iter_rows()}

    def left_out(self) -> list[str]:
        """Stored results that are not in the tables, one line per reason."""
        return [out.sentence() for out in self.result.left_out]

    @property
    def configuration(self) -> str:
        """How the methods were set, in a sentence that belongs next to the numbers."""
        submitted = self.result.rows["harness"].is_not_null().any()
        return "Default configuration, not tuned" + ("; submissions as submitted." if submitted else ".")

    def marks(self) -> dict[str, str]:
        """Per dataset what a reader must know: miniature, mirror, partial, no data, same at all levels."""
        marks, hashes = {}, self.data_hashes()
        rows = self.result.rows.group_by("dataset", maintain_order=True).agg(
            pl.col("origin").first(),
            pl.col("partial").first(),
            (pl.col("status") == UnitStatus.NO_DATA).all().alias("no_data"),
            pl.col("same_at_all_levels").fill_null(False).any(),
            pl.col("reason").filter(pl.col("status") == UnitStatus.NO_DATA).first(),
        )
        for name, origin, partial, no_data, same, reason in rows.iter_rows():
            said = [f"no data: {reason}"] if no_data else [str(origin)]
            said += ["partial data"] if partial and not no_data else []
            said += ["no Normal windows: same corpus at all levels"] if same else []
            said += ["from outside READ-Bench"] if name in self.foreign else []
            said += [f"data hash {hashes[name][:HASH_SHOWN]}"] if name in hashes else []
            marks[str(name)] = ", ".join(said)
        return marks

    def without_data(self) -> dict[str, str]:
        """The datasets that have no data, each with the reason."""
        gone = self.result.rows.group_by("dataset", maintain_order=True).agg(
            (pl.col("status") == "no_data").all().alias("no_data"), pl.col("reason").drop_nulls().first()
        )
        return {name: str(reason) for name, no_data, reason in gone.iter_rows() if no_data}

    @property
    def with_data(self) -> tuple[str, ...]:
        """The datasets that tables show: those with data, in the order of the release."""
        gone = self.without_data()
        return tuple(name for name in self.datasets if name not in gone)

    def data_rows(self) -> list[tuple[str, str]]:
        """What a reader must know of the data: each dataset with data and its mark, then under ``no data`` the others,
        one row per reason."""
        marks = self.marks()
        rows = [(name, marks.get(name, "not evaluated")) for name in self.with_data]
        reasons: dict[str, list[str]] = {}
        for name, reason in self.without_data().items():
            reasons.setdefault(reason.replace("not_selected", "not selected for this build"), []).append(name)
        return rows + [("no data", f"{', '.join(names)} ({reason})") for reason, names in reasons.items()]

    @property
    def banner(self) -> str | None:
        """The warning above the numbers, if one is needed."""
        used = self.result.rows.filter(pl.col("status") == UnitStatus.OK)
        return MINIATURE_BANNER if (used["origin"] == OriginKind.MINIATURE).any() else None

    def failures(self) -> list[str]:
        """One line per failed unit."""
        failed = self.result.rows.filter(pl.col("status") == UnitStatus.FAILED)
        units = failed.unique(["method", "dataset", "rho", "random_state"], maintain_order=True)
        return [f"{r['method']} on {r['dataset']} at {r['rho']} %: {r['reason']}" for r in units.iter_rows(named=True)]

    def comparison(self, rho: int, metric: str = "ndcg", k: int = 10) -> Comparison:
        """The statistics at one level. The baselines (Random, Majority) are left out (ours): that something beats
        chance would make the test reject and widen the critical difference for all others."""
        from readbench_data.evaluation.statistics.comparison import compare  # scipy.stats takes a second to import

        cells = self._counted(metric, k)
        known, datasets = covered(cells), compared(cells)
        cells = cells.filter((pl.col("rho") == rho) & (pl.col("family") != BASELINES))
        values: dict[str, dict[str, float | None]] = {}
        for method, dataset, value in cells.select("method", "dataset", "value").iter_rows():
            if dataset in datasets:  # a value counts where the method has one at every level, as in the means
                values.setdefault(method, {})[dataset] = value if dataset in known[method] else None
        return compare(values)


def leaderboard(release: Path, out: Path, session: Session | None = None) -> Leaderboard:
    """Return the leaderboard of everything that is stored for a release; nothing is computed.

    Parameters
    ----------
    release : Path
        A release folder.
    out : Path
        The folder of results that was given to :func:`~readbench_data.evaluation.run.protocol.evaluate`.
    session : Session, optional
        What earlier calls for the same two folders have read. None: everything is read again.

    Examples
    --------
    ``release`` is a folder with a dataset ``waves`` of three fault classes, ``out`` an empty folder:

    >>> from readbench_data.evaluation.run.protocol import evaluate
    >>> _ = evaluate(release, out, ["Random", "ED"], ["waves"])
    >>> board = leaderboard(release, out)
    >>> board.macro()["method"].to_list()
    ['ED', 'Random']
    """
    session = session or Session.open(release, out)
    opened, store = session.release, session.store
    found = {n: opened.other_alignment(n) for n, info in opened.datasets.items() if info.has_data}
    others = {name: other for name, other in found.items() if other is not None}
    otherwise = gather(opened, store, list(others), alignments=others) if others else None
    return Leaderboard(opened.version, tuple(opened.datasets), gather(opened, store), otherwise, opened.foreign)


def shown_code(row: Row) -> str:
    """The beginning of a method's code version; a dash where none of its results counts."""
    return (row["code"] or "-")[:HASH_SHOWN]


def shown_name(row: Row) -> str:
    """A method's name, with how it was run where that is less than a submission's strict run in a jail."""
    usual = row["harness"] in (None, "strict, isolated")
    return str(row["method"]) if usual else f"{row['method']} ({row['harness']})"
