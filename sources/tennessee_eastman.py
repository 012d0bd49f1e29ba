"""Tennessee Eastman process: a simulated chemical plant, 52 channels every three minutes, 20 injected disturbances.

Two layouts are accepted. ``rieth``: four R data files of Rieth et al. (2017), 21,000 runs, which the printed row
describes. ``classic``: ``d00.dat`` to ``d21_te.dat`` of Russell, Chiang and Braatz, one run a fault and 21 faults.
A run is cut at its onset: the rows before it are normal operation, whatever the run's fault number says.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Evidence, Recording
from readbench_data.windows.labeling import LabelMap
from sources.formats.number_table import read_number_table
from sources.formats.rdata import Frame, spool_frame

DATAVERSE = "https://dataverse.harvard.edu/api/access/datafile/"
SAMPLE_SECONDS = 180.0
MEASURED = tuple(f"xmeas_{i}" for i in range(1, 42))
CHANNELS = (*MEASURED, *(f"xmv_{i}" for i in range(1, 12)))
KEYS = ("faultNumber", "simulationRun", "sample")

ONSET_CODE = 100
"""Rows of the first samples after the onset have the code 100 + fault; it has the class of the fault."""
FINGERPRINT_ROWS = 20
"""Runs whose first rows are the same share their noise, so they are one unit; 20 rows precede every onset."""


TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True)
class RiethFile:
    """One of the four R data files: Dataverse id, size and MD5, and how many samples precede the fault."""

    number: int
    bytes: int
    md5: str
    frame: str
    onset: int

    @property
    def split(self) -> str:
        return "train" if self.frame.endswith("training") else "test"


def _rieth_files() -> dict[str, RiethFile]:
    with (TABLES / "tennessee_eastman_files.csv").open(encoding="utf-8", newline="") as stream:
        return {
            r["file"]: RiethFile(int(r["id"]), int(r["bytes"]), r["md5"], r["frame"], int(r["samples_before_fault"]))
            for r in csv.DictReader(stream)
        }


RIETH = _rieth_files()
CLASSIC = tuple(f"d{i:02d}{part}.dat" for i in range(22) for part in ("", "_te"))
CLASSIC_TEST_ONSET = 160


def _fault_names() -> dict[int, str]:
    """Fault number -> class label, such as ``IDV 4: reactor cooling water inlet temperature, step``."""
    with (TABLES / "tennessee_eastman_faults.csv").open(encoding="utf-8", newline="") as stream:
        return {int(r["fault"]): f"IDV {r['fault']}: {r['name']}" for r in csv.DictReader(stream)}


FAULTS = _fault_names()


class TennesseeOptions(SourceOptions):
    """What is decided for Tennessee Eastman only."""

    layout: Literal["auto", "rieth", "classic"] = setting(
        "auto",
        provenance=OURS,
        reader=False,
        description="the files that are read: Rieth's, the classic ones, or by what is there",
    )
    onset_samples: int = setting(
        20, provenance=OURS, ge=0, le=MOST, description="samples after an onset that have a code of their own"
    )


def locate(files: FileSet, options: TennesseeOptions) -> Located:
    """The files of one layout, never of both. ``auto``: Rieth's where they are the published ones, else a whole
    classic set, else whatever there is of Rieth's, else of the classic ones."""
    layout: str = options.layout
    ignored: dict[str, str] = {}
    rieth = _first_of_each(files, tuple(RIETH), ignored)
    classic = _first_of_each(files, CLASSIC, ignored)
    published = [f for f, name in rieth.items() if files.path(name).stat().st_size == RIETH[f].bytes]
    if layout == "auto":
        whole_classic = len(classic) == len(CLASSIC)
        prefer_rieth = any("Faulty" in f for f in published) or (rieth and not whole_classic)
        layout = "rieth" if prefer_rieth or not classic else "classic"
    chosen, other = (rieth, classic) if layout == "rieth" else (classic, rieth)
    if not chosen:
        raise NoData(
            f"no file of the {layout} layout, but {len(other)} of the other: set tennessee_eastman.layout to use them"
            if other
            else "no TEP_*.RData of Rieth et al. and no classic d00.dat ... d21_te.dat"
        )
    why = f"the {layout} layout is read (setting tennessee_eastman.layout = {options.layout})"
    for name, path in other.items():
        stand_in = name in RIETH and name not in published
        ignored[path] = why + (", and this is not the published file: its size differs" if stand_in else "")
    if layout == "rieth":
        missing = [f for f in RIETH if f not in rieth]
        missing += [f"{f} as published ({RIETH[f].bytes:,} bytes)" for f in rieth if f not in published]
    else:
        missing = [f for f in CLASSIC if f not in classic]
        missing.append("the four R data files of Rieth et al., which the printed row describes")
    return Located(tuple(chosen.values()), ignored, tuple(missing))


