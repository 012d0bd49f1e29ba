"""DAMADICS: three control valves of the Lublin sugar factory, 32 channels every second, 19 injected fault events.

One text file a day (``DDMMYYYY.txt``, 33 columns, no header), in four zip archives or unpacked. The files hold no
labels: they come from the published table of events. Half of the events are shorter than a window, so a window
in which Normal has the majority still belongs to an event of which it holds the larger part.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
from pydantic import Strict

from readbench_data.dataset.about import about
from readbench_data.dataset.allowed import EachOf
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording, UnitSpans
from readbench_data.windows.labeling import LabelMap
from sources.formats.number_table import read_number_table

URL = "https://iair.mchtr.pw.edu.pl/content/download/"
DAY_SECONDS = 86_400
DAYS = 25
"""Daily files of the complete set, 27 October to 23 November 2001."""

FAULTS = {
    "f16": "f16 positioner supply pressure drop",
    "f17": "f17 unexpected pressure change across the valve",
    "f18": "f18 fully or partly opened bypass valves",
    "f19": "f19 flow rate sensor fault",
}
ARCHIVES = {
    "Lublin_all_data_part1.zip": ("163/817", "4fea6d279b1077bc51a15a21170144125e9e973214de57b1f8b622e16ba774a3"),
    "Lublin_all_data_part2.zip": ("164/821", "5e23c3b0e5adcb50541704024846d54f33bc374e1fd36f50b1043a663dfba803"),
    "Lublin_all_data_part3.zip": ("165/825", "2e961f290e3a7fdd3ebf3e2688af207cd1affef065aae13e3fb68755f7ee9628"),
    "Lublin_all_data_part4.zip": ("166/829", "d8a61f82c3b66df5f566bc8c78060db678cc886ab94f4059bab5de3b68784cf2"),
}
"""Archive -> place below the download address, and SHA-256."""

FAULT_DAYS = {
    "30102001.txt": "75706a15cff60b132ae7fd291ce08a06bb0ef0df6ed65a15cb05fe18889363d1",
    "09112001.txt": "b3af2f899fe23c2826a0821fd9024a9dcc6c1a7f99e2191b752bb6b4a218d488",
    "17112001.txt": "2744046eedf781c157f0bc02db96be2b3651063112d04d2e80f56260594b1538",
    "20112001.txt": "8ce1310dcfb8f4907aecc2414dc8dbd013b382cf9fc08e45b2e740b74f9fec79",
}
TABLES = Path(__file__).parent / "tables"


@dataclass(frozen=True)
class TableEvent:
    """A row of the table of events: seconds of its day; ``end`` None for the one that is left open."""

    number: str
    day: str
    actuator: str
    code: str
    start: int
    end: int | None


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


EVENTS = tuple(
    TableEvent(r["event"], r["day"], r["actuator"], r["code"], int(r["start"]), int(r["end"]) if r["end"] else None)
    for r in _rows("damadics_events.csv")
)
CHANNELS = tuple(r["channel"] for r in _rows("damadics_channels.csv"))
ACTUATOR_CHANNELS = {
    actuator: tuple(r["channel"] for r in _rows("damadics_channels.csv") if r["actuator"] == actuator)
    for actuator in "123"
}


OPEN_EVENT_START = next(event.start for event in EVENTS if event.end is None)


def recorded_days() -> tuple[str, ...]:
    """Every day of the recording, 27 October to 23 November 2001, as its file is named: ``27102001``."""
    return tuple(f"{date(2001, 10, 27) + timedelta(day):%d%m%Y}" for day in range(28))


class DamadicsOptions(SourceOptions):
    """What is decided for DAMADICS only."""

    open_event_end: int = setting(
        DAY_SECONDS,
        provenance=OURS,
        gt=OPEN_EVENT_START,
        le=DAY_SECONDS,
        description="the second of its day at which the event without an end in the table ends",
    )
    end_inclusive: bool = setting(
        True, provenance=OURS, description="whether the last second of an event in the table belongs to it"
    )
    unlabelled_days: Annotated[tuple[str, ...], Strict(False), EachOf("recorded days", recorded_days)] = setting(
        ("27102001",), provenance=OURS, description="days without a label"
    )
    margin: int = setting(
        provenance=OURS,
        follows=(1, -1),
        ge=0,
        le=MOST,
        description="seconds around an event that belong to its unit; events less than twice as far apart are one unit",
    )


def locate(files: FileSet, options: DamadicsOptions) -> Located:
    """Daily files, unpacked or in archives; a day that is there twice is read from its text file."""
    archives, texts = files.glob("Lublin_all_data_part*.zip"), files.glob("*.txt")
    days = _days(files, (*texts, *archives))
    if not days:
        other = ", ".join(PurePosixPath(n).name for n in files.glob("*.mat"))
        hint = f" ({other}: simulated or single-hour data in another layout, without labels)" if other else ""
        raise NoData(f"no daily file DDMMYYYY.txt and no Lublin_all_data_part*.zip{hint}")
    used = {file for file, _ in days.values()}
    ignored = {
        name: "every day in it is read from another file" if name in archives else "a second copy of a day"
        for name in (*archives, *(t for t in texts if _day(t)))
        if name not in used
    }
    missing = [f"{name} (a day with fault events)" for name in FAULT_DAYS if _day(name) not in days]
    if len(days) < DAYS:
        missing.append(f"{DAYS - len(days)} of {DAYS} daily files in all")
    return Located(tuple(dict.fromkeys(file for file, _ in days.values())), ignored, tuple(missing))


def _days(files: FileSet, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Day -> (file, member of the archive or nothing), by date; the first place a day is found in."""
    found: dict[str, tuple[str, str]] = {}
    for name in names:
        members = _members(files, name) if name.endswith(".zip") else ("",)
        for member in members:
            day = _day(member or name)
            if day:
                found.setdefault(day, (name, member))
    return {day: found[day] for day in sorted(found, key=_date)}


