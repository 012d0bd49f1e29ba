"""What a source really holds: every file read, curated, cut and labelled as a build does, without writing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import FileSet
from readbench_data.dataset.source import Source
from readbench_data.entry import NORMAL
from readbench_data.recordings.curation import CurationReport, curate
from readbench_data.recordings.recording import Recording
from readbench_data.selection.sampling import compose
from readbench_data.store.records import JsonObject
from readbench_data.windows.index import IndexRows, index_rows, index_table
from readbench_data.windows.labeling import Rule
from readbench_data.windows.outcomes import Outcome
from readbench_data.windows.windowing import WindowPlan

TWO = 2
FEW_UNITS = 2
"""A class in fewer units than this cannot be both on the query side and on the corpus side."""


@dataclass(frozen=True)
class ClassCount:
    """One class: its windows, the units they are in, and how many become queries and corpus entries."""

    name: str
    windows: int
    units: int
    queries: int
    corpus: int
    without_query: str | None


@dataclass
class SourceReport:
    """The findings. ``step_s``: the median time between two rows; ``gaps``: rows after more than three steps;
    ``constant``, ``counting``, ``binary``: channels that never change, that count rows, that have two values;
    ``unused``: files and incidents that are not used, with the reason; ``dropped``: windows by reason; ``suspicions``:
    what could answer a query without any fault being compared."""

    name: str
    files: int = 0
    recordings: int = 0
    rows: int = 0
    channels: tuple[str, ...] = ()
    constant: list[str] = field(default_factory=list)
    counting: list[str] = field(default_factory=list)
    binary: list[str] = field(default_factory=list)
    first: str | None = None
    last: str | None = None
    step_s: float | None = None
    gaps: int = 0
    longest_gap_s: float | None = None
    filled: int = 0
    dropped_rows: int = 0
    unused: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    shorter: int = 0
    windows: int = 0
    classes: list[ClassCount] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    suspicions: list[str] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Plain data."""
        return {**vars(self), "channels": list(self.channels), "classes": [vars(one) for one in self.classes]}


