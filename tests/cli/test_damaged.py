"""Wrong names, outputs that cannot be written, damaged releases: one line with what to do."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from readbench_data.release.parquet import AUDIT_SCHEMA, write_table
from tests.support import built
from tests.support.built import Built, readbench


@pytest.fixture
def release(lite: Built, tmp_path: Path) -> Path:
    folder = tmp_path / "release"
    shutil.copytree(lite.release, folder)
    return folder


def a_query(lite: Built, name: str = "ctsr") -> str:
    table = pl.read_parquet(lite.release / "audit" / f"{name}.parquet")
    return str(table.filter(pl.col("outcome") == "query")["entry_id"][0])


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "audit table cut short": (lambda r: truncate(r / "audit/ctsr.parquet"), "audit/ctsr.parquet: cannot be read"),
    "audit table gone": (lambda r: (r / "audit/ctsr.parquet").unlink(), "ctsr"),
    "manifest of something else": (lambda r: (r / "manifest.json").write_text("{}") and None, "not the manifest"),
    "manifest cut short": (lambda r: truncate(r / "manifest.json"), "manifest.json: not JSON"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_release_is_reported_in_one_line_by_every_command(
    damage: str, release: Path, lite: Built, tmp_path: Path
) -> None:
    damage_release, message = DAMAGES[damage]
    damage_release(release)
    at = ("--release", release, "--data", tmp_path / "none")
    for words in (
        ("audit", a_query(lite), *at),
        ("audit", "--dataset", "ctsr", *at),
        ("audit", "--dataset", "ctsr", "--html", tmp_path / "page.html", *at),
        ("audit", "--html", tmp_path / "pages", *at),
        ("diff", lite.release, release),
    ):
        ran = readbench(*words)
        assert ran.code == 1, words
        assert message in ran.error, words
        assert "unexpected" not in ran.error
    verified = readbench("verify", release)
    assert verified.code == 1
    assert message in verified.err
    assert "unexpected" not in verified.err


def test_an_entry_file_cut_short(release: Path, lite: Built, tmp_path: Path) -> None:
    truncate(release / "data/ctsr/queries.parquet")
    at = ("--release", release, "--data", tmp_path / "none")
    shown = readbench("audit", a_query(lite), *at)
    assert shown.code == 0, "the audit table is enough, the values are not needed"
    for words in (
        ("audit", a_query(lite), "--plot", tmp_path / "a.png", *at),
        ("audit", "--dataset", "ctsr", "--html", tmp_path / "page.html", *at),
    ):
        ran = readbench(*words)
        assert ran.code == 1
        assert f"data/ctsr/queries.parquet: cannot be read ({ran.error.split('read (')[1].split(')')[0]})" in ran.error
        assert f"`readbench verify {release}`" in ran.error
    verified = readbench("verify", release)
    assert verified.code == 1
    assert "breach: data/ctsr/queries.parquet: cannot be read as Parquet" in verified.err


def test_names_that_match_no_window(lite: Built, release: Path) -> None:
    at = ("--data", lite.data)
    for word in ("", "zzz", "../../etc", "abc", "0" * 33):
        assert "is not an entry_id" in readbench("audit", word, *at).error
    assert "no window 000000" in readbench("audit", "000000", *at).error
    known = a_query(lite)
    assert readbench("audit", known.upper(), *at).out == readbench("audit", known, *at).out
    table = pl.read_parquet(release / "audit" / "ctsr.parquet")
    twins = table.head(2).with_columns(entry_id=pl.Series(["abcdef" + "0" * 26, "abcdef" + "1" * 26]))
    with (release / "audit" / "ctsr.parquet").open("wb") as stream:
        write_table(stream, pl.concat([table, twins]).sort("entry_id").to_arrow().cast(AUDIT_SCHEMA))
    ran = readbench("audit", "abcdef", "--release", release, *at)
    assert (ran.code, ran.error) == (1, "readbench: abcdef matches several windows: give more digits")
    assert readbench("audit", "abcdef0", "--release", release, *at).code == 0


def test_datasets_and_releases_that_do_not_exist(lite: Built, tmp_path: Path) -> None:
    ran = readbench("audit", "--dataset", "hai", "--data", lite.data)
    assert (ran.code, ran.error.endswith("no audit table of hai; it has ctsr, mit_bih, petrobras_3w")) == (1, True)
    assert "run `readbench build`" in readbench("audit", "--dataset", "hai", "--data", tmp_path).error
    assert "no release there" in readbench("audit", a_query(lite), "--release", "9.9.9", "--data", lite.data).error
    assert "no release there" in readbench("diff", built.VERSION, "9.9.9", "--data", lite.data).error


@pytest.mark.parametrize(
    ("option", "place", "message"),
    [
        ("--plot", "no/such/x.png", "there is no folder"),
        ("--plot", ".", "is a folder"),
        ("--plot", "x.pdf", "the file name must end in .png"),
        ("--html", "no/such/x.html", "there is no folder"),
        ("--html", ".", "is a folder"),
    ],
)
def test_an_output_that_cannot_be_written_is_reported_before_any_work(
    option: str, place: str, message: str, lite: Built, tmp_path: Path
) -> None:
    what: tuple[object, ...] = (a_query(lite),) if option == "--plot" else ("--dataset", "ctsr")
    ran = readbench("audit", *what, option, tmp_path / place, "--data", tmp_path / "none")
    assert ran.code == 2, "also if there is no release yet"
    assert ran.error.startswith(f"readbench: {option} {tmp_path / place}")
    assert message in ran.error
    if option == "--html":
        ran = readbench("diff", "1", "2", option, tmp_path / place, "--data", tmp_path / "none")
        assert (ran.code, message in ran.error) == (2, True)


def test_pages_of_all_datasets_need_a_folder(lite: Built, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = readbench("audit", "--html", tmp_path / "file", "--data", lite.data)
    assert (ran.code, "is a file: name a folder" in ran.error) == (2, True)


def test_a_damaged_lane_of_an_undamaged_release(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release", "lanes")
    for name in ("recordings.parquet", "index.parquet", "channels.parquet"):
        for path in (data / "lanes" / "ctsr").rglob(name):
            truncate(path)
    for words in ((a_query(lite),), ("--dataset", "ctsr"), ("--dataset", "ctsr", "--html", tmp_path / "page.html")):
        ran = readbench("audit", *words, "--data", data)
        assert ran.code == 1
        assert f"{data}/lanes/ctsr: a file of this lane cannot be read" in ran.error
        assert ran.error.endswith("remove the folder and run `readbench build --dataset ctsr`")
    other = readbench("audit", a_query(lite, "mit_bih"), "--data", data)
    assert (other.code, other.err) == (0, "")
