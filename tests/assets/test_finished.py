"""A finished result is recognised without running anything, and every kind of change makes the build run again."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import expectations
from assets import finished as module
from assets.finished import Finished
from assets.workspace import PlainWorkspace
from readbench_data.dataset.status import LaneStatus
from readbench_data.release.lane_records import LaneState, lane_state, set_lane_state
from readbench_data.store import code_version as codeversion
from tests.support.built import VERSION, Built

NAME = "ctsr"
PARTS = ("lanes", "cache", "evaluation", "release", "published", "leaderboard")
STAGES = ("raw", "recordings", "windows", "benchmark")


@pytest.fixture
def root(lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a built data root, marked as a build marks what it has run."""
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    data = lite.copy(tmp_path / "data", *PARTS)
    made = at(data)
    state = lane_state(made.workspace.store, NAME)
    assert state is not None
    assert made.lane(NAME) is None, "what was never marked is run"
    assert made.release() is None
    made.mark_lane(NAME, state)
    made.mark_release()
    assert made.lane(NAME) == state
    assert made.release()
    return data


def at(data: Path, **changed: object) -> Finished:
    """The marks of a data root, asked for with other options or settings where given."""
    return Finished(PlainWorkspace(**{"data": str(data), "version": VERSION, **changed}))  # type: ignore[arg-type]


