"""MIT-BIH Arrhythmia Database 1.0.0: 48 half-hour two-lead ECG records, every beat annotated by cardiologists.

A record is three files: ``100.hea`` (text header), ``100.dat`` (samples, 12-bit pairs: WFDB format 212) and
``100.atr`` (annotations: sample, symbol, text). A window's class is the AAMI class of most of its beats.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions
from readbench_data.dataset.source import RemoteFile, Source
from readbench_data.entry import NORMAL
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Clock, Evidence, Recording
from readbench_data.windows.labeling import LabelMap

URL = "https://physionet.org/files/mitdb/1.0.0/"
SAMPLING_RATE_HZ = 360.0
FORMAT = "212"

AAMI_CLASSES = {
    NORMAL: "NLRej",
    "S": "AaJS",
    "V": "VE",
    "F": "F",
    "Q": "/fQ",
}
"""AAMI EC57 class -> WFDB beat symbols. Every other known symbol is not a beat and never votes."""

NON_BEATS = frozenset('+~|x!"[]')
"""Rhythm and quality changes, artefacts, blocked P waves, flutter waves, comments, flutter begin and end."""

SAME_SUBJECT = {"202": "201"}
"""Records 201 and 202 come from the same subject."""


def _published() -> dict[str, tuple[int, str]]:
    """Return size and SHA-256 of the 144 files, from PhysioNet's SHA256SUMS.txt of version 1.0.0."""
    table = Path(__file__).parent / "tables" / "mit_bih_files.csv"
    with table.open(encoding="utf-8", newline="") as stream:
        return {row["file"]: (int(row["bytes"]), row["sha256"]) for row in csv.DictReader(stream)}


PUBLISHED = _published()
RECORDS = tuple(sorted({name.partition(".")[0] for name in PUBLISHED}))
PARTS = (".hea", ".dat", ".atr")


def locate(files: FileSet, options: SourceOptions) -> Located:
    """Find the records that have all three files in one folder; of several copies of a record, the first."""
    names = files.glob("*.hea", "*.dat", "*.atr")
    present, inputs, ignored = set(names), [], {}
    first: dict[str, str] = {}
    for header in (n for n in names if n.endswith(".hea")):
        record = PurePosixPath(header).stem
        absent = [part for part in PARTS if header.removesuffix(".hea") + part not in present]
        if record not in RECORDS:
            ignored[header] = "not one of the 48 records"
        elif absent:
            ignored[header] = f"its {' and '.join(absent)} file is not in the same folder"
        elif record in first:
            ignored[header] = f"a second copy of record {record}, which is read from {first[record]}"
        else:
            first[record] = header
    for record in sorted(first):
        inputs += [first[record].removesuffix(".hea") + part for part in PARTS]
    if not inputs:
        raise NoData("no record with its .hea, .dat and .atr file in one folder")
    for name in sorted(present - set(inputs) - set(ignored)):
        ignored[name] = "does not belong to a record that is read"
    return Located(tuple(inputs), ignored, tuple(f"record {r}" for r in RECORDS if r not in first))


def read(files: FileSet, located: Located, options: SourceOptions) -> Iterator[Recording]:
    """Yield one recording per record, in order of record number, with lead MLII first if the record has it."""
    for header in located.inputs[::3]:
        stem = header.removesuffix(".hea")
        record = PurePosixPath(stem).name
        leads, values = _signals(files, stem)
        order = sorted(range(len(leads)), key=lambda i: (leads[i] != "MLII", i))
        yield Recording(
            recording_id=record,
            values=values[:, order],
            channels=tuple(leads[i] for i in order),
            evidence=_evidence(files.path(f"{stem}.atr"), len(values)),
            unit=f"subject-{SAME_SUBJECT.get(record, record)}",
            source_file=f"{stem}.dat",
            source_sha256=files.sha256(f"{stem}.dat"),
            clock=Clock(start=0.0, step=1 / SAMPLING_RATE_HZ),
        )


def _signals(files: FileSet, stem: str) -> tuple[Sequence[str], np.ndarray]:
    """Return lead names, and samples in mV as float32 [T][2]."""
    import wfdb

    header = _header(files.path(f"{stem}.hea"))
    data = files.path(f"{stem}.dat")
    size, needed = data.stat().st_size, (header.sig_len * header.n_sig * 3 + 1) // 2
    if size != needed:
        raise BadInput(
            data,
            f"{size:,} bytes, but {header.sig_len:,} samples of {header.n_sig} signals in format {FORMAT} "
            f"take {needed:,}: the file is truncated or altered, download it again",
            row=f"sample {min(size * 2 // (3 * header.n_sig), header.sig_len)}",
        )
    record = wfdb.rdrecord(str(files.path(stem)), physical=False)
    for lead, series, stated in zip(record.sig_name, record.d_signal.T, record.checksum, strict=True):
        if stated is not None and (int(series.sum()) - stated) % 65536:
            raise BadInput(
                data,
                f"the samples of lead {lead} do not add up to the header's checksum {stated}: download it again",
            )
    return record.sig_name, record.dac().astype(np.float32)


