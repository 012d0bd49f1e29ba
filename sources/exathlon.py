"""Exathlon: Spark streaming jobs on a cluster, undisturbed and with injected faults, at 1 Hz.

A trace is one run of one job, a zip with one CSV of 2,283 metrics; the ground truth gives, for each disturbed
trace, the interval of the root cause and the end of its extended effect. Jobs that ran at the same time saw the
same four nodes, so traces that overlap in time are one split unit.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
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
from sources.formats.exathlon_csv import Grid, read_trace, time_span, to_grids
from sources.formats.exathlon_truth import UNKNOWN, Disturbance, read_ground_truth

TABLES = Path(__file__).parent / "tables"

LABELS = LabelMap(
    {
        "bursty_input": "Bursty Input",
        "bursty_input_crash": "Bursty Input Until Crash",
        "stalled_input": "Stalled Input",
        "cpu_contention": "CPU Contention",
        "driver_failure": "Driver Failure",
        "executor_failure": "Executor Failure",
    }
)
COMPONENT = {
    "bursty_input": "input",
    "bursty_input_crash": "input",
    "stalled_input": "input",
    "cpu_contention": "node",
    "driver_failure": "driver",
    "executor_failure": "executor",
}
"""The part of the system that the ground truth's type names as the root cause."""

_TRACE = re.compile(r"(?P<app>\d+)_(?P<type>[0-5])_(?P<rate>\d+)_(?P<number>\d+)")
_PART = re.compile(r"\.z\d{2,}")


