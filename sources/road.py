"""ROAD: the CAN bus of one car, ambient and under attack, as decoded signals.

What is special: one row is one frame and holds the signals of its id only. Frames come when they come, so a capture
is put on a common clock: 664 columns (id, signal), each with the last value of every tenth of a second.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Event, Evidence, Recording
from readbench_data.windows.labeling import LabelMap
from sources.formats.can_signals import SIGNALS, Capture, Layout, pivot, read_dbc, scan

AMBIENT = 12
CAPTURES = Path(__file__).parent / "tables" / "road_captures.csv"
PACKED = "an archive that is not unpacked: unpack it where it lies"
MASQUERADE = "_masquerade"
FAMILIES = (
    *("accelerator", "correlated_signal", "max_engine_coolant_temp"),
    *("max_speedometer", "reverse_light_off", "reverse_light_on"),
)
_ATTACK = re.compile(rf"({'|'.join(FAMILIES)})_attack(_\w+?)?({MASQUERADE})?")


class RoadOptions(SourceOptions):
    """What is decided for ROAD only."""

    rate_hz: float = setting(
        10.0, provenance=OURS, gt=0, le=1000, description="steps per second of the clock that the frames are put on"
    )


@dataclass(frozen=True)
class Injection:
    """What the metadata say of a capture: id and seconds [start, end] of the injected frames, where there are any."""

    target: int | None
    interval: tuple[float, float] | None


def locate(files: FileSet, options: RoadOptions) -> Located:
    """The signal CSV of every capture, the DBC, and metadata.json; copies of attacks among the ambient ones and
    everything that is not decoded are left out."""
    found: dict[str, str] = {}
    ignored: dict[str, str] = {}
    for name in sorted(files.glob("*.csv"), key=lambda n: (PurePosixPath(n).parent.name != "attacks", n)):
        capture = PurePosixPath(name).stem
        if family_of(capture) is None and not capture.startswith("ambient_"):
            ignored[name] = "not the name of an ambient or attack capture"
        elif not _decoded(files.path(name)):
            ignored[name] = "frames that are not decoded: signal_extractions is needed"
        elif capture in found:
            ignored[name] = f"the same capture as {found[capture]}"
        else:
            found[capture] = name
    ignored |= dict.fromkeys(files.glob("*.log"), "raw frames: the decoded signals are read")
    packed = [n for n in files.glob("*.zip") if not any(m.startswith(f"{n}.unpacked/") for m in files.names())]
    ignored |= dict.fromkeys(packed, PACKED)
    if not found:
        needed = "signal_extractions/attacks/*.csv and ambient/*.csv of road.zip are needed"
        raise NoData(f"no decoded capture: {f'{packed[0]} is {PACKED}' if packed else needed}")
    beside = (*files.glob("*.dbc")[:1], *files.glob("metadata.json"))
    captures = sorted(found, key=lambda c: (c.startswith("ambient_"), c))
    ambient = sum(c.startswith("ambient_") for c in captures)
    missing = [f"{r['signal_csv']}.csv" for r in _published() if r["signal_csv"] not in found]
    missing += [f"{AMBIENT - ambient} of {AMBIENT} ambient captures"] if ambient < AMBIENT else []
    return Located((*beside, *(found[c] for c in captures)), dict(sorted(ignored.items())), tuple(missing))


def family_of(capture: str) -> str | None:
    """The attack family of a capture, by its name; None for an ambient one, fuzzing and everything else."""
    match = _ATTACK.fullmatch(capture)
    return None if match is None else match[1]


def unit_of(capture: str) -> str:
    """Fabrication and masquerade of one capture are one unit."""
    return capture.removesuffix(MASQUERADE)


def _decoded(path: Path) -> bool:
    """Whether a file is, or claims to be by its folder, a signal extraction."""
    with path.open("rb") as stream:
        header = stream.readline(4096)
    return "signal_extractions" in path.parts or SIGNALS[0].encode() in header


def _published() -> list[dict[str, str]]:
    """The captures with a signal CSV, and the published id and interval of each."""
    with CAPTURES.open(newline="", encoding="utf-8") as stream:
        return [r for r in csv.DictReader(stream) if r["signal_csv"]]


def read(files: FileSet, located: Located, options: RoadOptions) -> Iterator[Recording]:
    """One recording a capture: attacks by name, then ambient ones. Every capture has the same channels."""
    rate = options.rate_hz
    tables = [n for n in located.inputs if n.endswith(".csv")]
    injections = _injections(files, [n for n in located.inputs if n.endswith(".json")])
    dbc = next((n for n in located.inputs if n.endswith(".dbc")), None)
    signals = read_dbc(files.path(dbc)) if dbc is not None else scan([files.path(n) for n in tables])
    layout = Layout.of(signals)
    for name in tables:
        capture = PurePosixPath(name).stem
        clocked = pivot(files.path(name), layout, rate)
        yield Recording(
            recording_id=capture,
            values=clocked.values,
            channels=layout.channels,
            evidence=_evidence(files.path(name), injections, clocked, rate),
            unit=unit_of(capture),
            source_file=name,
            source_sha256=files.sha256(name),
            clock=Clock(step=1 / rate),
            rows=clocked.rows[:-1],
            row_stops=clocked.rows[1:],
            extras={"sampling_rate_hz": rate},
        )


def _evidence(path: Path, injections: Mapping[str, Injection], clocked: Capture, rate: float) -> Evidence:
    """The family's event over the injection interval, or over the whole capture where nothing is injected.

    Steps with a frame labelled as attacked, more than a step away from the event, are unlabelled.
    """
    family, unit = family_of(path.stem), unit_of(path.stem)
    events = []
    start, stop = -1, -1
    if family == "accelerator":
        start, stop = 0, max(len(clocked.values), 1)
        events = [Event(family, start, stop, unit)]
    elif family is not None:
        injection = injections.get(path.stem, injections.get(unit))
        if injection is None or injection.interval is None:
            raise BadInput(path, "metadata.json has no injection_interval of this capture, nor is one published")
        start, stop = int(injection.interval[0] * rate), int(np.ceil(injection.interval[1] * rate))
        target = None if injection.target is None else f"id_{injection.target}"
        events = [Event(family, start, stop, unit, target)]
    doubtful = clocked.attacked[(clocked.attacked < start - 1) | (clocked.attacked > stop)]
    return Evidence.events(events, [(int(step), int(step) + 1) for step in doubtful])


def _injections(files: FileSet, names: Sequence[str]) -> dict[str, Injection]:
    """Injections by capture, from the metadata files (keys injection_id and injection_interval); the published ones
    stand under the capture's unit."""
    found = {
        r["capture"]: _injection(r["injection_id"], (r["start_s"], r["end_s"]) if r["start_s"] else None)
        for r in _published()
    }
    for name in names:
        try:
            for capture, entry in json.loads(files.read_bytes(name)).items():
                if family_of(capture) is not None:
                    found[capture] = _injection(entry.get("injection_id"), entry.get("injection_interval"))
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise BadInput(files.path(name), f"not the metadata of captures ({error})") from error
    return found


def _injection(target: str | None, interval: Sequence[float | str] | None) -> Injection:
    """An id is hexadecimal in the metadata; fuzzing has ``XXX``, the accelerator none."""
    if interval is not None:
        start, stop = float(interval[0]), float(interval[1])
        if not 0 <= start < stop:
            raise ValueError(f"the interval {start:g} to {stop:g}")
    return Injection(
        None if target in (None, "", "XXX") else int(str(target), 16), None if interval is None else (start, stop)
    )


SOURCE = Source(
    **about(__file__),
    labels=LabelMap(classes={family: family for family in FAMILIES}),
    curation=Curation(missing="fill"),
    config=DatasetConfig[RoadOptions](length=256, stride=64, test_fraction=0.3),
    locate=locate,
    read=read,
    remote=(
        RemoteFile(
            "road.zip",
            "https://zenodo.org/api/records/10462796/files/road.zip/content",
            md5="cab184cfc2fe12c0834bc46188c0f330",
            size=556_718_276,
            unpack=True,
        ),
    ),
    download_bytes=556_718_276,
    sampling_rate_hz=10.0,
)
