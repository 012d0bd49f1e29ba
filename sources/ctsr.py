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

from readbench_data.dataset.about import about
from readbench_data.dataset.allowed import EachOf
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import MOST, SourceOptions, setting
from readbench_data.dataset.provenance import OURS
from readbench_data.dataset.source import Source
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
    **about(__file__),
    labels=LabelMap(classes={}, open_vocabulary=True),
    curation=Curation(missing="fill"),
    config=DatasetConfig[CtsrOptions](length=None, test_fraction=0.3, native_split=True, min_same_class=10),
    locate=locate,
    read=read,
    text_files=("*.tsv",),
)
