"""TelecomTS: windows of 12.8 seconds of 18 indicators of a 5G testbed, with eleven kinds of anomaly."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import Conflict, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import BACKGROUND, Clock, Evidence, Recording
from readbench_data.windows.labeling import LabelMap

HUB = "https://huggingface.co/datasets/AliMaatouk/TelecomTS/resolve/01e44b1b75e9b229c71a801ccd55320c28669e7f/"
FILE = "chunked.jsonl"
STEPS = 128
STEP_SECONDS = 0.1

CHANNELS = (
    *("RSRP", "DL_BLER", "DL_MCS", "UL_BLER", "UL_MCS", "UL_NPRB", "UL_SNR", "TX_Bytes", "RX_Bytes"),
    *("Estimated_UL_Buffer", "PRBs_DL_Current", "PRBs_UL_Current", "PRB_Utilization_DL", "PRB_Utilization_UL"),
    *("UL_Protocol", "UL_NumberOfPackets", "DL_Protocol", "DL_NumberOfPackets"),
)
PROTOCOL_CHANNELS = ("UL_Protocol", "DL_Protocol")
PROTOCOLS = {"TCP": 0.0, "UDP": 1.0}
NO_PROTOCOL = 2.0
"""The authors' encoding: whatever is neither TCP nor UDP (null, "None", the empty text) is 2."""

TYPES = (
    "Jamming",
    "Co-Channel Interference (Mild)",
    "Buffer Overflow (Gradual Buildup)",
    "Co-Channel Interference (Severe)",
    "Antenna Failure",
    "Faulty RF Filters (Temporal)",
    "High Network Congestion (Gradual Buildup)",
    "Doppler Shift (Severe)",
    "Faulty Handover Algorithm (Too Frequent)",
    "Resource Allocation Bugs",
    "High Network Congestion (Sudden Spike)",
)

APPLICATIONS = ("File", "Twitch", "YouTube")
ZONES = ("Zone_A", "Zone_B", "Zone_C")


def published_folders() -> tuple[str, ...]:
    """The 33 folders of the published tree: faults first."""
    scenarios = (
        "anomalous/jammer",
        *(f"anomalous/synthetic/{z}" for z in ZONES),
        "normal/mobile",
        *(f"normal/stationary/{z}/{c}" for z in ZONES for c in ("congestion", "no_congestion")),
    )
    return tuple(f"{s}/{a}" for s in scenarios for a in APPLICATIONS)


def _published_sizes() -> dict[str, int]:
    """Bytes of the files whose size was reported, by path."""
    table = Path(__file__).parent / "tables" / "telecom_ts_files.csv"
    with table.open(encoding="utf-8", newline="") as stream:
        return {row["path"]: int(row["bytes"]) for row in csv.DictReader(stream)}


SIZES = _published_sizes()


class TelecomOptions(SourceOptions):
    """What is decided for TelecomTS only. A window is cut from one of the source's, so it is not longer than these.

    All steps of one of the source's windows lie in the same line, so two windows cut from it could not be told apart.
    """

    longest_window: ClassVar[int] = STEPS

    joined_within_s: float = setting(
        12.8,
        provenance=OURS,
        ge=0,
        le=86_400,
        description="windows of a file that begin less than this many seconds after another are one unit",
    )

    def conflict(self, length: int, stride: int) -> Conflict | None:
        """One window is cut from each of the source's."""
        if length + stride > STEPS:
            return None
        if stride == length:
            return "length", f"a whole number from {STEPS // 2 + 1} to {STEPS}: one window per window of the source"
        return "stride", f"a whole number above {STEPS - length}: one window per window of the source"


def locate(files: FileSet, options: TelecomOptions) -> Located:
    """``<folder>/processed/chunked.jsonl`` of the published tree, wherever the tree lies."""
    chosen: dict[str, str] = {}
    ignored: dict[str, str] = {}
    for name in files.glob("*.jsonl"):
        folder = folder_of(name)
        if folder is None:
            ignored[name] = f"no processed/{FILE} of the published tree"
        elif folder in chosen:
            ignored[name] = f"second copy of {chosen[folder]}"
        else:
            chosen[folder] = name
    if not chosen:
        others = f"; {', '.join(ignored)} is not one" if ignored else ""
        raise NoData(f"no <anomalous|normal>/.../processed/{FILE} is there{others}")
    order = [f for f in published_folders() if f in chosen]
    missing = tuple(f"{f}/processed/{FILE}" for f in published_folders() if f not in chosen)
    return Located(tuple(chosen[f] for f in order), ignored, missing)


def folder_of(name: str) -> str | None:
    """The published folder a file belongs to, such as ``anomalous/jammer/File``; None for other files."""
    path = PurePosixPath(name)
    if path.name != FILE:
        return None
    below = path.parent.parent if path.parent.name == "processed" else path.parent
    return next((f for f in published_folders() if f"/{below}".endswith(f"/{f}")), None)


@dataclass(frozen=True)
class Window:
    """One line: when it starts, values float64 [128][18], anomaly type or ``normal``, and what it affects."""

    start: np.datetime64
    values: np.ndarray
    code: str
    affected: tuple[str, ...]


