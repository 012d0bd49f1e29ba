"""Bad original files, each through the command line: one line that names file, row and reason, exit code 1, and earlier
results stay byte-for-byte unchanged.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from readbench_data.dataset.status import LaneStatus
from readbench_data.release.guards import ReleaseRefused
from readbench_data.release.lane_records import lane_state, set_lane_state
from readbench_data.store.store import Store
from tests.support import built


@dataclass(frozen=True)
class Fault:
    """A way to damage a dataset's files: ``spoil(folder)`` returns the damaged file. ``parts``: texts that the error
    must contain. ``verify``: whether published checksums are checked (which would fail first)."""

    dataset: str
    spoil: Callable[[Path], Path]
    parts: tuple[str, ...]
    verify: bool = False


def first(folder: Path, pattern: str) -> Path:
    return sorted(folder.rglob(pattern))[0]


def cut(pattern: str, keep: Callable[[int], int]) -> Callable[[Path], Path]:
    """Truncate the first file that matches to ``keep(size)`` bytes."""

    def spoil(folder: Path) -> Path:
        file = first(folder, pattern)
        file.write_bytes(file.read_bytes()[: keep(file.stat().st_size)])
        return file

    return spoil


def beyond_the_end(folder: Path) -> Path:
    """Add a beat 1,000,000 samples after the last annotation."""
    file = first(folder, "*.atr")
    data = file.read_bytes()
    assert data[-2:] == b"\0\0"
    skip = (59 << 10).to_bytes(2, "little") + (15).to_bytes(2, "little") + (16960).to_bytes(2, "little")  # 1,000,000
    file.write_bytes(data[:-2] + skip + (1 << 10).to_bytes(2, "little") + b"\0\0")
    return file


def instance(folder: Path) -> Path:
    """Return a Parquet instance of a fault class."""
    return next(p for p in sorted(folder.rglob("*.parquet")) if p.parent.name not in ("0",))


def without_column(name: str) -> Callable[[Path], Path]:
    def spoil(folder: Path) -> Path:
        file = instance(folder)
        table = pq.read_table(file)
        pq.write_table(table.drop_columns([name]), file)
        return file

    return spoil


def code_at(row: int, code: int) -> Callable[[Path], Path]:
    def spoil(folder: Path) -> Path:
        file = instance(folder)
        table = pq.read_table(file)
        place = table.schema.get_field_index("class")
        codes = table["class"].to_pylist()
        codes[row] = code
        pq.write_table(
            table.set_column(place, table.schema.field(place), pa.array(codes, table.schema.types[place])), file
        )
        return file

    return spoil


def cell(line: int, column: int, text: str) -> Callable[[Path], Path]:
    """Write ``text`` into a cell of the first TSV file; line and column count from 1."""

    def spoil(folder: Path) -> Path:
        file = first(folder, "*_TRAIN.tsv")
        rows = [row.split("\t") for row in file.read_text().splitlines()]
        rows[line - 1][column - 1] = text
        file.write_text("".join("\t".join(row) + "\n" for row in rows))
        return file

    return spoil


def ragged(folder: Path) -> Path:
    file = first(folder, "*_TRAIN.tsv")
    lines = file.read_text().splitlines()
    lines[3] += "\t1.0"
    file.write_text("\n".join(lines) + "\n")
    return file


def flipped(folder: Path) -> Path:
    file = first(folder, "*.dat")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(bytes(data))
    return file


def text_over(pattern: str) -> Callable[[Path], Path]:
    def spoil(folder: Path) -> Path:
        file = first(folder, pattern)
        file.write_text("<html>404 not found</html>\n" * 40)
        return file

    return spoil


def clock_back(folder: Path) -> Path:
    file = instance(folder)
    table = pq.read_table(file)
    order = np.arange(table.num_rows)
    order[[500, 501]] = order[[501, 500]]
    pq.write_table(table.take(order), file)
    return file


FAULTS = {
    "a truncated .dat": Fault("mit_bih", cut("*.dat", lambda n: n * 2 // 3), ("sample ", "truncated")),
    "an empty .dat": Fault("mit_bih", cut("*.dat", lambda n: 0), ("sample 0", "truncated")),
    "an .atr past the end": Fault("mit_bih", beyond_the_end, ("annotation ", "is at sample ")),
    "an .atr without an end": Fault("mit_bih", cut("*.atr", lambda n: n - 2), ("byte ", "no end mark")),
    "an invalid header": Fault("mit_bih", text_over("*.hea"), ("line ",)),
    "a wrong checksum": Fault("mit_bih", flipped, ("wrong checksum", "published", "fetch it again"), verify=True),
    "a changed sample": Fault("mit_bih", flipped, ("do not add up to the header's checksum",)),
    "Parquet without a channel": Fault("petrobras_3w", without_column("P-TPT"), ("P-TPT",)),
    "Parquet without labels": Fault("petrobras_3w", without_column("class"), ("class",)),
    "Parquet cut short": Fault("petrobras_3w", cut("*.parquet", lambda n: n // 2), ("Parquet",)),
    "a class code that does not exist": Fault("petrobras_3w", code_at(700, 103), ("row 700", "103", "known codes")),
    "a class code that is negative": Fault("petrobras_3w", code_at(0, -1), ("row 0", "-1", "known codes")),
    "a clock that goes back": Fault("petrobras_3w", clock_back, ("row 50",)),
    "TSV with a text cell": Fault("ctsr", cell(4, 7, "n/a"), ("line 4, column 7", "'n/a' is not a number")),
    "TSV with a label that is text": Fault("ctsr", cell(2, 1, "walk"), ("line 2, column 1", "'walk'")),
    "TSV with a broken label": Fault("ctsr", cell(2, 1, "1.5"), ("line 2, column 1", "1.5 is not a whole number")),
    "TSV with a ragged line": Fault("ctsr", ragged, ("line 4", "cells, but line 1 has")),
    "TSV that is empty": Fault("ctsr", cut("*_TRAIN.tsv", lambda n: 0), ("is empty",)),
}


@pytest.fixture(scope="module")
def earlier(lite: built.Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with an earlier release, which bad input must leave unchanged."""
    return lite.copy(tmp_path_factory.mktemp("earlier") / "data", "lanes", "release", "published", "leaderboard")


