"""HAI 21.03: a boiler, a turbine and a water treatment under attacks on their control loops, at 1 Hz.

The CSV files say when an attack runs, not which: that stands only in the manual's timetable, kept beside this
module. Each run of the attack column is matched with the timetable's entry that starts nearest to it, so the
extent of an attack comes from the data and its class, the attacked control loop, from the manual.
"""

from __future__ import annotations

import csv
import io
import re
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
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording, UnitSpans
from readbench_data.windows.labeling import LabelMap
from sources.formats.hai_csv import Table, read_header, read_table

TABLES = Path(__file__).parent / "tables"
TIMETABLE = "attack_timetable.csv"
"""A timetable of this name among the files replaces the manual's."""

FILES = ("train1", "train2", "train3", "test1", "test2", "test3", "test4", "test5")
WINDOW = 256

_TIMETABLE_COLUMNS = ("attack_id", "file", "start", "seconds", "controllers", "points")
_NAME = re.compile(r"(train|test)\d+\.csv(\.gz)?")
_START_TOLERANCE = np.timedelta64(90, "s")
"""The manual gives starts to the minute; one of fifty is a minute late."""

POINTS = {"P2_SCO": "P2_CO_rpm", "P2_AutoSD": "P2_ASD", "P2_LCV01D": "P3_LCV01D"}
"""Points whose name in the manual is not that of the CSV column; the last is the manual's slip."""

LABELS = LabelMap(
    {
        "P1-PC": "P1-PC Pressure Control",
        "P1-FC": "P1-FC Flow Rate Control",
        "P1-LC": "P1-LC Level Control",
        "P2-SC": "P2-SC Speed Control",
        "P2-TC": "P2-TC Trip Control",
        "P3-LC": "P3-LC Level Control",
    }
)


def _column_names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    with (TABLES / "hai_columns.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return tuple(r["column"] for r in rows), tuple(r["column"] for r in rows if r["role"] == "channel")


HEADER, CHANNELS = _column_names()


class HaiOptions(SourceOptions):
    """What is decided for HAI only."""

    pairs: Literal["first", "drop"] = setting(
        "first",
        provenance=OURS,
        description="the class of an attack on two control loops: the loop the manual names first, or none",
    )
    normal_stride: int = setting(
        provenance=OURS,
        follows=(1, 0),
        ge=1,
        le=MOST,
        description="rows between the starts of two windows of a train file, which is normal operation",
    )
    window_rows: int = setting(
        provenance=OURS,
        follows=(1, 0),
        ge=1,
        le=MOST,
        description="attacks less than twice this many rows apart are one unit",
    )


@dataclass(frozen=True)
class Attack:
    """One entry of the timetable: its start to the minute, the control loops and points in the manual's order."""

    attack_id: str
    file: str
    start: np.datetime64
    loops: tuple[str, ...]
    points: tuple[str, ...]


def locate(files: FileSet, options: HaiOptions) -> Located:
    """The files with the header of 21.03, train before test, and the timetable if it is among them."""
    found: dict[str, str] = {}
    ignored: dict[str, str] = {}
    timetable: list[str] = []
    for path in files.names():
        name = PurePosixPath(path).name
        stem = name.split(".")[0]
        if name == TIMETABLE and not timetable:
            timetable.append(path)
        elif not _NAME.fullmatch(name):
            ignored[path] = "not a train or test file"
        elif (other := _other_version(files, path)) is not None:
            ignored[path] = other
        elif stem in found:
            ignored[path] = f"another copy of {found[stem]}"
        else:
            found[stem] = path
    if not found:
        others = sorted({reason for reason in ignored.values() if reason.startswith("HAI")})
        raise NoData(
            f"no train or test file of HAI 21.03 (train1.csv.gz ... test5.csv.gz) in the {files.origin}"
            + (f"; {others[0]}" if others else ": headers and attack tables alone hold no sensor rows")
        )
    order = sorted(found, key=lambda stem: (stem.startswith("test"), stem))
    missing = [f"{name}.csv.gz" for name in FILES if name not in found]
    planned = {a.file for a in _timetable(files, timetable)}
    missing += [f"{name}.csv.gz (named in the timetable)" for name in sorted(planned - set(found) - set(FILES))]
    return Located((*(found[stem] for stem in order), *timetable), dict(sorted(ignored.items())), tuple(missing))


def _other_version(files: FileSet, path: str) -> str | None:
    """Why a file is not of 21.03, told by its header; None where it is (perhaps a damaged one)."""
    names = re.split("[,;]", read_header(files.path(path)))
    version = {63: "20.07", 87: "23.05", 88: "22.04"}.get(len(names))
    if version is None and "timestamp" in names:
        version = "another version"
    return None if version is None else f"HAI {version} ({len(names)} columns); only 21.03 has the 79 points"


def _timetable(files: FileSet, own: Sequence[str]) -> list[Attack]:
    """The attacks in the order of the table: that of the file set, else the manual's."""
    file = files.path(own[0]) if own else TABLES / "hai_attacks.csv"
    try:
        reader = csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))
        rows = list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(file, f"is not a timetable ({error})") from error
    absent = [c for c in _TIMETABLE_COLUMNS if c not in (reader.fieldnames or ())]
    if absent:
        raise BadInput(file, f"misses the column {', '.join(absent)}")
    return [_attack(file, number, row) for number, row in enumerate(rows)]


