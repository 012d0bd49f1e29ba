"""The manifest of a release, ``manifest.json``: what it holds, from which originals, under which settings."""

from __future__ import annotations

import hashlib
from typing import Annotated

from pydantic import Discriminator, Field, Tag

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError
from readbench_data.release.lane_records import DatasetSettings, RuleSettings, SharedSettings
from readbench_data.store.records import InvalidRecord, JsonObject, Record, field_of, record_tag
from readbench_data.store.store import digest


class FileEntry(Record):
    """A file of a release. ``rows``: None but for Parquet; ``content_sha256``: hash of what it says, which does not
    depend on how it is stored."""

    sha256: str
    bytes: int
    content_sha256: str
    rows: int | None = None


def text_entry(data: bytes) -> FileEntry:
    """Entry of a file that is not Parquet: its content is its bytes."""
    sha = hashlib.sha256(data).hexdigest()
    return FileEntry(sha256=sha, bytes=len(data), rows=None, content_sha256=sha)


class SourceFile(Record):
    """An original file that a dataset was built from."""

    sha256: str
    bytes: int


class UnbuiltDataset(Record):
    """A dataset of which this release has no data, and why."""

    status: LaneStatus
    reason: str | None = None
    origin: OriginKind | None = None
    partial: bool = False


class BuiltDataset(Record):
    """A dataset with data. ``missing``: what the complete source has beside; ``checksums_verified``: original files
    that were compared with a published checksum; ``code``: the code version of each stage of its lane;
    ``last_run_failed``: the data are those of the run before; the other fields as in ``BenchmarkRecord``."""

    status: LaneStatus
    origin: OriginKind
    config: SharedSettings
    settings: DatasetSettings
    rule: RuleSettings
    shortfall: dict[str, int]
    reason: str | None = None
    partial: bool = False
    partial_note: str | None = None
    missing: tuple[str, ...] = ()
    ignored: dict[str, str] = Field(default_factory=dict)
    source_files: dict[str, SourceFile] = Field(default_factory=dict)
    checksums_verified: int = 0
    licence: str | None = None
    row_unit: str = "row"
    without_query: dict[str, str] = Field(default_factory=dict)
    outcomes: dict[str, int] = Field(default_factory=dict)
    reasons: dict[str, int] = Field(default_factory=dict)
    code: dict[str, str] = Field(default_factory=dict)
    last_run_failed: bool = False

    @property
    def miniature(self) -> bool:
        """Whether it was built from generated stand-ins."""
        return self.origin == OriginKind.MINIATURE


def _kind(found: object) -> str | None:
    if not isinstance(found, dict | Record):
        return None
    return record_tag("built" if field_of(found, "status") == LaneStatus.OK else "unbuilt")


DatasetEntry = BuiltDataset | UnbuiltDataset
_ByStatus = Annotated[
    Annotated[BuiltDataset, Tag(record_tag("built"))] | Annotated[UnbuiltDataset, Tag(record_tag("unbuilt"))],
    Discriminator(_kind),
]


class Manifest(Record):
    """``files`` by their path in the release; ``config``: the settings of all datasets; ``code_version``: of the code
    that gathered the release."""

    version: str
    datasets: dict[str, _ByStatus]
    files: dict[str, FileEntry]
    config: JsonObject
    format: int | None = None
    seed: int | None = None
    config_hash: str | None = None
    code_version: str | None = None

    @property
    def built(self) -> dict[str, BuiltDataset]:
        """The datasets with data, in the order of all."""
        return {name: one for name, one in self.datasets.items() if isinstance(one, BuiltDataset)}

    @property
    def content(self) -> str:
        """One hash for everything the release holds."""
        return digest({path: file.content_sha256 for path, file in self.files.items()})


def parse_manifest(found: object, name: str) -> Manifest:
    """The manifest in parsed JSON. Raises ``ReadbenchError``, which calls it ``name``, with what it lacks."""
    try:
        manifest = Manifest.parse(found)
    except InvalidRecord as error:
        raise ReadbenchError(f"{name}: not the manifest of a release ({error})") from None
    for path in manifest.files:
        if path.startswith("/") or ".." in path.split("/"):
            raise ReadbenchError(f"{name}: it names a file outside of the release ({path})")
    return manifest
