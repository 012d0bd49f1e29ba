"""CATS (Controlled Anomalies Time Series): 200 injected anomalies in a simulated system, 17 channels at 1 Hz.

The name of READ-Bench's twelfth dataset is not known. CATS is this project's own choice for its place.
"""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording
from readbench_data.windows.labeling import LabelMap
from sources.formats.timed_table import read_blocks

HUB = "https://huggingface.co/datasets/patrickfleith/controlled-anomalies-time-series-dataset/resolve/"
REVISION = "50184f8fbc1afc19e5eeeb9fbd6b2d3da391ccb0"

CHANNELS = (
    *("aimp", "amud", "arnd", "asin1", "asin2", "adbr", "adfl"),
    *("bed1", "bed2", "bfo1", "bfo2", "bso1", "bso2", "bso3", "ced1", "cfo1", "cso1"),
)
"""Four commands and three stimuli (a), then ten telemetry channels (b, c), in the order of the file."""

TRUTH = ("y", "category")
"""Columns of the label: they stand among the channels and are never values."""

COLUMNS = ("timestamp", *CHANNELS, *TRUTH)
METADATA_COLUMNS = ("start_time", "end_time", "root_cause", "affected", "category")


class CatsOptions(SourceOptions):
    """What is decided for CATS only."""

    class_by: Literal["category", "root_cause"] = setting(
        "category", provenance=OURS, description="the column of metadata.csv that is the class of an anomaly"
    )
    reach: int = setting(
        provenance=OURS,
        follows=(0.5, 0),
        ge=0,
        le=MOST,
        description="rows on both sides of an anomaly that are cut with it",
    )
    margin: int = setting(
        provenance=OURS,
        follows=(1, 0),
        ge=0,
        le=MOST,
        description="rows between an anomaly and what counts as normal operation, at least",
    )


@dataclass(frozen=True)
class Anomaly:
    """A row of metadata.csv; ``start`` and ``end`` in rows of the data file, ``end`` the row of end_time."""

    name: str
    start: int
    end: int
    code: str
    category: int
    root_cause: str
    affected: tuple[str, ...]


@dataclass(frozen=True)
class Stretch:
    """Rows [start, stop) of the data file that become one recording; ``stop`` None: to the last row."""

    name: str
    start: int
    stop: int | None
    anomalies: tuple[Anomaly, ...] = ()


def locate(files: FileSet, options: CatsOptions) -> Located:
    """metadata.csv and data.csv, or data.parquet where there is no data.csv."""
    tables = files.glob("data.csv") or files.glob("data.parquet")
    metadata = files.glob("metadata.csv")
    if not tables or not metadata:
        absent = "metadata.csv" if tables else "data.csv (or data.parquet)"
        raise NoData(f"{absent} is not there: both tables of version 2 are needed")
    table = tables[0]
    beside = [m for m in metadata if PurePosixPath(m).parent == PurePosixPath(table).parent]
    chosen = (table, (beside or list(metadata))[0])
    others = (*files.glob("data.csv", "data.parquet"), *metadata)
    return Located(chosen, {n: f"{chosen[0]} is read instead" for n in others if n not in chosen})


def read(files: FileSet, located: Located, options: CatsOptions) -> Iterator[Recording]:
    """Nominal stretches and anomalies in turn, each one recording, in the order of time."""
    data, metadata = located.inputs
    path, digest = files.path(data), files.sha256(data)
    blocks = read_blocks(path, COLUMNS)
    first = next(blocks, None)
    if first is None:
        raise BadInput(path, "holds no row")
    epoch = first[0][0]
    anomalies = read_metadata(files, metadata, epoch, options.class_by)
    waiting = plan(anomalies, options.reach, options.margin)
    held: list[np.ndarray] = []
    held_from = rows = 0
    for times, table in _chain(first, blocks):
        _check_clock(path, times, epoch, rows)
        held.append(table)
        rows += len(table)
        while waiting and waiting[0].stop is not None and waiting[0].stop <= rows:
            held = [np.concatenate(held)] if len(held) > 1 else held
            stretch = waiting.pop(0)
            yield _recording(stretch, held[0][stretch.start - held_from :], epoch, data, digest)
        if waiting and held_from < waiting[0].start:
            everything = np.concatenate(held)
            cut = min(waiting[0].start, rows) - held_from
            held, held_from = [everything[cut:]], held_from + cut
    late = next((a for a in anomalies if a.end >= rows), None)
    if late is not None:
        where = f"row {int(late.name.rpartition('_')[2])}"
        raise BadInput(files.path(metadata), f"the anomaly ends after the last of {rows:,} rows of {path.name}", where)
    for stretch in waiting:
        if stretch.start < rows:
            yield _recording(stretch, np.concatenate(held)[stretch.start - held_from :], epoch, data, digest)