def _day(name: str) -> str:
    """``30102001`` of a daily file, nothing of any other name."""
    match = re.fullmatch(r"(\d{8})\.txt", PurePosixPath(name).name)
    if match is None:
        return ""
    try:
        _date(match[1])
    except ValueError:
        return ""
    return match[1]


def _date(day: str) -> date:
    return date(int(day[4:]), int(day[2:4]), int(day[:2]))


def _members(files: FileSet, archive: str) -> list[str]:
    try:
        with zipfile.ZipFile(files.path(archive)) as opened:
            return sorted(opened.namelist())
    except (zipfile.BadZipFile, OSError, EOFError) as error:
        raise BadInput(files.path(archive), f"truncated or not a zip archive ({error})") from error


def read(files: FileSet, located: Located, options: DamadicsOptions) -> Iterator[Recording]:
    """One recording a day, in order of date; a gap in the seconds breaks a day in two."""
    for day, (name, member) in _days(files, located.inputs).items():
        where = f"{files.path(name)}/{member}" if member else str(files.path(name))
        table = read_number_table(_bytes(files, name, member), where)
        if table.shape[0] == 0 or table.shape[1] != len(CHANNELS) + 1:
            raise BadInput(where, f"{table.shape[0]} rows of {table.shape[1]} columns; a row has 33", row="line 1")
        starts, stops = _unbroken(table[:, 0], where)
        for number, (first, last) in enumerate(zip(starts, stops, strict=True)):
            begin = int(table[first, 0])
            evidence, unit = _evidence(day, begin, last - first, options)
            yield Recording(
                recording_id=day if number == 0 else f"{day}/{number + 1}",
                values=table[first:last, 1:],
                channels=CHANNELS,
                evidence=evidence,
                unit=unit,
                source_file=name,
                source_sha256=files.sha256(name),
                clock=Clock(start=np.datetime64(_date(day)) + np.timedelta64(begin, "s"), step=1.0),
                first_row=first,
            )


def _bytes(files: FileSet, name: str, member: str) -> bytes:
    if not member:
        return files.read_bytes(name)
    try:
        with zipfile.ZipFile(io.BytesIO(files.read_bytes(name))) as opened:
            return opened.read(member)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise BadInput(files.path(name), f"{member} cannot be unpacked ({error})") from error


def _unbroken(seconds: np.ndarray, where: str) -> tuple[list[int], list[int]]:
    """Rows at which stretches of one row a second start and stop."""
    bad = np.flatnonzero(~((seconds >= 0) & (seconds < DAY_SECONDS) & (seconds == np.floor(seconds))))
    if bad.size:
        raise BadInput(where, f"second {seconds[bad[0]]:g} is none of 0 to 86399", row=f"line {bad[0] + 1}")
    step = np.diff(seconds)
    back = np.flatnonzero(step <= 0)
    if back.size:
        row = int(back[0]) + 1
        raise BadInput(where, f"second {seconds[row]:g} after {seconds[row - 1]:g}", row=f"line {row + 1}")
    breaks = (np.flatnonzero(step != 1) + 1).tolist()
    return [0, *breaks], [*breaks, len(seconds)]


def _evidence(day: str, begin: int, steps: int, options: DamadicsOptions) -> tuple[Evidence, str | UnitSpans]:
    """Events and split units of ``steps`` seconds of a day from second ``begin`` on."""
    events = [
        Event(
            code=e.code,
            start=e.start - begin,
            stop=(options.open_event_end if e.end is None else e.end + options.end_inclusive) - begin,
            event_id=e.number,
            rca_target=f"actuator {e.actuator}",
            rca_affected=ACTUATOR_CHANNELS[e.actuator],
        )
        for e in sorted(EVENTS, key=lambda e: (e.start, e.number))
        if e.day == day
    ]
    hidden = [(0, steps)] if day in options.unlabelled_days else []
    inside = [e for e in events if e.start < steps and e.stop > 0]
    return Evidence.events(inside, hidden), _units(day, inside, steps, options.margin)


def _units(day: str, events: Sequence[Event], steps: int, margin: int) -> str | UnitSpans:
    """One unit a group of events whose windows could share a row; the rest of the day is a unit of its own."""
    groups: list[list[Event]] = []
    for event in events:
        if groups and event.start - max(e.stop for e in groups[-1]) < 2 * margin:
            groups[-1].append(event)
        else:
            groups.append([event])
    if not groups:
        return day
    rest = f"{day}/rest"
    starts, names = [0], [rest]
    for group in groups:
        begin = max(group[0].start - margin, 0)
        end = min(max(e.stop for e in group) + margin, steps)
        name = f"{day}/event-{'-'.join(e.event_id for e in group)}"
        if begin == starts[-1]:
            names[-1] = name
        else:
            starts.append(begin)
            names.append(name)
        if end < steps:
            starts.append(end)
            names.append(rest)
    return UnitSpans(tuple(starts), tuple(names))


SOURCE = Source(
    **about(__file__),
    labels=LabelMap(FAULTS),
    curation=Curation(missing="fill"),
    config=DatasetConfig[DamadicsOptions](length=256, stride=32, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=tuple(
        RemoteFile(name, f"{URL}{place}/file/{name}", sha256=digest, unpack=True)
        for name, (place, digest) in ARCHIVES.items()
    ),
    known_sha256={name: digest for name, (_, digest) in ARCHIVES.items()} | FAULT_DAYS,
    text_files=("*.txt",),
    sampling_rate_hz=1.0,
)