def _lines(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


CHANNELS = tuple(row["channel"] for row in _lines("exathlon_channels.csv"))
TRACES = tuple(row["path"] for row in _lines("exathlon_traces.csv"))
"""The 93 traces by their path below data/raw, without the suffix."""


class ExathlonOptions(SourceOptions):
    """What is decided for Exathlon only."""

    normal_stride: int = setting(
        provenance=OURS,
        follows=(1, 0),
        ge=1,
        le=MOST,
        description="seconds between the starts of two windows of an undisturbed trace",
    )
    max_gap_s: int = setting(
        60, provenance=OURS, ge=1, le=MOST, description="missing seconds in a row that are filled; more break the trace"
    )
    no_impact: Literal["fault", "drop"] = setting(
        "fault",
        provenance=OURS,
        description="CPU contention that had no impact on the application: a fault, or without a label",
    )


def locate(files: FileSet, options: ExathlonOptions) -> Located:
    """Traces by number of application and trace, their parts where split, and the ground truth."""
    traces: dict[str, str] = {}
    ignored: dict[str, str] = {}
    truth: list[str] = []
    pieces: list[str] = []
    for path in files.names():
        where = PurePosixPath(path)
        if where.name in ("ground_truth.zip", "ground_truth.csv"):
            truth.append(path)
        elif not _TRACE.fullmatch(where.stem):
            ignored[path] = "not a trace"
        elif _PART.fullmatch(where.suffix):
            pieces.append(path)
        elif where.suffix not in (".zip", ".csv"):
            ignored[path] = "not a trace"
        elif where.stem in traces:
            ignored[path] = f"another copy of {traces[where.stem]}"
        else:
            traces[where.stem] = path
    ignored.update(dict.fromkeys(truth[1:], f"another copy of {truth[0]}" if truth else ""))
    wanted = sorted(traces, key=_order)
    if not truth:
        without = "no ground truth among the files: its faults cannot be labelled"
        ignored.update({traces[t]: without for t in wanted if _is_disturbed(t)})
        wanted = [t for t in wanted if not _is_disturbed(t)]
    if not wanted:
        raise NoData(f"no trace (app1/1_0_10000_17.zip and the like) in the {files.origin}")
    inputs: list[str] = truth[:1]
    for trace in wanted:
        inputs += [*_parts_of(traces[trace], pieces), traces[trace]]
    orphan = "a part of a split archive whose last part (.zip) is missing or not read"
    ignored.update({piece: orphan for piece in pieces if piece not in inputs})
    return Located(tuple(inputs), dict(sorted(ignored.items())), _missing(wanted, bool(truth)))


def _order(trace: str) -> tuple[int, ...]:
    return tuple(int(n) for n in trace.split("_"))


def _is_disturbed(trace: str) -> bool:
    return trace.split("_")[1] != "0"


def _parts_of(archive: str, pieces: Sequence[str]) -> list[str]:
    """The .z01, .z02, ... beside an archive, in order."""
    beside = PurePosixPath(archive).with_suffix("").as_posix()
    return sorted(p for p in pieces if PurePosixPath(p).with_suffix("").as_posix() == beside)


def _missing(wanted: Sequence[str], truth: bool) -> tuple[str, ...]:
    absent = sorted({PurePosixPath(path).name for path in TRACES} - set(wanted), key=_order)
    words = [] if truth else ["ground_truth.zip"]
    if absent:
        disturbed = sum(_is_disturbed(t) for t in absent)
        words.append(f"{len(absent)} of the {len(TRACES)} traces ({disturbed} of them disturbed)")
    return tuple(words)


def read(files: FileSet, located: Located, options: ExathlonOptions) -> Iterator[Recording]:
    """One recording a trace, or more where its clock has a long gap."""
    truth = [p for p in located.inputs if PurePosixPath(p).stem == "ground_truth"]
    faults = read_ground_truth(files.path(truth[0]), tuple(LABELS.classes)) if truth else []
    traces = [p for p in located.inputs if p not in truth and not _PART.fullmatch(PurePosixPath(p).suffix)]
    parts = {path: [files.path(p) for p in _parts_of(path, located.inputs)] for path in traces}
    spans = {path: time_span(files.path(path), parts[path]) for path in traces}
    units = _concurrent(spans)
    for path in traces:
        trace = PurePosixPath(path).stem
        own = [f for f in faults if f.trace == trace]
        if _is_disturbed(trace) and not own:
            raise BadInput(files.path(truth[0]), f"has no row for the disturbed trace {trace}")
        _check_inside(files.path(truth[0]) if truth else files.path(path), own, spans[path])
        seconds, values = read_trace(files.path(path), parts[path], CHANNELS)
        for number, grid in enumerate(to_grids(seconds, values, options.max_gap_s)):
            yield Recording(
                recording_id=trace if number == 0 else f"{trace} part {number + 1}",
                values=grid.values,
                channels=CHANNELS,
                evidence=_evidence(own, grid, options.no_impact == "drop"),
                unit=units[path],
                source_file=path,
                source_sha256=files.sha256(path),
                native_split="test" if _is_disturbed(trace) else "train",
                clock=Clock(np.datetime64(grid.start, "s"), 1.0),
                rows=grid.rows,
                row_stops=grid.row_stops,
                window_starts=None if _is_disturbed(trace) else np.arange(0, len(grid.values), options.normal_stride),
            )


def _concurrent(spans: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Traces whose times overlap, directly or through others, by the name of the first to start."""
    units: dict[str, str] = {}
    end, name = -1, ""
    for path in sorted(spans, key=lambda p: (spans[p][0], p)):
        start, stop = spans[path]
        if start > end:
            name = f"from {PurePosixPath(path).stem}"
        end = max(end, stop)
        units[path] = name
    return units


def _check_inside(file: Path, faults: Sequence[Disturbance], span: tuple[int, int]) -> None:
    for fault in faults:
        if fault.stop <= span[0] or fault.start > span[1]:
            raise BadInput(
                file,
                f"{fault.kind} from {fault.start} to {fault.stop - 1} lies outside the trace {fault.trace} "
                f"({span[0]} to {span[1]})",
                f"row {fault.row}",
            )


def _evidence(faults: Sequence[Disturbance], grid: Grid, drop_no_impact: bool) -> Evidence:
    events, hidden = [], []
    for fault in faults:
        start, stop = fault.start - grid.start, fault.stop - grid.start
        if stop <= 0 or start >= len(grid.values):
            continue
        if fault.kind == UNKNOWN or (drop_no_impact and fault.details == "no_application_impact"):
            hidden.append((max(start, 0), min(stop, len(grid.values))))
        else:
            number = f"{fault.trace} row {fault.row}"
            events.append(Event(fault.kind, start, stop, number, COMPONENT[fault.kind]))
    return Evidence.events(events, sorted(hidden))


SOURCE = Source(
    **about(__file__),
    labels=LABELS,
    curation=Curation(missing="fill", channels=CHANNELS, sentinel_values=(-1.0,)),
    config=DatasetConfig[ExathlonOptions](length=256, stride=64, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=(
        RemoteFile(
            path="exathlon-4101f60.zip",
            url="https://github.com/exathlonbenchmark/exathlon/archive/4101f6087f902fa150e392b65c957976faa84e40.zip",
            unpack=True,
        ),
    ),
    sampling_rate_hz=1.0,
)