def one(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


def largest(folder: Path) -> Path:
    return max((p for p in folder.rglob("*") if p.is_file()), key=lambda p: p.stat().st_size)


def flip(path: Path) -> None:
    """Change one byte and nothing that a listing shows: neither the size nor the time of the last change."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def edit(path: Path, **fields: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


LANE_CHANGES: dict[str, Callable[[Path], object]] = {
    "an original file": lambda d: cut(
        max((d / f"cache/miniatures/{NAME}").rglob("*.*"), key=lambda p: p.stat().st_size)
    ),
    "how the lane ended": lambda d: edit(d / f"lanes/{NAME}/status.json", status="failed", reason="x"),
    "no state": lambda d: (d / f"lanes/{NAME}/status.json").unlink(),
    "no mark": lambda d: shutil.rmtree(d.parent / "home"),
    **{f"{s}: pointer": lambda d, s=s: edit(d / f"lanes/{NAME}/{s}/current.json", key="0" * 64) for s in STAGES},  # type: ignore[misc]
    **{f"{s}: pointer gone": lambda d, s=s: (d / f"lanes/{NAME}/{s}/current.json").unlink() for s in STAGES},  # type: ignore[misc]
    **{f"{s}: record": lambda d, s=s: one(d, f"lanes/{NAME}/{s}/*/done.json").unlink() for s in STAGES},  # type: ignore[misc]
    **{f"{s}: file gone": lambda d, s=s: one(d, f"lanes/{NAME}/{s}/*/*.parquet").unlink() for s in STAGES[1:]},  # type: ignore[misc]
    **{f"{s}: byte": lambda d, s=s: flip(one(d, f"lanes/{NAME}/{s}/*/*.parquet")) for s in STAGES[1:]},  # type: ignore[misc]
}


@pytest.mark.parametrize("change", LANE_CHANGES)
def test_a_changed_input_or_result_makes_the_lane_run(change: str, root: Path) -> None:
    LANE_CHANGES[change](root)
    assert at(root).lane(NAME) is None


@pytest.mark.parametrize(
    "options",
    [
        {"settings": ["seed=7"]},
        {"settings": ["query_cap=3"]},
        {"settings": [f"{NAME}.min_same_class=11"]},
        {"pool": True},
        {"origin": "download"},
        {"profile": "full", "origin": "miniature"},
    ],
    ids=str,
)
def test_another_setting_makes_the_lane_run(options: dict[str, object], root: Path) -> None:
    assert at(root, **options).lane(NAME) is None


def test_what_changes_no_result_makes_nothing_run(root: Path) -> None:
    for path in (root / f"cache/miniatures/{NAME}").rglob("*.*"):
        path.touch()
    assert at(root).lane(NAME) is not None, "an original file was written again with the same bytes"
    assert at(root, settings=["hai.stride=64"]).lane(NAME) is not None, "a setting of another dataset"
    assert at(root, version="7.7.7").lane(NAME) is not None, "the version of the release"


def changed_code(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, suffix: str = ".py") -> None:
    """A comment more in the file of a module, or in the TOML file next to it."""
    find = codeversion._file
    original = find(name)
    assert original is not None
    folder.mkdir()
    edited = folder / original.name
    for part in {original, original.with_suffix(suffix)}:
        more = b"\n# a change\n" if part.suffix == suffix else b""
        (folder / part.name).write_bytes(part.read_bytes() + more)
    monkeypatch.setattr(codeversion, "_file", lambda module: edited if module == name else find(module))
    codeversion.code_version.cache_clear()


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        (f"sources.{NAME}", ".py"),
        (f"sources.{NAME}", ".toml"),
        *((f"readbench_data.lane.stage_{stage}", ".py") for stage in STAGES),
        ("readbench_data.windows.labeling", ".py"),
        ("readbench_data.leakage.leaks", ".py"),
        ("assets.metadata", ".py"),
    ],
)
def test_changed_code_makes_the_lane_run(
    name: str, suffix: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed_code(name, tmp_path / "edited", monkeypatch, suffix)
    try:
        assert at(root).lane(NAME) is None
    finally:
        codeversion.code_version.cache_clear()


@pytest.mark.parametrize("suite", module.SUITES)
def test_a_changed_suite_makes_the_lane_run(
    suite: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "suites"
    shutil.copytree(expectations.FOLDER, folder)
    file = folder / f"{suite}.json"
    file.write_text(file.read_text().replace('"meta"', ' "meta"', 1))
    monkeypatch.setattr(expectations, "FOLDER", folder)
    assert at(root).lane(NAME) is None


RELEASE_CHANGES: dict[str, Callable[[Path], object]] = {
    "manifest gone": lambda d: (d / f"release/{VERSION}/manifest.json").unlink(),
    "byte of an entry file": lambda d: flip(one(d, f"release/{VERSION}/data/{NAME}/*.parquet")),
    "card": lambda d: flip(d / f"release/{VERSION}/README.md"),
    "file more": lambda d: (d / f"release/{VERSION}/more.txt").write_text("x"),
    "published file": lambda d: (d / f"published/{VERSION}/README.md").unlink(),
    "published copy": lambda d: shutil.rmtree(d / f"published/{VERSION}"),
    "receipt": lambda d: (d / "published/receipts.json").write_text("{}"),
    "board": lambda d: (d / f"leaderboard/{VERSION}.txt").unlink(),
    "page": lambda d: flip(d / f"leaderboard/{VERSION}.html"),
    "score gone": lambda d: one(d, "evaluation/units/*/*.npz").unlink(),
    "score damaged": lambda d: flip(one(d, "evaluation/units/*/*.npz")),
    "score more": lambda d: shutil.copy(one(d, "evaluation/units/*/*.npz"), d / "evaluation/units/more.npz"),
    "table of scores": lambda d: flip(d / "evaluation/results.parquet"),
    "lane": lambda d: edit(d / "lanes/mit_bih/status.json", status="failed", reason="x"),
    "lane file": lambda d: flip(one(d, "lanes/mit_bih/benchmark/*/*.parquet")),
    "lane more": lambda d: shutil.copytree(d / "lanes/ctsr", d / "lanes/hai"),
    "no mark": lambda d: shutil.rmtree(d.parent / "home/history"),
}


@pytest.mark.parametrize("change", RELEASE_CHANGES)
def test_a_changed_result_makes_the_release_run(change: str, root: Path) -> None:
    RELEASE_CHANGES[change](root)
    assert at(root).release() is None


@pytest.mark.parametrize(
    "options", [{"version": "7.7.7-lite"}, {"settings": ["seed=7"]}, {"settings": ["hai.stride=64"]}], ids=str
)
def test_another_version_or_setting_makes_the_release_run(options: dict[str, object], root: Path) -> None:
    assert at(root, **options).release() is None


@pytest.mark.parametrize(
    ("package", "file"),
    [
        ("sources", "hai.toml"),
        ("readbench_data", "release/templates/card_code.md.j2"),
        ("readbench_data", "evaluation/kernels/bm25.py"),
        ("expectations", "release.json"),
    ],
)
def test_a_changed_file_of_this_repository_makes_the_release_run(
    package: str, file: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a printed row, a template or a suite: the declarations of datasets without a lane are in a release too."""
    find = codeversion._file
    init = find(package)
    assert init is not None
    copy = tmp_path / package
    shutil.copytree(init.parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(codeversion, "_file", lambda name: copy / init.name if name == package else find(name))
    same = at(root).release()
    assert same is not None
    (copy / file).write_bytes((copy / file).read_bytes() + b"\n")
    assert at(root).release() is None


def test_another_version_of_a_library_makes_the_release_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = module._version_of
    monkeypatch.setattr(module, "_version_of", lambda name: "99" if name == "pyarrow" else there(name))
    assert at(root).release() is None


def test_failed_work_is_never_marked(root: Path) -> None:
    import polars as pl

    table = root / "evaluation/results.parquet"
    rows = pl.read_parquet(table)
    failed = pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("failed")).otherwise("status")
    rows.with_columns(status=failed).write_parquet(table)
    at(root).mark_release()
    assert at(root).release() is None, "a failed method is tried again"
    rows.write_parquet(table)
    at(root).mark_release()
    assert at(root).release()
    one(root, "evaluation/units/*/*.npz").touch()
    at(root).mark_release()
    assert at(root).release() is None, "a score that came after the table is not on the board"
    at(root).mark_lane(NAME, LaneState(status=LaneStatus.FAILED, reason="x"))
    assert at(root).lane(NAME) is None


def test_a_dataset_without_data_is_finished_as_long_as_its_reason_holds(root: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "hai").mkdir(parents=True)
    made = at(root, mirror=str(tmp_path / "mirror"))
    state = LaneState(status=LaneStatus.NO_DATA, reason="the folder hai in the mirror is empty")
    assert made.lane("hai") is None
    set_lane_state(made.workspace.store, "hai", state)
    made.mark_lane("hai", state)
    assert made.lane("hai") == state
    (tmp_path / "mirror" / "hai").rmdir()
    assert made.lane("hai") is None
