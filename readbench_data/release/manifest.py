"""The manifest of a release, ``manifest.json``: its files and datasets, their original files, and the settings."""

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
    """A file of a release. ``rows``: None except for Parquet files; ``content_sha256``: hash of the logical content,
    which does not depend on how it is stored."""

    sha256: str
    bytes: int
    content_sha256: str
    rows: int | None = None


def text_entry(data: bytes) -> FileEntry:
    """Return the entry of a file other than Parquet: its content hash is the hash of its bytes."""
    sha = hashlib.sha256(data).hexdigest()
    return FileEntry(sha256=sha, bytes=len(data), rows=None, content_sha256=sha)


class SourceFile(Record):
    """An original file that a dataset was built from."""

    sha256: str
    bytes: int


class ForeignLicence(Record):
    """The licence of a dataset from outside; fields as in ``dataset.about.Licence``."""

    name: str
    url: str
    redistributable: bool
    note: str = ""


class ForeignDataset(Record):
    """A dataset from outside READ-Bench: the package or file of its source, the version and a hash of its code, and
    the texts and labels of its declaration, with the names that they have in ``dataset.source.Source``. ``missing``,
    ``classes``, ``open_vocabulary``: of its curation and label map. It holds no path."""

    package: str
    version: str
    code: str
    title: str
    domain: str
    description: str
    homepage: str
    citation: str
    licence: ForeignLicence
    evidence: str
    unit: str
    row_unit: str
    own_choice: str
    marks: dict[str, str]
    missing: str
    classes: dict[str, str]
    open_vocabulary: bool


class UnbuiltDataset(Record):
    """A dataset without data in this release, and the reason."""

    status: LaneStatus
    reason: str | None = None
    origin: OriginKind | None = None
    partial: bool = False


class BuiltDataset(Record):
    """A dataset with data. ``missing``: files of the complete source that were not found; ``checksums_verified``:
    number of original files that were compared with a published checksum; ``code``: the code version of each stage of
    its lane; ``last_run_failed``: the data are those of the run before; ``foreign``: it comes from outside READ-Bench;
    other fields as in ``BenchmarkRecord``."""

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
    foreign: ForeignDataset | None = None

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
    """``files`` by their path in the release; ``config``: the settings of all datasets; ``code_version`` of the code
    that built the release."""

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
        """The datasets with data, in the order of ``datasets``."""
        return {name: one for name, one in self.datasets.items() if isinstance(one, BuiltDataset)}

    @property
    def content(self) -> str:
        """One hash of the content of all files."""
        return digest({path: file.content_sha256 for path, file in self.files.items()})


def parse_manifest(found: object, name: str) -> Manifest:
    """Return the manifest from parsed JSON. Raises ``ReadbenchError`` with ``name`` and the wrong field."""
    try:
        manifest = Manifest.parse(found)
    except InvalidRecord as error:
        raise ReadbenchError(f"{name}: not the manifest of a release ({error})") from None
    for path in manifest.files:
        if path.startswith("/") or ".." in path.split("/"):
            raise ReadbenchError(f"{name}: it lists a file outside the release ({path})")
    return manifest
