"""A workbench for one source: finds, reads, curates, indexes and selects without lanes and stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.source import Source
from readbench_data.entry import NORMAL
from readbench_data.recordings.curation import CurationReport, Segment, curate
from readbench_data.recordings.recording import Recording
from readbench_data.selection.sampling import Composition, compose
from readbench_data.windows.index import index_rows, index_table
from readbench_data.windows.labeling import Rule
from readbench_data.windows.windowing import WindowPlan

Counts = dict[str, int]
"""Number of windows per class."""


@dataclass(frozen=True)
class Workbench:
    """The steps that a test runs on a source; ``options`` change the source's own settings."""

    source: Source

    def with_length(self, length: int) -> Workbench:
        """Return the same workbench with another window length, as set by a configuration file."""
        return Workbench(replace(self.source, config=self.settings({"length": length})))

    def files(self, folder: Path) -> FileSet:
        return FileSet(self.source.name, folder, "mirror")

    def settings(self, changed: Mapping[str, object]) -> DatasetConfig[Any]:
        return self.source.config.overridden(self.source.name, changed)

    def options(self, **changed: object) -> Any:
        """The source's typed options with other settings."""
        return self.settings(changed).options

    def located(self, folder: Path, **options: object) -> Located:
        return self.source.locate(self.files(folder), self.options(**options))

    def recordings(self, folder: Path, **options: object) -> Iterator[Recording]:
        files, chosen = self.files(folder), self.options(**options)
        yield from self.source.read(files, self.source.locate(files, chosen), chosen)

    def by_id(self, folder: Path, **options: object) -> dict[str, Recording]:
        return {r.recording_id: r for r in self.recordings(folder, **options)}

    def curated(self, recordings: Iterable[Recording], report: CurationReport | None = None) -> list[Segment]:
        return [s for r in recordings for s in curate(r, self.source.curation, report)]

    def segments(self, folder: Path, report: CurationReport | None = None, **options: object) -> dict[str, Segment]:
        """Return the segments by recording; of a recording with several segments, the last one."""
        return {s.recording_id: s for s in self.curated(self.recordings(folder, **options), report)}

    def index(
        self,
        cut: Mapping[str, Segment] | Iterable[Segment],
        length: int | None = None,
        stride: int | None = None,
    ) -> pl.DataFrame:
        """Return the window index, one row per window; length and stride are the source's unless given."""
        own = self.source.config
        plan, rule = WindowPlan(length or own.length, stride or own.stride), Rule(self.source.rule)
        parts = cut.values() if isinstance(cut, Mapping) else cut
        rows = (index_rows(self.source.name, s, plan, rule, self.source.labels) for s in parts)
        frame = pl.from_arrow(index_table([r for r in rows if r is not None]))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def indexed(self, *recordings: Recording) -> pl.DataFrame:
        return self.index(self.curated(recordings))

    def composed(
        self, windows: pl.DataFrame, config: BenchmarkConfig, own: DatasetConfig | None = None
    ) -> tuple[Composition, pl.DataFrame]:
        """Return the composition, and its windows with class, recording and original unit."""
        labelled = windows.filter(pl.col("class_label").is_not_null())
        result = compose(labelled, config, own or self.source.config)
        about = labelled.select("entry_id", "class_label", "recording_id", own_unit="unit")
        return result, result.windows.join(about, on="entry_id")

    def drawn(self, windows: pl.DataFrame, config: BenchmarkConfig) -> tuple[Composition, Counts, Counts]:
        """Return the composition, and the number of anomalies per class in the corpus and in the queries."""
        labelled = windows.filter(pl.col("class_label").is_not_null())
        result = compose(labelled, config, self.source.config)
        faults = labelled.select("entry_id", "class_label").filter(pl.col("class_label") != NORMAL)
        counts = result.windows.join(faults, on="entry_id").group_by("outcome", "class_label").len().sort("class_label")
        corpus, queries = (
            dict(counts.filter(outcome=outcome).select("class_label", "len").iter_rows())
            for outcome in ("corpus", "query")
        )
        return result, corpus, queries
