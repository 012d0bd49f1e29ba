"""What a lane hands over to a release: the record of each stage (``done.json``) and how the lane ended
(``status.json``)."""

from __future__ import annotations

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.store.records import JsonObject, Number, Record, StageRecord
from readbench_data.store.store import Store, damaged_record
from readbench_data.windows.labeling import RuleName


class CheckResult(Record):
    """One expectation on one table. ``observed`` is small plain data for display."""

    check: str
    description: str
    passed: bool
    blocking: bool
    observed: JsonObject


class InputFile(Record):
    """An original file of a source, by its path in the source's folder."""

    path: str
    sha256: str
    bytes: int


class RawRecord(StageRecord):
    """Original files: those that are read, those that are ignored with the reason, what is missing, and the files
    whose published checksum was verified. ``gate``: version of the suite that gave ``checks``. Neither of the two is
    part of the key."""

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
    """Windows that were labelled, and curated segments that are shorter than a window."""

    windows: int
    short_segments: int


class WindowsRecord(StageRecord):
    """``classes``: windows by class; ``dropped``: windows without a class, by reason."""

    counts: WindowCounts
    classes: dict[str, int]
    dropped: dict[str, int]
    checks: tuple[CheckResult, ...]


class SharedSettings(Record):
    """Settings of all datasets, those of single datasets left out."""

    corpus_cap: int
    query_cap: int
    pollution: tuple[int, ...]


def shared_settings(config: BenchmarkConfig) -> SharedSettings:
    """The settings of all datasets."""
    return SharedSettings.parse({name: value for name, value in config.to_json().items() if name != "datasets"})


class DatasetSettings(Record):
    """Settings of one dataset, its source's options included. ``length`` and ``stride`` in timesteps."""

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
    """What a Parquet file holds: its rows, and a hash of what they say."""

    rows: int
    content_sha256: str


class BenchmarkRecord(StageRecord):
    """``files`` by their path in a release; ``wanted_normals`` and ``shortfall``: Normal windows by pollution level;
    ``without_query``: why a class has no query; ``outcomes`` and ``reasons``: windows by their name."""

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


class LaneState(Record):
    """How the last run of a lane ended: ``reason`` where it is not ok, else the keys of its stages."""

    status: LaneStatus
    reason: str | None
    raw: str | None = None
    recordings: str | None = None
    windows: str | None = None
    benchmark: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the lane has a benchmark."""
        return self.status == LaneStatus.OK


def lane_state(store: Store, name: str) -> LaneState | None:
    """How the last run of a lane ended; None where it never ran."""
    path = f"lanes/{name}/status.json"
    if not store.exists(path):
        return None
    try:
        return LaneState.parse(store.read_json(path))
    except ValueError as error:
        raise damaged_record(store, path, name, error) from error


def set_lane_state(store: Store, name: str, state: LaneState) -> None:
    """Keep how a lane's run ended, for the release."""
    if lane_state(store, name) != state:
        store.write_json(f"lanes/{name}/status.json", state.to_json())