def check_source(
    source: Source,
    files: FileSet,
    config: BenchmarkConfig | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> SourceReport:
    """Read everything and report it. Raises ``BadInput`` as a build would, ``NoData`` if no file is there."""
    config = config or BenchmarkConfig()
    settings = config.for_dataset(source.name, source.config)
    located = source.locate(files, settings.options)
    report = SourceReport(source.name, files=len(located.inputs), missing=located.missing)
    report.unused = dict(located.ignored)
    plan, rule = WindowPlan(settings.length, settings.stride), Rule(source.rule, config.coverage, config.normal_purity)
    curation, parts, moves, events = CurationReport(), [], _Moves(), _Events()
    for recording in source.read(files, located, settings.options):
        progress(f"read {recording.recording_id}")
        moves.add(recording)
        events.add(recording)
        for segment in curate(recording, source.curation, curation):
            rows = index_rows(source.name, segment, plan, rule, source.labels)
            report.shorter += rows is None
            parts += [] if rows is None else [rows]
    report.recordings, report.rows = curation.recordings, curation.steps
    report.filled, report.dropped_rows = curation.filled_cells, curation.dropped_rows
    moves.describe(report)
    report.notes += events.notes(settings.length)
    _classes(report, parts, config, settings)
    return report


@dataclass
class _Moves:
    """Extremes and times over all recordings."""

    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    counts: dict[str, bool] = field(default_factory=dict)
    levels: dict[str, set[float]] = field(default_factory=dict)
    steps: list[np.ndarray] = field(default_factory=list)
    times: list[tuple[np.datetime64, np.datetime64]] = field(default_factory=list)

    def add(self, recording: Recording) -> None:
        values = recording.values
        with np.errstate(invalid="ignore"):
            low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
            steady = (np.diff(values, axis=0) == 1).all(axis=0) & (len(values) > 2)
        for j, name in enumerate(recording.channels):
            self.low[name] = float(np.fmin(self.low.get(name, np.nan), low[j]))
            self.high[name] = float(np.fmax(self.high.get(name, np.nan), high[j]))
            self.counts[name] = self.counts.get(name, True) and bool(steady[j])
            levels = self.levels.setdefault(name, set())
            if len(levels) <= TWO:  # all values of a column are compared only while it has few
                levels.update(np.unique(values[:, j][~np.isnan(values[:, j])])[: TWO + 1].tolist())
        clock = recording.clock
        if clock is not None and clock.times is not None and np.issubdtype(clock.times.dtype, np.datetime64):
            self.times.append((clock.times[0], clock.times[-1]))
            self.steps.append(np.diff(clock.times).astype("timedelta64[ns]").astype(np.int64) / 1e9)

    def describe(self, report: SourceReport) -> None:
        report.channels = tuple(self.low)
        report.constant = [name for name, low in self.low.items() if not low < self.high[name]]
        report.binary = [name for name, levels in self.levels.items() if len(levels) == TWO]
        report.counting = [name for name, steady in self.counts.items() if steady]
        if not self.times:
            return
        first, last = min(t[0] for t in self.times), max(t[1] for t in self.times)
        report.first, report.last = (str(t.astype("datetime64[s]")) for t in (first, last))
        steps = np.concatenate(self.steps)
        if steps.size:
            report.step_s = float(np.median(steps))
            wide = steps > 3 * report.step_s
            report.gaps = int(wide.sum())
            report.longest_gap_s = float(steps[wide].max()) if wide.any() else None


@dataclass
class _Events:
    """Incidents that overlap, and the extent of each, over all recordings."""

    rows: dict[str, int] = field(default_factory=dict)
    overlaps: list[str] = field(default_factory=list)

    def add(self, recording: Recording) -> None:
        if recording.evidence.kind != "events":
            return
        spans = recording.evidence.spans
        for event in spans:
            self.rows[event.event_id] = max(self.rows.get(event.event_id, 0), event.stop - event.start)
        for before, after in zip(spans, spans[1:], strict=False):
            if after.start < before.stop:
                self.overlaps.append(
                    f"{after.event_id}: overlaps {before.event_id}: the one that starts later has the rows they share"
                )

    def notes(self, length: int | None) -> list[str]:
        short = {name: rows for name, rows in self.rows.items() if length is not None and rows < length}
        lines = [f"{name}: {rows} rows, shorter than a window of {length}" for name, rows in short.items()]
        return [*dict.fromkeys(self.overlaps), *lines]


def _classes(report: SourceReport, parts: list[IndexRows], config: BenchmarkConfig, settings: object) -> None:
    frame = pl.from_arrow(index_table(parts))
    assert isinstance(frame, pl.DataFrame)
    report.windows = frame.height
    dropped = frame.filter(pl.col("class_label").is_null())["reason"].value_counts().sort("reason")
    report.dropped = {str(reason): count for reason, count in dropped.iter_rows()}
    labelled = frame.filter(pl.col("class_label").is_not_null())
    if labelled.is_empty():
        report.suspicions.append("no window has a class: are the labels and the window length right?")
        return
    composed = compose(labelled, config, settings)  # type: ignore[arg-type]
    joined = composed.windows.select("entry_id", "outcome").join(
        labelled.select("entry_id", "class_label", "unit"), on="entry_id"
    )
    counts = (
        joined.group_by("class_label")
        .agg(
            pl.len(),
            pl.col("unit").n_unique(),
            (pl.col("outcome") == Outcome.QUERY).sum().alias("queries"),
            (pl.col("outcome") == Outcome.CORPUS).sum().alias("corpus"),
        )
        .sort(pl.col("class_label") == NORMAL, "class_label")
    )
    for name, windows, units, queries, corpus in counts.iter_rows():
        why = None if name == NORMAL else composed.without_query.get(name)
        report.classes.append(ClassCount(name, windows, units, queries, corpus, why))
    _suspect(report)


def _suspect(report: SourceReport) -> None:
    faults = [one for one in report.classes if one.name != NORMAL]
    alone = [one.name for one in faults if one.units < FEW_UNITS]
    if alone:
        report.suspicions.append(
            f"in one unit only: {', '.join(alone)}: never queried, and whatever marks that unit marks the class"
        )
    if report.counting:
        report.suspicions.append(
            f"counts up by one with every row: {', '.join(report.counting)}: an index gives the position away: "
            "add it to files.ignore"
        )
    if report.binary:
        report.suspicions.append(
            f"two values only: {', '.join(report.binary)}: fine for a valve; if it is a label it gives the class away: "
            "add it to files.ignore"
        )
    if len(faults) == 1:
        report.suspicions.append("there is one fault only, so every corpus entry is relevant: give at least two")
    if not any(one.queries for one in faults):
        report.suspicions.append("no class can be queried: each needs windows in at least two units")
    if not any(one.name == NORMAL for one in report.classes):
        report.notes.append("there is no Normal window: the corpus is the same at 0, 10 and 20 % Normal")
