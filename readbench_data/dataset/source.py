"""How a dataset is declared. One module a dataset holds one ``SOURCE``; everything else is made from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Recording
from readbench_data.windows.labeling import LabelMap, RuleName


@dataclass(frozen=True)
class Licence:
    """Terms of a source. ``redistributable`` is False where no licence grants it: such data is never
    published unless a setting says so."""

    name: str
    url: str
    redistributable: bool
    note: str = ""


@dataclass(frozen=True)
class RemoteFile:
    """One file to download. ``path`` is where it lies below the dataset's folder in the original layout.

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
class Printed:
    """The row the paper prints for a dataset; only ever compared with, never used to sample."""

    channels: str
    length: int
    classes: int
    corpus: tuple[int, int, int]
    queries: int
    relevant_per_query: float
    imbalance: float


@dataclass(frozen=True)
class Source:
    """The whole declaration of one dataset.

    ``locate(files, options)`` says which of the files that are there are used, ignored and missing; it raises
    ``NoData`` where nothing usable is there. ``read(files, located, options)`` yields recordings in a fixed
    order. ``options`` are the ``DatasetConfig.options`` in force. ``marks``: for each choice whether it is
    printed, recovered or ours. ``row_unit``: what ``row_start`` counts. ``label_notes`` and ``traps``: what
    docs/labels.md says of this dataset beside the declared values. ``known_sha256``: published checksums by
    the end of a file's path (``100.dat``, ``3/WELL-1.parquet``), checked on every origin but miniatures;
    ``checksum_note`` says why there are none. ``text_files``: patterns of files whose line ends may have been
    changed on the way and still count as the published ones. ``manual``: how to get files that cannot be
    downloaded by a program. ``own_choice``: what in this dataset is this project's and not READ-Bench's.
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
    config: DatasetConfig
    unit: str
    row_unit: str
    locate: Callable[[FileSet, Mapping[str, object]], Located]
    read: Callable[[FileSet, Located, Mapping[str, object]], Iterator[Recording]]
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