@pytest.fixture
def mirror(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(built.mirror(tmp_path_factory), tmp_path / "mirror"))


@pytest.mark.parametrize("name", list(FAULTS))
def test_bad_input_is_one_line_with_file_row_and_reason(name: str, mirror: Path, earlier: Path) -> None:
    fault = FAULTS[name]
    file = fault.spoil(mirror / fault.dataset)
    before = {part: built.tree(earlier / part) for part in ("release", "published", "leaderboard")}
    words = ["build", "--data", earlier, "--mirror", mirror, "--dataset", fault.dataset, "--profile", "lite"]
    words += ["--version", built.VERSION, *([] if fault.verify else ["--no-checksums"])]
    ran = built.readbench(*words)
    assert ran.code == 1
    assert ran.out == ""
    where = file.parent if fault.verify else file  # no miniature has a published checksum: the first file is named
    assert ran.error.startswith(f"readbench: {where}")
    for part in fault.parts:
        assert part in ran.error
    assert "unexpected" not in ran.error
    assert {part: built.tree(earlier / part) for part in before} == before
    assert built.leftovers(earlier) == []


def test_after_bad_input_the_earlier_lanes_still_give_the_same_release(earlier: Path, mirror: Path) -> None:
    """Several consecutive bad builds leave the results that an earlier release was built from."""
    for number in range(3):
        cell(4 + number, 7, "x")(mirror / "ctsr")
        words = ["--mirror", mirror, "--dataset", "ctsr", "--profile", "lite"]
        assert built.readbench("build", "--data", earlier, *words).code == 1
    wanted = built.tree(earlier / "release" / built.VERSION)
    with pytest.raises(ReleaseRefused, match="and only earlier data are there"):
        built.gather(earlier)
    store = Store(str(earlier))
    for name in built.THREE:
        state = lane_state(store, name)
        assert state is not None
        set_lane_state(store, name, state.changed(status=LaneStatus.OK, reason=None))
    built.gather(earlier)
    assert built.tree(earlier / "release" / built.VERSION) == wanted


@pytest.mark.parametrize("kind", ["empty", "absent", "only other files"])
def test_a_dataset_folder_without_original_files_is_no_data(kind: str, mirror: Path, tmp_path: Path) -> None:
    folder = mirror / "mit_bih"
    shutil.rmtree(folder)
    if kind != "absent":
        folder.mkdir()
    if kind == "only other files":
        (folder / "readme.txt").write_text("moved to the archive")
    reason = {
        "empty": "the folder mit_bih in the mirror is empty",
        "absent": "the mirror has no folder mit_bih",
        "only other files": "no record with its .hea, .dat and .atr file in one folder",
    }[kind]
    ran = built.readbench("build", "--data", tmp_path / "data", "--mirror", mirror, "--dataset", "mit_bih")
    assert ran.code == 1
    assert ran.error == (
        f"readbench: none of the selected datasets has data (mit_bih: {reason}): "
        "`readbench sources` shows how to get them"
    )
    assert not (tmp_path / "data" / "release").exists()