def read(files: FileSet, located: Located, options: TelecomOptions) -> Iterator[Recording]:
    """One recording a line, file by file, in the order of the file."""
    for name in located.inputs:
        folder = folder_of(name) or PurePosixPath(name).stem
        windows = list(read_windows(files.path(name)))
        first_lines = stretches([w.start for w in windows], options.joined_within_s)
        for line, (window, first) in enumerate(zip(windows, first_lines, strict=True)):
            yield Recording(
                recording_id=f"{folder}/{line}",
                values=window.values,
                channels=CHANNELS,
                evidence=Evidence.native(window.code, STEPS, rca_affected=window.affected),
                unit=f"{folder}/{first}",
                source_file=name,
                source_sha256=files.sha256(name),
                clock=Clock(window.start, STEP_SECONDS),
                rows=np.full(STEPS, line, np.int64),
            )


def stretches(starts: Sequence[np.datetime64], joined_within: float) -> list[int]:
    """For every window of a file the first line of its stretch: windows that begin less than ``joined_within``
    seconds after another one share samples with it and belong together."""
    if not starts:
        return []
    times = np.array(starts, "datetime64[ms]").astype(np.int64)
    order = np.argsort(times, kind="stable")
    breaks = np.concatenate([[True], np.diff(times[order]) >= round(joined_within * 1000)])
    group = np.empty(len(times), np.int64)
    group[order] = np.cumsum(breaks) - 1
    first = np.full(int(group.max()) + 1, len(times))
    np.minimum.at(first, group, np.arange(len(times)))
    return [int(line) for line in first[group]]


def read_windows(path: Path) -> Iterator[Window]:
    """The windows of one JSONL file. ``BadInput`` with the line, counted from 1, for a record that is not one."""
    number = 0
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                yield parse(path, f"line {number}", line)
    except OSError as error:
        raise BadInput(path, f"cannot be read ({error.strerror})") from error
    if number == 0:
        raise BadInput(path, "is empty: it should hold one JSON object a line")


def parse(path: Path, where: str, line: bytes) -> Window:
    """One record: only its indicators, its start and its anomaly are looked at, never its texts."""
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BadInput(path, f"is not JSON ({error})", where) from error
    if not isinstance(record, dict):
        raise BadInput(path, "is not a JSON object", where)
    missing = next((k for k in ("start_time", "KPIs", "anomalies") if k not in record), None)
    if missing is not None:
        raise BadInput(path, f"has no field {missing!r}", where)
    try:
        start = np.datetime64(record["start_time"].replace(" ", "T"), "ms")
    except (AttributeError, ValueError) as error:
        raise BadInput(path, f"start_time {record['start_time']!r} is not a time", where) from error
    code, affected = _anomaly(path, where, record["anomalies"])
    return Window(start, _values(path, where, record["KPIs"]), code, affected)


def _values(path: Path, where: str, kpis: Any) -> np.ndarray:
    if not isinstance(kpis, dict) or {"keys", "values"} <= set(kpis):
        raise BadInput(path, "KPIs is not one list an indicator (the benchmark repository's schema is another)", where)
    values = np.empty((STEPS, len(CHANNELS)))
    for column, channel in enumerate(CHANNELS):
        series = kpis.get(channel)
        if not isinstance(series, list):
            raise BadInput(path, f"has no list for indicator {channel!r}", where)
        if len(series) != STEPS:
            raise BadInput(path, f"{channel} has {len(series)} steps, not {STEPS}", where)
        if channel in PROTOCOL_CHANNELS:
            names = np.array(series, object)
            values[:, column] = np.select([names == p for p in PROTOCOLS], list(PROTOCOLS.values()), NO_PROTOCOL)
            continue
        try:
            values[:, column] = np.array(series, np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(path, f"{channel} holds something that is not a number", where) from error
    return values


def _anomaly(path: Path, where: str, anomaly: Any) -> tuple[str, tuple[str, ...]]:
    """Type and affected indicators; a normal record has the type "" and affects [""]."""
    if not isinstance(anomaly, dict) or not isinstance(anomaly.get("exists"), bool):
        raise BadInput(path, "anomalies has no true or false in 'exists'", where)
    kind = anomaly.get("type") or ""
    if not isinstance(kind, str) or anomaly["exists"] != (kind != ""):
        raise BadInput(path, f"anomaly type {kind!r} contradicts exists = {anomaly['exists']}", where)
    if kind and kind not in TYPES:
        raise BadInput(path, f"anomaly type {kind!r} is not one of the eleven", where)
    affected = tuple(k for k in anomaly.get("affected_kpis") or () if k) if kind else ()
    return kind or BACKGROUND, affected


SOURCE = Source(
    **about(__file__),
    labels=LabelMap({BACKGROUND: NORMAL, **{t: t for t in TYPES}}),
    curation=Curation(missing="fill"),
    config=DatasetConfig[TelecomOptions](length=STEPS, test_fraction=0.2),
    locate=locate,
    read=read,
    remote=tuple(
        RemoteFile(f"{f}/processed/{FILE}", f"{HUB}{f}/processed/{FILE}", size=SIZES.get(f"{f}/processed/{FILE}"))
        for f in published_folders()
    ),
    download_bytes=971_915_313,
    sampling_rate_hz=10.0,
)
