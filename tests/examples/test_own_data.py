"""The examples on the real files of others, which are not part of this repository, and on stand-ins.

READBENCH_OWNDATA names the folder of SKAB and UCR-R; without it these tests are skipped, with the folder they searched.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import polars as pl
import pytest

from readbench_data.dataset.files import FileSet, OriginKind
from readbench_data.dataset.source import Source
from readbench_data.entry import NORMAL
from readbench_data.leakage.facts import from_release
from readbench_data.leakage.shortcuts import find_shortcuts
from readbench_data.release.reading import read_manifest
from sources.outside.check import SourceReport, check_source
from sources.outside.tables import table_source
from tests.support.built import REPO, readbench

EXAMPLES = REPO / "examples"
OWNDATA = Path(os.environ.get("READBENCH_OWNDATA", REPO / ".." / "shared" / "own_data")).resolve()


def files_of(name: str) -> Path:
    folder = OWNDATA / name
    if not folder.is_dir():
        pytest.skip(f"no files of {name}: there is no {folder} (READBENCH_OWNDATA names another folder)")
    return folder


def checked(source: Source, folder: Path) -> SourceReport:
    return check_source(source, FileSet(source.name, folder, OriginKind.MIRROR))


def test_skab_as_column_and_file_and_as_a_table_of_incidents_is_the_same() -> None:
    folder = files_of("skab")
    column, tickets = (
        checked(table_source(EXAMPLES / "skab" / f"{name}.toml", 1000), folder) for name in ("source", "incidents")
    )
    assert (column.files, column.rows, len(column.channels)) == (35, 46_806, 8)
    assert {one.name: (one.windows, one.units) for one in column.classes} == {
        "cavitation": (20, 2),
        "inlet valve closes": (208, 16),
        "leak or added fluid": (44, 4),
        "outlet valve closes": (51, 4),
        "rotor imbalance": (63, 5),
        "warmer water": (10, 1),
        "water added": (36, 2),
        NORMAL: (1019, 35),
    }
    assert column.classes == tickets.classes
    assert [line.partition(":")[2] for line in column.suspicions if "one unit" in line] == [
        " warmer water: never queried, and whatever marks that unit marks the class"
    ]


@pytest.fixture(scope="module")
def skab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files_of("skab")
    data = tmp_path_factory.mktemp("skab") / "data"
    words = ("--source", EXAMPLES / "skab" / "source.toml", "--mirror", OWNDATA, "--data", data, "--version", "1.0")
    done = readbench("build", *words)
    assert done.code == 0, done.err
    assert "Not READ-Bench: skab." in done.out
    return data / "release" / "1.0"


def test_skab_goes_through_build_verify_audit_publish_and_scores(skab: Path, tmp_path: Path) -> None:
    assert readbench("verify", skab).code == 0
    data = skab.parents[1]
    assert "rotor imbalance" in readbench("audit", "--dataset", "skab", "--release", skab, "--data", data).out
    (tmp_path / "to").mkdir()
    assert readbench("publish", skab, "--to", tmp_path / "to", "--data", data).code == 0
    scores = pl.read_parquet(data / "leaderboard" / "1.0.parquet")
    ndcg = scores.filter(metric="ndcg", k=10, rho=0).group_by("method").agg(pl.col("value").mean())
    values = dict(ndcg.iter_rows())
    assert values["DTW-I"] > values["ED"] > values["Random"] + 0.3
    foreign = read_manifest(skab).built["skab"].foreign
    assert foreign is not None
    assert str(OWNDATA) not in (skab / "manifest.json").read_text()


def test_the_shortcuts_of_skab_are_found(skab: Path) -> None:
    """Units are experiments of one day: where a window is in its experiment says something about its fault."""
    report = find_shortcuts(from_release(skab, "skab"))
    assert report


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(EXAMPLES / "ucr_r"))
    for name in [n for n in sys.modules if n.startswith("ucr_r_source")]:
        monkeypatch.delitem(sys.modules, name)
    return "ucr_r_source.ucr_r"


def test_ucr_r_from_its_package_and_its_miniature(package: str, tmp_path: Path) -> None:
    done = readbench("build", "--source", package, "--data", tmp_path / "data", "--version", "1.0")
    assert done.code == 0, done.err
    assert "miniature" in done.out
    manifest = read_manifest(tmp_path / "data" / "release" / "1.0-lite")
    foreign = manifest.built["ucr_r"].foreign
    assert foreign is not None
    assert foreign.package == "ucr_r_source"


def test_ucr_r_on_the_real_files(package: str) -> None:
    import importlib

    source = importlib.import_module(package).SOURCE
    report = checked(source, files_of("ucr_r"))
    assert (report.recordings, len(report.classes)) == (1112, 25)
    assert report.missing == ()


def test_the_package_is_short() -> None:
    lines = [len(p.read_text().splitlines()) for p in (EXAMPLES / "ucr_r").rglob("*") if p.suffix in (".py", ".toml")]
    assert sum(lines) < 150
