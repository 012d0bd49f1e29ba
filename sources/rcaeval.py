"""RCAEval RE1: 375 faults injected into three microservice systems, metrics at one row a second.

One case is one injected fault: a table of metrics and the second of the injection. What is special: cases of one
system have different columns, so a window has the union of all columns; a case gives two windows of its fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS, RECOVERED, STATED
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording
from readbench_data.windows.labeling import LabelMap

LENGTH = 256
SYSTEMS = {"OB": "Online Boutique", "SS": "Sock Shop", "TT": "Train Ticket"}
FAULTS = {"cpu": "cpu", "mem": "mem", "disk": "diskio", "delay": "latency", "loss": "latency"}
"""Fault code -> the metric of the faulty service that the authors call the root cause."""

CASES = {"OB": 125, "SS": 125, "TT": 125}

ARCHIVES = {"OB": "online-boutique", "SS": "sock-shop-2", "TT": "train-ticket"}
"""Names of the same suite in an older release."""

PACKED = "an archive that is not unpacked: unpack it where it lies"
_SUITE = re.compile(r"re(\d)-?(ob|ss|tt)(\.zip)?(\.unpacked)?", re.IGNORECASE)
_HUB_CASE = re.compile(r"re(\d)(ob|ss|tt)_(.+)_([a-z0-9]+)_(\d+)", re.IGNORECASE)
_ZENODO = "https://zenodo.org/records/14590730/files/"


class RcaevalOptions(SourceOptions):
    """What is decided for RCAEval only."""

    unit: Literal["group", "case"] = setting(
        "group",
        provenance=OURS,
        description="the split unit: the five repetitions of one fault in one service, or one repetition",
    )
    windows_per_case: int = setting(
        2, provenance=RECOVERED, ge=1, le=1000, description="windows of the fault per case, and of what is before it"
    )
    window_rows: int = setting(
        provenance=STATED,
        follows=(1, 0),
        ge=1,
        le=MOST,
        description="rows between the starts of two windows of a case",
    )


@dataclass(frozen=True, order=True)
class Case:
    """One injected fault; ``table`` its metrics, ``onset`` the file that holds the second of the injection."""

    system: str
    service: str
    fault: str
    repetition: int
    table: str
    onset: str

    @property
    def group(self) -> str:
        return f"RE1-{self.system}/{self.service}_{self.fault}"

    @property
    def name(self) -> str:
        return f"{self.group}/{self.repetition}"


def locate(files: FileSet, options: RcaevalOptions) -> Located:
    """Tables of RE1 in the archive layout (data.csv) or in the Hub's (metrics.parquet); never both."""
    tables = files.glob("data.csv", "simple_data.csv", "metrics.csv", "simple_metrics.csv", "metrics.parquet")
    found, ignored = _cases(files, tables)
    layouts = {kind: [c for c in found if c.table.endswith(kind)] for kind in (".csv", ".parquet")}
    kind = ".parquet" if len(layouts[".parquet"]) > len(layouts[".csv"]) else ".csv"
    chosen: dict[tuple[str, str, str, int], Case] = {}
    for case in sorted(layouts[kind]):
        known = chosen.setdefault((case.system, case.service, case.fault, case.repetition), case)
        if known != case:
            ignored[case.table] = f"the same case as {known.table}"
    other = ".csv" if kind == ".parquet" else ".parquet"
    ignored |= {c.table: f"the {kind} layout is read; layouts are never mixed" for c in layouts[other]}
    ignored |= {
        n: PACKED for n in files.glob("*.zip") if not any(m.startswith(f"{n}.unpacked/") for m in files.names())
    }
    if not chosen:
        packed = [n for n, why in ignored.items() if why == PACKED]
        needed = "RE1-OB, RE1-SS and RE1-TT with <service>_<fault>/<n>/data.csv are needed"
        raise NoData(f"no case of RE1: {f'{packed[0]} is {PACKED}' if packed else needed}")
    cases = sorted(chosen.values())
    counts = {system: sum(c.system == system for c in cases) for system in CASES}
    missing = [f"{n - counts[s]} of {n} cases of RE1-{s}" for s, n in CASES.items() if counts[s] < n]
    return Located(tuple(n for c in cases for n in (c.table, c.onset)), dict(sorted(ignored.items())), tuple(missing))


