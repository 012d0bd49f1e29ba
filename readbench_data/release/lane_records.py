"""The records that a release reads from a lane: one per stage (``done.json``), and the result of the lane's last run
(``status.json``)."""

from __future__ import annotations

from pydantic import Field

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.store.records import JsonObject, Number, Record, StageRecord
from readbench_data.store.store import Store, damaged_record
from readbench_data.windows.labeling import RuleName


class CheckResult(Record):
    """The result of one expectation on one table. ``observed``: the observed values, as plain data for reports."""

    check: str
    description: str
    passed: bool
    blocking: bool
    observed: JsonObject


class InputFile(Record):
    """An original file of a source; ``path`` is relative to the source's folder."""

    path: str
    sha256: str
    bytes: int


class RawRecord(StageRecord):
    """The original files: files that are read, ignored files with the reason, missing files, and files whose published
    checksum was verified. ``gate``: version of the suite that gave ``checks``. Neither of the two is part of the
    key."""

    origin: OriginKind
    inputs: tuple[InputFile, ...]
    ignored: dict[str, str]
    missing: tuple[str, ...]
    verified: tuple[str, ...]
    gate: str = ""
    checks: tuple[CheckResult, ...] = ()


class RecordingsRecord(StageRecord):
    """``counts`` as in ``recordings.curation.CurationReport``."""

    counts: dict[str, int]
    checks: tuple[CheckResult, ...]


class WindowCounts(Record):
    """The number of labelled windows, and of curated segments that are shorter than a window."""

    windows: int
    short_segments: int


class WindowsRecord(StageRecord):
    """``classes``: windows by class; ``dropped``: windows without a class, by reason."""

    counts: WindowCounts
    classes: dict[str, int]
    dropped: dict[str, int]
    checks: tuple[CheckResult, ...]


class SharedSettings(Record):
    """The settings that all datasets share."""

    corpus_cap: int
    query_cap: int
    pollution: tuple[int, ...]


def shared_settings(config: BenchmarkConfig) -> SharedSettings:
    """Return the settings that all datasets share."""
    return SharedSettings.parse({name: value for name, value in config.to_json().items() if name != "datasets"})


class DatasetSettings(Record):
    """The settings of one dataset, including its source's options. ``length`` and ``stride`` in timesteps."""

    min_same_class: int
    length: int | None = None
    stride: int | None = None
    native_split: bool = False
    test_fraction: Number | None = None


class RuleSettings(Record):
    """The rule that labelled the windows, with its parameters."""

    name: RuleName
    coverage: Number
    normal_purity: Number = 1.0


class WrittenFile(Record):
    """A Parquet file: its number of rows, and the hash of its logical content."""

    rows: int
    content_sha256: str


class BenchmarkRecord(StageRecord):
    """``files`` by their path in a release; ``wanted_normals`` and ``shortfall``: number of Normal windows by pollution
    level; ``without_query``: why a class has no query; ``outcomes`` and ``reasons``: number of windows by name;
    ``code``: the code version of each stage."""

    raw: RawRecord
    settings: DatasetSettings
    config: SharedSettings
    rule: RuleSettings
    files: dict[str, WrittenFile]
    wanted_normals: dict[str, int]
    shortfall: dict[str, int]
    without_query: dict[str, str]
    outcomes: dict[str, int]
    reasons: dict[str, int]
    checks: tuple[CheckResult, ...]
    code: dict[str, str] = Field(default_factory=dict)


class LaneState(Record):
    """How the last run of a lane ended: the ``reason`` if its status is not ok, and the keys of its stages. A lane
    whose last run failed keeps the keys of the run before."""

    status: LaneStatus
    reason: str | None
    raw: str | None = None
    recordings: str | None = None
    windows: str | None = None
    benchmark: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the lane has a finished benchmark stage."""
        return self.status == LaneStatus.OK


def lane_state(store: Store, name: str) -> LaneState | None:
    """Return how the last run of a lane ended; None if it never ran."""
    path = f"lanes/{name}/status.json"
    if not store.exists(path):
        return None
    try:
        return LaneState.parse(store.read_json(path))
    except ValueError as error:
        raise damaged_record(store, path, name, error) from error


def set_lane_state(store: Store, name: str, state: LaneState) -> None:
    """Store how a lane's run ended, for the release."""
    if lane_state(store, name) != state:
        store.write_json(f"lanes/{name}/status.json", state.to_json())


def set_lane_failed(store: Store, name: str, reason: str) -> None:
    """Record that a lane's last run failed. The keys of its earlier results are kept: whether a release may take
    them is decided when it is built."""
    before = lane_state(store, name) or LaneState(status=LaneStatus.FAILED, reason=None)
    set_lane_state(store, name, before.changed(status=LaneStatus.FAILED, reason=" ".join(reason.split())))
