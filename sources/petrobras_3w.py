"""Petrobras 3W: undesirable events in offshore oil wells, one label a second.

An *instance* is one multivariate series at 1 Hz of one well (real), of a simulator, or drawn by an expert. Two
formats exist: 2.0.0 (Parquet, 27 variables, classes 0 to 9) and 1.x (CSV, 8 variables, classes 0 to 8). One build
reads one of them, never both: the same event has other names, and wells other numbers, from version to version.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions, setting
from readbench_data.dataset.provenance import RECOVERED
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation, ValidRange
from readbench_data.recordings.recording import Clock, Evidence, Recording
from readbench_data.windows.labeling import LabelMap
from sources.formats.three_w import read_instance

CHANNELS = ("P-PDG", "P-TPT", "T-TPT", "P-MON-CKP", "T-JUS-CKP", "P-JUS-CKGL", "QGL")
"""The variables of version 1.x without T-JUS-CKGL, which no instance ever recorded."""

INSTANCES = {"2.0.0": 2228, "1.x": 1984}
"""Instances of a complete version (1.x: of 1.0.0)."""

_INSTANCE = re.compile(r"(?P<well>WELL-\d{5})_\d{14}|SIMULATED_\d{5}|DRAWN_\d{5}")
_SUFFIXES = {"2.0.0": ".parquet", "1.x": ".csv"}


def _label_map() -> LabelMap:
    table = Path(__file__).parent / "tables" / "petrobras_3w_classes.csv"
    classes: dict[str, str] = {}
    with table.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            for code in (row["steady_code"], row["transient_code"]):
                if code:
                    classes[code] = row["event"]
    return LabelMap(classes)


LABELS = _label_map()
_CODES = tuple(sorted(int(code) for code in LABELS.classes))


@dataclass(frozen=True, order=True)
class _Instance:
    """One file by what names it, ``class/name``; ``root`` is the folder above the class folders."""

    folder: str
    name: str
    root: str
    path: str

    @property
    def key(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def unit(self) -> str:
        match = _INSTANCE.fullmatch(self.name)
        return (match and match["well"]) or self.key


def _instance(path: str, suffix: str) -> _Instance | None:
    where = PurePosixPath(path)
    folder = where.parent.name
    if where.suffix != suffix or not re.fullmatch(r"\d", folder) or not _INSTANCE.fullmatch(where.stem):
        return None
    return _Instance(folder, where.stem, where.parent.parent.as_posix(), path)


class PetrobrasOptions(SourceOptions):
    """What is decided for 3W only."""

    version: Literal["auto", "2.0.0", "1.x"] = setting(
        "auto",
        provenance=RECOVERED,
        reader=False,
        description="the version of the dataset that is read; auto: 2.0.0 where it is there, else 1.x",
    )


def locate(files: FileSet, options: PetrobrasOptions) -> Located:
    """The instances of the chosen version, by class and name."""
    found: dict[str, list[_Instance]] = {version: [] for version in INSTANCES}
    ignored: dict[str, str] = {}
    for path in files.names():
        version = next((v for v, suffix in _SUFFIXES.items() if _instance(path, suffix)), None)
        instance = _instance(path, _SUFFIXES[version]) if version else None
        if version and instance:
            found[version].append(instance)
        else:
            ignored[path] = _why_ignored(path)
    version = next((v for v in INSTANCES if found[v]), "2.0.0") if options.version == "auto" else options.version
    if not found[version]:
        other = sum(len(instances) for instances in found.values())
        beside = f" ({other:,} instances of the other version are there)" if other else ""
        raise NoData(
            f"no instance <class>/<name>{_SUFFIXES[version]} of version {version} in the {files.origin}{beside}"
        )
    for unused in set(INSTANCES) - {version}:
        ignored.update({i.path: f"version {unused}: {version} is read, versions never mix" for i in found[unused]})
    chosen = _one_copy(found[version], ignored)
    absent = INSTANCES[version] - len(chosen)
    missing = (f"{absent:,} of the {INSTANCES[version]:,} instances of version {version}",) if absent > 0 else ()
    return Located(tuple(i.path for i in sorted(chosen)), dict(sorted(ignored.items())), missing)


def _why_ignored(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".rdata":
        return "a third party's R container, not the publisher's file"
    if suffix in _SUFFIXES.values():
        return "not named <class>/<WELL-, SIMULATED_ or DRAWN_ instance>"
    if path.endswith("dataset.ini"):
        return "metadata of the dataset, no values"
    return "not an instance"


def _one_copy(instances: list[_Instance], ignored: dict[str, str]) -> list[_Instance]:
    """Instances of folders that are parts of one dataset. A folder that repeats an instance is another copy or
    another sub-version and is left out whole; the fullest folder counts first."""
    roots: dict[str, list[_Instance]] = {}
    for instance in instances:
        roots.setdefault(instance.root, []).append(instance)
    owner: dict[str, str] = {}
    for root in sorted(roots, key=lambda r: (-len(roots[r]), r)):
        clash = next((i.key for i in roots[root] if i.key in owner), None)
        if clash is None:
            owner.update({i.key: root for i in roots[root]})
        else:
            reason = f"another copy: {clash} is read from {owner[clash]}, versions never mix"
            ignored.update({i.path: reason for i in roots[root]})
    return [i for i in instances if owner[i.key] == i.root and i.path not in ignored]


def read(files: FileSet, located: Located, options: PetrobrasOptions) -> Iterator[Recording]:
    """One recording an instance (more where its clock jumps), values float64, missing as NaN."""
    for path in located.inputs:
        instance = _instance(path, PurePosixPath(path).suffix)
        if instance is None:
            raise BadInput(files.path(path), "is not named <class>/<instance>")
        table = read_instance(files.path(path), CHANNELS, _CODES)
        for part, (start, stop) in enumerate(table.stretches()):
            yield Recording(
                recording_id=instance.key if part == 0 else f"{instance.key} part {part + 1}",
                values=table.values[start:stop],
                channels=CHANNELS,
                evidence=Evidence.dense(table.codes[start:stop]),
                unit=instance.unit,
                source_file=path,
                source_sha256=files.sha256(path),
                clock=Clock(times=table.times[start:stop]),
                first_row=start,
            )


SOURCE = Source(
    **about(__file__),
    labels=LABELS,
    curation=Curation(
        missing="drop_rows",
        channels=CHANNELS,
        ranges=(
            ValidRange("P-*", 0.0, 1e8),
            ValidRange("T-*", -50.0, 250.0),
            ValidRange("Q*", -1.0, 10.0),
        ),
        sentinel_values=(-999.0, -99.99),
        drop_dead_channels=True,
    ),
    config=DatasetConfig[PetrobrasOptions](length=256, stride=256, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=(
        RemoteFile(
            path="3w_dataset_2.0.0.zip",
            url="https://ndownloader.figshare.com/files/55019255",
            sha256="c037a6a9d5dcc9b2add7b9ea413f5cff367c57bad3a93faac1d1d32da27fcbea",
            unpack=True,
        ),
    ),
    download_bytes=1_740_000_000,
    sampling_rate_hz=1.0,
)