def _cases(files: FileSet, tables: Sequence[str]) -> tuple[list[Case], dict[str, str]]:
    """Cases of RE1 among the tables, and why the others are left out."""
    names = set(files.names())
    found: list[Case] = []
    ignored: dict[str, str] = {}
    for table in tables:
        path = PurePosixPath(table)
        onset = str(path.parent / "inject_time.txt")
        place = _place(path)
        if place is None:
            ignored[table] = "not below a folder of RE1-OB, RE1-SS or RE1-TT"
            continue
        suite, system, service, fault, repetition = place
        if suite != "1":
            ignored[table] = f"RE{suite} is another suite, with other faults"
        elif path.name not in ("data.csv", "metrics.parquet"):
            ignored[table] = "a reduced version of data.csv"
        elif fault not in FAULTS:
            ignored[table] = f"the folder names the fault {fault!r}, which is none of {', '.join(FAULTS)}"
        elif onset not in names:
            ignored[table] = "no inject_time.txt beside it"
        else:
            found.append(Case(system, service, fault, repetition, table, onset))
    return found, ignored


def _place(path: PurePosixPath) -> tuple[str, str, str, str, int] | None:
    """Suite, system, service, fault and repetition from a table's folders; a service may hold hyphens."""
    hub = _HUB_CASE.fullmatch(path.parent.name)
    if hub is not None and path.name == "metrics.parquet":
        return hub[1], hub[2].upper(), hub[3], hub[4].lower(), int(hub[5])
    if len(path.parts) < 4 or not path.parts[-2].isdigit() or "_" not in path.parts[-3]:
        return None
    service, _, fault = path.parts[-3].rpartition("_")
    for part in reversed(path.parts[:-3]):
        suite = _SUITE.fullmatch(part)
        if suite is not None:
            return suite[1], suite[2].upper(), service, fault, int(path.parts[-2])
        for system, archive in ARCHIVES.items():
            if part.lower().startswith(archive):
                return "1", system, service, fault, int(path.parts[-2])
    return None


def read(files: FileSet, located: Located, options: RcaevalOptions) -> Iterator[Recording]:
    """One recording a case, with the columns of all cases: what a case does not have is missing in it."""
    found, _ = _cases(files, located.inputs[::2])
    headers = {case.table: _header(files.path(case.table)) for case in found}
    channels = tuple(sorted({c for names in headers.values() for c in names if c != "time"}))
    position = {name: i for i, name in enumerate(channels)}
    for case in found:
        table = _read_table(files.path(case.table), headers[case.table])
        times = table[:, headers[case.table].index("time")]
        steps = _timed_rows(files.path(case.table), times)
        onset = _read_onset(files, case.onset, times[:steps])
        values = np.full((steps, len(channels)), np.nan, np.float32)
        seen: set[str] = set()
        for column, name in enumerate(headers[case.table]):
            if name != "time" and name not in seen:
                with np.errstate(over="ignore"):
                    values[:, position[name]] = table[:steps, column]
            elif name != "time":
                raise BadInput(files.path(case.table), f"the column {name!r} occurs twice")
            seen.add(name)
        if not np.isfinite(values).any():
            raise BadInput(files.path(case.table), "no metric holds a number")
        target = f"{case.service}_{FAULTS[case.fault]}"
        yield Recording(
            recording_id=case.name,
            values=values,
            channels=channels,
            evidence=Evidence.events([Event(case.fault, onset, steps, case.name, target)]),
            unit=case.name if options.unit == "case" else case.group,
            source_file=case.table,
            source_sha256=files.sha256(case.table),
            clock=Clock(times=times[:steps].astype(np.int64).astype("datetime64[s]").astype("datetime64[ns]")),
            window_starts=window_starts(steps, onset, options.windows_per_case, options.window_rows),
            extras={"system": SYSTEMS[case.system]},
        )


