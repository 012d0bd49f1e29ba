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

from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions, setting
from readbench_data.dataset.provenance import RECOVERED
from readbench_data.dataset.source import Licence, Printed, RemoteFile, Source
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
    name="petrobras_3w",
    title="Petrobras 3W",
    row=1,
    domain="Industrial / control",
    description=(
        "Undesirable events in offshore oil wells: pressures, temperatures and gas-lift flow at 1 Hz from real wells, "
        "a simulator and expert drawings, with a label on every second."
    ),
    homepage="https://github.com/petrobras/3W",
    licence=Licence(
        "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", True, "stated in dataset/README.md of petrobras/3W"
    ),
    citation="""@article{vargas2019realistic,
  title   = {A realistic and public dataset with rare undesirable real events in oil wells},
  author  = {Vargas, Ricardo Emanuel Vaz and Munaro, Celso Jos{\\'e} and Ciarelli, Patrick Marques and
             Medeiros, Andr{\\'e} Gon{\\c{c}}alves and do Amaral, Bruno Guberfain and Barrionuevo, Daniel Centurion and
             de Ara{\\'u}jo, Jean Carlos Dias and Ribeiro, Jorge Lins and Magalh{\\~a}es, Lucas Pierezan},
  journal = {Journal of Petroleum Science and Engineering},
  volume  = {181},
  pages   = {106223},
  year    = {2019},
  doi     = {10.1016/j.petrol.2019.106223}
}""",
    evidence="dense: one code a second, null where the source gives none",
    rule="majority",
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
    unit="well; a simulated or drawn instance is its own unit",
    row_unit="row",
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
    manual=(
        "Version 2.0.0 is the zip of Figshare's article 29205836. Version 1.x: articles 29205926 (1.0.0), 29205932 "
        "(1.1.0) and 29205947 (1.1.1), unpacked into a mirror and read with the setting petrobras_3w.version=1.x."
    ),
    download_bytes=1_740_000_000,
    checksum_note=(
        "Figshare publishes a SHA-256 of each version's zip, which a download is held against; "
        "none is published for the files inside."
    ),
    sampling_rate_hz=1.0,
    printed=Printed("2-7", 256, 9, (1000, 1111, 1250), 100, 146.8, 23.7),
    marks={
        "length": "stated",
        "stride": "ours",
        "rule": "stated",
        "unit": "ours",
        "split": "ours",
        "classes": "recovered",
        "channels": "recovered",
        "curation": "stated",
        "ranges": "ours",
        "version": "recovered",
        "test_fraction": "ours",
    },
    label_notes=(
        "Codes 101 to 109 mark the transient onset of a fault and are merged with its steady code; 103 and 104 do not "
        "exist, and a file that holds one is refused.",
        "A null code is no label: windows that touch one are dropped (2.0.0: the first hour of every real instance; "
        "1.x: short gaps between periods).",
        "Dropping the rows of sentinels and missing values is printed; the valid ranges are ours: pressure 0 to 1e8 "
        "Pa, temperature -50 to 250 degC, flow -1 to 10 m3/s (simulated flow lies slightly below 0).",
        "Nine fault classes fit version 2.0.0 with merged onset codes, and 2 to 7 channels fit the seven variables "
        "of 1.x without the sensors that are absent or frozen in an instance (both recovered, not stated).",
        "No root cause: the source names no faulty component.",
    ),
    traps=(
        "absent sensor: an all-null column is removed from the instance",
        "frozen sensor: a constant column is removed, whether at 0 or at a plausible value; the constant valve states "
        "(ESTADO-*) are not among the seven channels",
        "sentinels (-1.18e42, 1.5e9 to 2.9e9, -300,918, -999, -99.99): masked in float64, before any cast",
        "simulated flow slightly below 0 is kept",
        "1 Hz is interpolated by the source; nothing is resampled here",
        "file names repeat across classes: an instance is class/name",
        "the same event has other names in other versions: one version is read, the other listed as ignored; a folder "
        "that repeats an instance is left out whole",
        "instances of one well overlap: the split unit is the well, and the overlapping first hour is null",
        "line ends are mixed in 1.x, and some files end without one: both are read",
        "class is an integer with nulls; 1.x writes it as integer text, as a float, or not at all",
        "runs shorter than a window: the majority of the window decides",
        "extra columns of third parties are not read; R containers are ignored",
        "a jump of the clock breaks the instance in two; a clock that stands or goes back is an error",
        "drawn instances of the 1.x pre-release hold pressures in another unit (hundreds, not 1e7); kept as they are",
    ),
)