def _first_of_each(files: FileSet, wanted: tuple[str, ...], ignored: dict[str, str]) -> dict[str, str]:
    """The first file of every wanted name, in the order of ``wanted``; further copies are ignored."""
    found: dict[str, str] = {}
    for name in files.glob(*wanted):
        tail = PurePosixPath(name).name
        if tail in found:
            ignored[name] = f"a second copy of {found[tail]}"
        else:
            found[tail] = name
    return {tail: found[tail] for tail in wanted if tail in found}


def read(files: FileSet, located: Located, options: TennesseeOptions) -> Iterator[Recording]:
    """Run by run in the order of the files; a faulty run as two recordings, before and after its onset."""
    cutter = _Cutter(options.onset_samples)
    for name in located.inputs:
        path, sha256 = files.path(name), files.sha256(name)
        runs = _rieth_runs(path) if name.endswith(".RData") else iter([_classic_run(path)])
        for run in runs:
            yield from cutter.cut(run, name, sha256)


@dataclass(frozen=True)
class Run:
    """One simulation: ``values`` float [T][52], its fault (0 for none), and the row from which it acts."""

    name: str
    values: np.ndarray
    fault: int
    onset: int
    first_row: int
    split: str


@dataclass
class _Cutter:
    """Cuts runs at their onset and remembers which runs share their noise."""

    onset_samples: int
    unit_of: dict[bytes, str] = field(default_factory=dict)

    def cut(self, run: Run, file: str, sha256: str) -> Iterator[Recording]:
        first_rows = np.ascontiguousarray(run.values[:FINGERPRINT_ROWS, : len(MEASURED)])
        unit = self.unit_of.setdefault(hashlib.sha256(first_rows.tobytes()).digest(), run.name)
        steps = len(run.values)
        onset = min(run.onset, steps) if run.fault else steps
        for part, start, stop in (("before-onset", 0, onset), ("after-onset", onset, steps)):
            if start == stop:
                continue
            codes = np.full(stop - start, run.fault if part == "after-onset" else 0)
            if part == "after-onset":
                codes[: self.onset_samples] += ONSET_CODE
            yield Recording(
                recording_id=f"{run.name}/{part}" if run.fault else run.name,
                values=run.values[start:stop],
                channels=CHANNELS,
                evidence=Evidence.dense(codes),
                unit=unit,
                source_file=file,
                source_sha256=sha256,
                native_split=run.split,
                clock=Clock(start=start * SAMPLE_SECONDS, step=SAMPLE_SECONDS),
                first_row=run.first_row + start,
            )


def _rieth_runs(path: Path) -> Iterator[Run]:
    """Runs of one R data file, spooled to a temporary folder first."""
    about = RIETH[path.name]
    with TemporaryDirectory(prefix="readbench-tep-") as folder:
        frame = spool_frame(path, about.frame, Path(folder) / "columns.f32")
        for start, stop, fault, number in _run_bounds(path, frame):
            yield Run(
                name=f"{about.frame}/{fault}/{number}",
                values=frame.take(start, stop, CHANNELS),
                fault=fault,
                onset=about.onset,
                first_row=start,
                split=about.split,
            )


