"""How a dataset is declared. Each module in ``sources/`` holds one ``SOURCE``; everything else is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from readbench_data.dataset.about import Licence, Printed
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Recording
from readbench_data.windows.labeling import LabelMap, RuleName

__all__ = ["Foreign", "Licence", "Printed", "RemoteFile", "Source"]


@dataclass(frozen=True)
class RemoteFile:
    """One file to download. ``path`` is its place in the dataset's folder in the original layout.

    ``sha256`` or ``md5`` where the publisher states one, ``size`` in bytes where known; ``unpack`` says that
    it is an archive whose members are the original files.
    """

    path: str
    url: str
    sha256: str | None = None
    md5: str | None = None
    size: int | None = None
    unpack: bool = False


@dataclass(frozen=True)
class Foreign:
    """Where a source from outside this project comes from, without any path: the name of its package or file, its
    version ('' if it states none), and a hash of its code and declaration."""

    package: str
    version: str
    code: str


@dataclass(frozen=True)
class Source:
    """The whole declaration of one dataset: ``Source(**about(__file__), labels=..., read=..., ...)``.

    The texts come from the TOML file next to the module and are described in ``about.About`` (``marks`` is its
    ``provenance``). ``locate(files, options)`` returns which of the files that are there are used, ignored and
    missing; it raises ``NoData`` where nothing usable is there. ``read(files, located, options)`` yields recordings
    in a fixed order. ``options`` are the ``DatasetConfig.options`` in force. ``known_sha256``: published checksums
    by the end of a file's path (``100.dat``, ``3/WELL-1.parquet``), checked on every origin but miniatures.
    ``text_files``: patterns of files whose line ends may have been changed on the way and still count as the
    published ones. ``foreign``: None for the datasets of READ-Bench.
    """

    name: str
    title: str
    row: int
    domain: str
    description: str
    homepage: str
    licence: Licence
    citation: str
    evidence: str
    rule: RuleName
    labels: LabelMap
    curation: Curation
    config: DatasetConfig[Any]
    unit: str
    row_unit: str
    locate: Callable[[FileSet, Any], Located]
    read: Callable[[FileSet, Located, Any], Iterator[Recording]]
    remote: tuple[RemoteFile, ...] = ()
    manual: str = ""
    download_bytes: int | None = None
    known_sha256: Mapping[str, str] = field(default_factory=dict)
    text_files: tuple[str, ...] = ()
    sampling_rate_hz: float | None = None
    printed: Printed | None = None
    marks: Mapping[str, str] = field(default_factory=dict)
    label_notes: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()
    own_choice: str = ""
    checksum_note: str = ""
    foreign: Foreign | None = None