def _chain(
    first: tuple[np.ndarray, np.ndarray], rest: Iterator[tuple[np.ndarray, np.ndarray]]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    yield first
    yield from rest


def plan(anomalies: Sequence[Anomaly], reach: int, margin: int) -> list[Stretch]:
    """Stretches in order of time: each anomaly with ``reach`` rows on both sides, and what is at least
    ``margin`` rows from any anomaly as nominal. Anomalies within each other's reach share a stretch."""
    groups: list[list[Anomaly]] = []
    for anomaly in sorted(anomalies, key=lambda a: (a.start, a.name)):
        if groups and anomaly.start - reach <= max(a.end for a in groups[-1]) + 1 + reach:
            groups[-1].append(anomaly)
        else:
            groups.append([anomaly])
    stretches: list[Stretch] = []
    free = 0
    for group in groups:
        start, stop = group[0].start, max(a.end for a in group) + 1
        if start - margin > free:
            stretches.append(Stretch(f"nominal_{len(stretches):03d}", free, start - margin))
        stretches.append(Stretch(group[0].name, max(start - reach, 0), stop + reach, tuple(group)))
        free = stop + margin
    stretches.append(Stretch(f"nominal_{len(stretches):03d}", free, None))
    return stretches


def _recording(stretch: Stretch, table: np.ndarray, epoch: np.datetime64, data: str, digest: str) -> Recording:
    """The recording of one stretch from ``table``, which begins at the stretch's first row."""
    table = table[: None if stretch.stop is None else stretch.stop - stretch.start]
    y, category = table[:, -2], table[:, -1]
    return Recording(
        recording_id=stretch.name,
        values=table[:, : len(CHANNELS)],
        channels=CHANNELS,
        evidence=evidence(stretch, y, category),
        unit=stretch.name,
        source_file=data,
        source_sha256=digest,
        clock=Clock(epoch + np.timedelta64(stretch.start, "s"), 1.0),
        first_row=stretch.start,
    )


def evidence(stretch: Stretch, y: np.ndarray, category: np.ndarray) -> Evidence:
    """Events of a stretch; rows on which ``y``/``category`` and the metadata disagree are unlabelled.

    Whether the second of end_time still belongs to an anomaly is not published: its own ``y`` decides.
    """
    said = y != 0
    events, expected = [], np.zeros(len(y))
    for anomaly in stretch.anomalies:
        start, end = anomaly.start - stretch.start, anomaly.end - stretch.start
        stop = end + 1 if end < len(y) and said[end] and category[end] == anomaly.category else end
        expected[start:stop] = anomaly.category
        events.append(Event(anomaly.code, start, stop, anomaly.name, anomaly.root_cause, anomaly.affected))
    doubtful = (said != (expected != 0)) | (said & (category != expected))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], doubtful, [False]]).astype(np.int8)))
    return Evidence.events(events, list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)))


def read_metadata(files: FileSet, name: str, epoch: np.datetime64, class_by: str) -> list[Anomaly]:
    """The anomalies, named by their data row (from 0). ``BadInput`` for a cell that does not parse."""
    path = files.path(name)
    try:
        reader = csv.DictReader(io.StringIO(files.read_bytes(name).decode("utf-8")))
        rows, found = list(reader), tuple(reader.fieldnames or ())
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(path, f"is not a CSV text ({error})") from error
    missing = [c for c in METADATA_COLUMNS if c not in found]
    if missing:
        raise BadInput(path, f"has no column {missing[0]!r}")
    if not rows:
        raise BadInput(path, "holds no anomaly")
    return [_anomaly(path, number, row, epoch, class_by) for number, row in enumerate(rows)]


def _anomaly(path: Path, number: int, row: Mapping[str, str], epoch: np.datetime64, class_by: str) -> Anomaly:
    where = f"row {number}"
    try:
        start, end = ((np.datetime64(row[c], "s") - epoch).astype(int) for c in METADATA_COLUMNS[:2])
        category = int(row["category"])
    except (TypeError, ValueError) as error:
        raise BadInput(path, f"a time or the category cannot be read ({error})", where) from error
    if not 0 <= start < end:
        raise BadInput(path, "the anomaly ends before it starts, or starts before the data", where)
    if category == 0:
        raise BadInput(path, "category 0 is nominal operation, not an anomaly", where)
    root_cause, affected = row["root_cause"], parse_affected(path, row["affected"], where)
    for channel in (root_cause, *affected):
        if channel not in CHANNELS:
            raise BadInput(path, f"{channel!r} is not a channel", where)
    code = root_cause if class_by == "root_cause" else f"category_{category}"
    return Anomaly(f"anomaly_{number:03d}", int(start), int(end), code, category, root_cause, affected)


def parse_affected(path: Path, cell: str | None, where: str) -> tuple[str, ...]:
    """``"['cfo1']"`` as a tuple of names, by a literal parser: nothing in the cell is ever run."""
    try:
        names = ast.literal_eval(cell or "")
    except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
        raise BadInput(path, f"affected {cell!r} is not a list of names", where) from error
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise BadInput(path, f"affected {cell!r} is not a list of names", where)
    return tuple(names)


def _check_clock(path: Path, times: np.ndarray, epoch: np.datetime64, row: int) -> None:
    """Every row is one second after the one before: only then a time is a row."""
    expected = epoch + np.arange(row, row + len(times)).astype("timedelta64[s]")
    wrong = np.flatnonzero(times != expected)
    if wrong.size:
        at = int(wrong[0])
        raise BadInput(path, f"timestamp {times[at]} where 1 Hz has {expected[at]}", f"row {row + at}")


SOURCE = Source(
    **about(__file__),
    labels=LabelMap(classes={}, open_vocabulary=True),
    curation=Curation(missing="fill"),
    config=DatasetConfig[CatsOptions](length=256, stride=128, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=(
        RemoteFile(
            "data.csv",
            f"{HUB}{REVISION}/data.csv",
            sha256="cd3a6e36c7c0cb2a519fc397d488827563e223719abcfce41ae6769add7c8588",
            size=1_465_304_610,
        ),
        RemoteFile("metadata.csv", f"{HUB}{REVISION}/metadata.csv", size=11_297),
    ),
    download_bytes=1_465_304_610 + 11_297,
    known_sha256={"data.csv": "cd3a6e36c7c0cb2a519fc397d488827563e223719abcfce41ae6769add7c8588"},
    sampling_rate_hz=1.0,
)