def _header(path: Path) -> Any:
    import wfdb

    try:
        header = wfdb.rdheader(str(path.with_suffix("")))
        lines = header.n_sig or 0
        named = {PurePosixPath(name).name for name in header.file_name or ()}
        formats = set(header.fmt or ())
        leads = tuple(header.sig_name or ())
        units = set(header.units or ())
        rate, length = float(header.fs), header.sig_len
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, UnicodeDecodeError) as error:
        raise BadInput(path, f"not a WFDB header ({error})", row="line 1") from error
    if lines != 2 or len(leads) != 2:
        raise BadInput(path, f"states {lines} signals and describes {len(leads)}; expected 2", row="line 1")
    if not length or rate != SAMPLING_RATE_HZ:
        raise BadInput(path, f"states {length} samples at {rate:g} Hz; expected samples at 360 Hz", row="line 1")
    if formats != {FORMAT} or named != {f"{path.stem}.dat"}:
        raise BadInput(path, f"expected signals of {path.stem}.dat in format {FORMAT}", row="line 2")
    if len(set(leads)) != 2 or None in leads or units != {"mV"}:
        raise BadInput(path, f"expected two named leads in mV, not {leads} in {sorted(map(str, units))}", row="line 2")
    return header


def _evidence(path: Path, steps: int) -> Evidence:
    """Return beats as points, and flutter episodes, which have no beats, as unlabelled stretches."""
    import wfdb

    data = path.read_bytes()
    if len(data) < 2 or len(data) % 2 or data[-2:] != b"\0\0":
        raise BadInput(
            path,
            "has no end mark: the file is truncated or not a WFDB annotation file, download it again",
            row=f"byte {len(data)}",
        )
    try:
        annotation = wfdb.rdann(str(path.with_suffix("")), "atr")
    except (ValueError, TypeError, KeyError, IndexError, UnicodeDecodeError) as error:
        raise BadInput(path, f"not a WFDB annotation file ({error})") from error
    samples, symbols = np.asarray(annotation.sample, np.int64), list(annotation.symbol)
    beyond = np.flatnonzero((samples < 0) | (samples >= steps))
    if beyond.size:
        first = int(beyond[0])
        raise BadInput(
            path, f"is at sample {samples[first]}, but the record has {steps} samples", row=f"annotation {first + 1}"
        )
    back = np.flatnonzero(np.diff(samples) < 0)
    if back.size:
        raise BadInput(
            path, "is at an earlier sample than the annotation before it", row=f"annotation {int(back[0]) + 2}"
        )
    for number, symbol in enumerate(symbols, 1):
        if symbol not in LABELS.classes and symbol not in NON_BEATS:
            raise BadInput(
                path, f"symbol {symbol!r} is not one of the known annotation symbols", row=f"annotation {number}"
            )
    beats = [i for i, symbol in enumerate(symbols) if symbol not in NON_BEATS]
    return Evidence.points(samples[beats], [symbols[i] for i in beats], _flutter(samples, symbols, steps))


def _flutter(samples: np.ndarray, symbols: Sequence[str], steps: int) -> list[tuple[int, int]]:
    """Return the stretches of ventricular flutter: ``[`` to ``]`` (or the record's end), and every ``!`` wave."""
    stretches: list[tuple[int, int]] = []
    begin: int | None = None
    for sample, symbol in zip(samples.tolist(), symbols, strict=True):
        if symbol == "[" and begin is None:
            begin = sample
        elif symbol == "]":
            stretches.append((begin or 0, sample + 1))
            begin = None
        elif symbol == "!":
            stretches.append((sample, sample + 1))
    if begin is not None:
        stretches.append((begin, steps))
    return sorted(stretches)


LABELS = LabelMap({symbol: label for label, symbols in AAMI_CLASSES.items() for symbol in symbols})

SOURCE = Source(
    **about(__file__),
    labels=LABELS,
    curation=Curation(missing="fill"),
    config=DatasetConfig(length=256, stride=256, test_fraction=0.5, alignment="position"),
    locate=locate,
    read=read,
    remote=tuple(RemoteFile(name, URL + name, sha256=digest, size=n) for name, (n, digest) in PUBLISHED.items()),
    download_bytes=sum(n for n, _ in PUBLISHED.values()),
    known_sha256={name: digest for name, (_, digest) in PUBLISHED.items()},
    text_files=("*.hea",),
    sampling_rate_hz=SAMPLING_RATE_HZ,
)