def _attack(file: Path, number: int, row: Mapping[str, str | None]) -> Attack:
    text = {name: (row[name] or "").strip() for name in _TIMETABLE_COLUMNS}
    try:
        start = np.datetime64(text["start"].replace(" ", "T") or "none", "s")
    except ValueError as error:
        raise BadInput(file, f"{text['start']!r} is not a time", f"row {number}") from error
    loops = tuple(text["controllers"].split("+"))
    strange = [loop for loop in loops if loop not in LABELS.classes]
    if strange:
        raise BadInput(file, f"control loop {strange[0]!r} is not one of {', '.join(LABELS.classes)}", f"row {number}")
    points = tuple(dict.fromkeys(POINTS.get(p, p) for p in text["points"].split()))
    unknown = [p for p in points if p not in CHANNELS]
    if unknown or not points:
        raise BadInput(file, f"target point {(unknown or ['(none)'])[0]} is no column of the data", f"row {number}")
    return Attack(text["attack_id"], text["file"], start, loops, points)


def read(files: FileSet, located: Located, options: HaiOptions) -> Iterator[Recording]:
    """One recording a file, or more where seconds are missing: a gap breaks it."""
    own = [path for path in located.inputs if path.endswith(TIMETABLE)]
    attacks = _timetable(files, own)
    for path in located.inputs:
        if path in own:
            continue
        name = PurePosixPath(path).name.split(".")[0]
        table = read_table(files.path(path), HEADER, CHANNELS)
        evidence, unit = _evidence(files.path(path), name, table, attacks, options)
        train = name.startswith("train")
        for part, (start, stop) in enumerate(table.stretches()):
            yield Recording(
                recording_id=name if part == 0 else f"{name} part {part + 1}",
                values=table.values[start:stop],
                channels=CHANNELS,
                evidence=evidence.section(start, stop),
                unit=unit if isinstance(unit, str) else unit.section(start, stop),
                source_file=path,
                source_sha256=files.sha256(path),
                native_split="train" if train else "test",
                clock=Clock(times=table.times[start:stop]),
                first_row=start,
                window_starts=np.arange(0, stop - start, options.normal_stride, dtype=np.int64) if train else None,
            )


def _evidence(
    file: Path, name: str, table: Table, attacks: Sequence[Attack], options: HaiOptions
) -> tuple[Evidence, str | UnitSpans]:
    """Attacks as events, and the split unit: an attack with the time around it, as far as the next one."""
    planned = [a for a in attacks if a.file == name]
    matched = _match(file, table, planned)
    events, hidden = [], []
    for attack, start, stop in matched:
        if options.pairs == "drop" and len(set(attack.loops)) > 1:
            hidden.append((start, stop))
        else:
            events.append(Event(attack.loops[0], start, stop, attack.attack_id, attack.points[0], attack.points))
    return Evidence.events(events, hidden), _units(name, matched, options.window_rows)


def _match(file: Path, table: Table, planned: Sequence[Attack]) -> list[tuple[Attack, int, int]]:
    """Runs of the attack column with their entry: the one that starts nearest, each used once."""
    found: list[tuple[Attack, int, int]] = []
    left = list(planned)
    for start, stop in table.attack_runs():
        begin = table.times[start]
        nearest = min(left, key=lambda a: abs(a.start - begin), default=None)
        if nearest is None or abs(nearest.start - begin) > _START_TOLERANCE:
            raise BadInput(
                file, f"an attack starts at {begin.astype('datetime64[s]')} that no timetable names", f"row {start}"
            )
        left.remove(nearest)
        found.append((nearest, start, stop))
    if left:
        raise BadInput(
            file, f"attack {left[0].attack_id} of the timetable ({left[0].start}) is not in the attack column"
        )
    return found


def _units(name: str, matched: Sequence[tuple[Attack, int, int]], window: int) -> str | UnitSpans:
    """Units meet midway between attacks; attacks so near that a window could reach the border stay together."""
    if not matched:
        return name
    starts, names = [0], [matched[0][0].attack_id]
    for (_, _, end), (attack, begin, _) in zip(matched[:-1], matched[1:], strict=True):
        if begin - end < 2 * window:
            names[-1] += f"+{attack.attack_id}"
        else:
            starts.append((end + begin) // 2)
            names.append(attack.attack_id)
    return UnitSpans(tuple(starts), tuple(names))


SOURCE = Source(
    **about(__file__),
    labels=LABELS,
    curation=Curation(missing="fill"),
    config=DatasetConfig[HaiOptions](length=WINDOW, stride=32, test_fraction=0.1),
    locate=locate,
    read=read,
    remote=tuple(
        RemoteFile(
            path=f"hai-21.03/{name}.csv.gz",
            url=f"https://raw.githubusercontent.com/icsdataset/hai/master/hai-21.03/{name}.csv.gz",
        )
        for name in FILES
    ),
    sampling_rate_hz=1.0,
)