def window_starts(steps: int, onset: int, windows: int, length: int = LENGTH) -> np.ndarray:
    """Where the windows of a case, ``length`` rows each, start.

    ``windows`` after the onset, one after the other, moved back where the series ends earlier; and before the onset
    as many disjoint ones as fit, at most ``windows``.
    """
    after = np.minimum(onset + length * np.arange(windows), steps - length)
    before = onset - length * np.arange(1, windows + 1)
    starts = np.unique(np.concatenate([before, after]))
    return starts[starts >= 0]


def _header(path: Path) -> list[str]:
    """Names of the columns; ``time`` may stand there twice, also as ``time.1``."""
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            names = list(pq.read_schema(path).names)
        except (pa.ArrowInvalid, OSError) as error:
            raise BadInput(path, f"not a Parquet file ({_line(error)})") from error
    else:
        with path.open("rb") as stream:
            names = stream.readline().decode("utf-8", "replace").strip().split(",")
        names = [n.strip().strip('"') for n in names]
    names = ["time" if re.fullmatch(r"time(\.\d+)?", n) else n for n in names]
    if "time" not in names:
        raise BadInput(path, "the file is empty" if names in ([], [""]) else "there is no column 'time'")
    if set(names) == {"time"}:
        raise BadInput(path, "there is no metric beside 'time'")
    return names


def _read_table(path: Path, names: list[str]) -> np.ndarray:
    """All cells as float64 [rows][columns], empty ones NaN."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    places = [f"c{i}" for i in range(len(names))]
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path, use_threads=False)
        else:
            table = pc.read_csv(
                path,
                read_options=pc.ReadOptions(column_names=places, skip_rows=1, use_threads=False),
                convert_options=pc.ConvertOptions(column_types=dict.fromkeys(places, pa.float64())),
            )
        columns = [c.cast(pa.float64()).to_numpy() for c in table.columns]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise _explained(path, names, error) from error
    return np.column_stack(columns)


def _explained(path: Path, names: list[str], error: Exception) -> BadInput:
    """Arrow's words with the row (counted from 0, without the header) and the column's own name."""
    text = _line(error)
    row = re.search(r"Row #(\d+):? ?", text)
    column = re.search(r"In CSV column #(\d+): ", text)
    if column is not None:
        text = f"{names[int(column[1])]}: {text.replace(column[0], '')}"
    if row is None:
        return BadInput(path, text)
    return BadInput(path, text.replace(row[0], ""), row=f"row {int(row[1]) - 2}")


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _timed_rows(path: Path, times: np.ndarray) -> int:
    """How many rows there are up to the empty ones some files end with. Times never go back."""
    present = np.isfinite(times)
    steps = int(np.flatnonzero(present)[-1]) + 1 if present.any() else 0
    if steps == 0:
        raise BadInput(path, "no row has a time")
    if not present[:steps].all():
        raise BadInput(path, "the time is missing", row=f"row {int(np.argmin(present))}")
    back = np.flatnonzero(np.diff(times[:steps]) < 0)
    if back.size:
        raise BadInput(path, "the time goes back", row=f"row {int(back[0]) + 1}")
    return steps


def _read_onset(files: FileSet, name: str, times: np.ndarray) -> int:
    """The first row at or after the second of the injection."""
    text = files.read_bytes(name).decode("utf-8", "replace").strip()
    try:
        second = float(text)
    except ValueError as error:
        raise BadInput(files.path(name), f"{text[:40]!r} is not a number of seconds") from error
    if not times[0] < second <= times[-1]:
        raise BadInput(files.path(name), f"the injection at {text} is not within the series ({times[0]:.0f} on)")
    return int(np.searchsorted(times, second, side="left"))


SOURCE = Source(
    **about(__file__),
    labels=LabelMap(classes={fault: fault for fault in FAULTS}),
    curation=Curation(missing="fill"),
    config=DatasetConfig[RcaevalOptions](length=LENGTH, test_fraction=1 / 15),
    locate=locate,
    read=read,
    remote=tuple(RemoteFile(f"RE1-{s}.zip", f"{_ZENODO}RE1-{s}.zip?download=1", unpack=True) for s in SYSTEMS),
    download_bytes=390_000_000,
    sampling_rate_hz=1.0,
)