def _run_bounds(path: Path, frame: Frame) -> list[tuple[int, int, int, int]]:
    """(start, stop, faultNumber, simulationRun) of every run, checked to count its samples from 1 without a gap."""
    absent = [c for c in (*KEYS, *CHANNELS) if c not in frame.columns]
    if absent:
        raise BadInput(path, f"column {absent[0]} is missing ({len(absent)} of 55)", row="header")
    if frame.rows == 0:
        raise BadInput(path, "has no rows", row="row 0")
    fault, number, sample = (frame.column(key) for key in KEYS)
    for key, column in zip(KEYS, (fault, number, sample), strict=True):
        bad = np.flatnonzero(~(np.isfinite(column) & (column == np.round(column))))
        if bad.size:
            raise BadInput(path, f"{key} is {column[bad[0]]:g}, no whole number", row=f"row {bad[0]}")
    low, high = (1, 20) if RIETH[path.name].onset else (0, 0)
    strange = np.flatnonzero((fault < low) | (fault > high))
    if strange.size:
        raise BadInput(
            path,
            f"faultNumber {fault[strange[0]]:g} is not in the vocabulary of this file ({low} to {high})",
            row=f"row {strange[0]}",
        )
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(fault) != 0) | (np.diff(number) != 0)]))
    stops = np.append(starts[1:], frame.rows)
    expected = np.arange(1, frame.rows + 1) - np.repeat(starts, stops - starts)
    gap = np.flatnonzero(sample != expected)
    if gap.size:
        row = int(gap[0])
        raise BadInput(path, f"sample {sample[row]:g} where {expected[row]} must follow", row=f"row {row}")
    bounds = [
        (a, b, int(f), int(n))
        for a, b, f, n in zip(starts.tolist(), stops.tolist(), fault[starts], number[starts], strict=True)
    ]
    seen: set[tuple[int, int]] = set()
    for start, _, *run in bounds:
        if (run[0], run[1]) in seen:
            raise BadInput(path, f"fault {run[0]} has a second simulationRun {run[1]}", row=f"row {start}")
        seen.add((run[0], run[1]))
    return bounds


def _classic_run(path: Path) -> Run:
    values = _table(path)
    test = path.stem.endswith("_te")
    return Run(
        name=path.stem,
        values=values,
        fault=int(path.stem[1:3]),
        onset=CLASSIC_TEST_ONSET if test else 0,
        first_row=0,
        split="test" if test else "train",
    )


def _table(path: Path) -> np.ndarray:
    """float64 [T][52]; a file of 52 lines (d00.dat) is transposed."""
    values = read_number_table(path.read_bytes(), path)
    width = len(CHANNELS)
    if values.shape[1] != width and values.shape[0] == width:
        values = values.T
    if values.shape[0] == 0 or values.shape[1] != width:
        raise BadInput(path, f"{values.shape[0]} rows of {values.shape[1]} columns; a row has {width}", row="line 1")
    return np.ascontiguousarray(values)


SOURCE = Source(
    **about(__file__),
    labels=LabelMap({"0": NORMAL} | {str(c + n): label for c in (0, ONSET_CODE) for n, label in FAULTS.items()}),
    curation=Curation(missing="fill"),
    config=DatasetConfig[TennesseeOptions](length=256, stride=256, native_split=True),
    locate=locate,
    read=read,
    remote=tuple(RemoteFile(name, f"{DATAVERSE}{f.number}", md5=f.md5, size=f.bytes) for name, f in RIETH.items()),
    download_bytes=sum(f.bytes for f in RIETH.values()),
    sampling_rate_hz=1 / SAMPLE_SECONDS,
)
