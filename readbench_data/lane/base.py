"""A lane and what its stages share: keys, finished results, and the gate before a result becomes current."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import polars as pl
import pyarrow as pa

from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.dataset.files import FileSet
from readbench_data.dataset.source import Source
from readbench_data.dataset.stage_code import STAGES, stage_code, stage_codes
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError
from readbench_data.release.lane_records import CheckResult, LaneState
from readbench_data.store.records import StageRecord
from readbench_data.store.store import Stage, Store
from readbench_data.windows.labeling import Rule

Progress = Callable[[str], None]
Checks = list[CheckResult]
Gate = Callable[[pa.Table], Checks]
AuditGate = Callable[[pl.DataFrame], Checks]
"""A gate checks a stage's result before it becomes current: it returns the outcomes of its checks, or raises."""

R = TypeVar("R", bound=StageRecord)

SHARD = "recordings.parquet"
SUMMARY = "summary.parquet"
CHANNELS = "channels.parquet"
INDEX = "index.parquet"


def quiet(_: str) -> None:
    """Discard a line of progress."""


@dataclass(frozen=True)
class Lane:
    """One dataset with its original files, settings and store, on which the stages run.

    ``files``: the original files. ``config``: the settings shared by all datasets. ``verify``: whether published
    checksums must match. ``pool``: whether every retained window is written in addition to the selected ones.
    """

    source: Source
    module: str
    store: Store
    files: FileSet
    config: BenchmarkConfig
    verify: bool = True
    pool: bool = False
    progress: Progress = quiet

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def settings(self) -> DatasetConfig:
        """This dataset's settings in force."""
        return self.config.for_dataset(self.name, self.source.config)

    @property
    def rule(self) -> Rule:
        return Rule(self.source.rule, self.config.coverage, self.config.normal_purity)

    def stage(self, name: str) -> Stage:
        return Stage(self.store, self.name, name)

    def state(self) -> LaneState:
        """The state of the lane once all its stages are finished."""
        keys = {name: require(self, name, StageRecord).key for name in STAGES}
        return LaneState(status=LaneStatus.OK, reason=None, **keys)

    def version(self, stage: str) -> str:
        """Return the code version of a stage."""
        return stage_code(self.source, self.module, stage)

    def versions(self) -> dict[str, str]:
        """Return the code version of every stage."""
        return stage_codes(self.source, self.module)


def require(lane: Lane, name: str, kind: type[R]) -> R:
    """Return the current record of an earlier stage. Raises ``ReadbenchError`` if it is not built."""
    record = lane.stage(name).current(kind)
    if record is None:
        raise ReadbenchError(f"{lane.name}: {name} is not built yet: run `readbench build --dataset {lane.name}`")
    return record


def staged(lane: Lane, name: str, key: str, kind: type[R], work: Callable[[str], R]) -> R:
    """Run a stage unless its key is already complete; a result becomes current only after ``done.json`` is written."""
    stage = lane.stage(name)
    if (done := stage.done(key, kind)) is not None:
        stage.point(key)
        return done.changed(reused=True)
    place = stage.place(key)
    lane.store.remove(place)
    return stage.finish(key, work(place))


def histogram(column: pl.Series) -> dict[str, int]:
    """Return how often each value occurs, sorted by value, without nulls."""
    counts = column.drop_nulls().value_counts().sort(column.name)
    return dict(counts.iter_rows())
