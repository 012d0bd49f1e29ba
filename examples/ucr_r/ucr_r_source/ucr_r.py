"""UCR-R: one TSV file per group and part, ``<Set>/<folder>/train25.tsv``; the first cell of a line is the group."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import numpy as np

from readbench_data.dataset.about import about
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import FileSet, Located
from readbench_data.dataset.options import SourceOptions
from readbench_data.dataset.source import Source
from readbench_data.errors import BadInput, NoData
from readbench_data.recordings.curation import Curation
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.windows.labeling import LabelMap

PART = re.compile(r"(train|test)_?\d*$", re.IGNORECASE)


def locate(files: FileSet, options: SourceOptions) -> Located:
    """Every train and test file, in whatever folder it is."""
    found = tuple(name for name in files.glob("*.tsv") if PART.match(PurePosixPath(name).stem))
    if not found:
        raise NoData("there is no train*.tsv or test*.tsv")
    return Located(found)


def read(files: FileSet, located: Located, options: SourceOptions) -> Iterator[Recording]:
    """One recording per line that has a group; a line of the archive without one is not part of UCR-R."""
    for name in located.inputs:
        path = PurePosixPath(name)
        part = PART.match(path.stem)
        ucr_set = path.parts[-3] if len(path.parts) > 2 else path.stem
        assert part is not None
        for line, text in enumerate(files.read_bytes(name).decode().splitlines()):
            group, *cells = text.split("\t")
            if not group.strip():
                continue
            try:
                values = np.array([float(cell) for cell in cells if cell.strip()], np.float32)[:, None]
            except ValueError as error:
                raise BadInput(files.path(name), str(error), f"line {line + 1}") from error
            series = f"{path.with_suffix('').as_posix()}/{line}"
            yield Recording(
                recording_id=series,
                values=values,
                channels=("value",),
                evidence=Evidence.native(f"{ucr_set}:{group.strip()}", len(values)),
                unit=series,
                source_file=name,
                source_sha256=files.sha256(name),
                native_split=part[1].lower(),
                rows=np.full(len(values), line, np.int64),
            )


def write_miniature(folder: Path, seed: int = 42) -> None:
    """Two sets of two groups: sines of four frequencies, with another phase in every series."""
    draw = np.random.default_rng(seed)
    for number, ucr_set in enumerate(("Slow", "Fast")):
        for part, series in (("train", 12), ("test", 6)):
            path = folder / ucr_set / "Mini"
            path.mkdir(parents=True, exist_ok=True)
            for group in (2 * number + 1, 2 * number + 2):
                angle = np.arange(64) / 64 * 2 * np.pi * group * 2
                noise = draw.normal(0, 0.2, (series, 64))
                rows = np.sin(angle + draw.uniform(0, 6, (series, 1))) + noise
                lines = ["\t".join([str(group), *(f"{v:.4f}" for v in row)]) for row in rows]
                (path / f"{part}{group}.tsv").write_text("\n".join(lines) + "\n")


SOURCE = Source(
    **about(__file__),
    labels=LabelMap({}, open_vocabulary=True),
    curation=Curation(missing="fill"),
    config=DatasetConfig(length=None, test_fraction=0.3, native_split=True),
    locate=locate,
    read=read,
)
