"""The suite of the original files, and the Data Docs of every suite."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape

import expectations
from expectations import projections
from expectations.docs import lane_projections, release_projection, write_data_docs
from readbench_data.release.lane_records import InputFile
from readbench_data.store.store import Store
from tests.support import built

FILES = [
    InputFile(path="in/100.dat", sha256="0a" * 32, bytes=12),
    InputFile(path="in/101.dat", sha256="0b" * 32, bytes=12),
]


def failed(files: list[InputFile], known: tuple[str, ...] = (), checked: tuple[str, ...] = ()) -> set[str]:
    return {o.check for o in expectations.run("raw", projections.raw(files, known, checked)) if not o.passed}


def test_sound_files_pass() -> None:
    assert failed(FILES, known=("100.dat", "999.dat"), checked=("in/100.dat",)) == set()


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ({"path": "in/101.dat"}, "files_once"),
        ({"sha256": "0A" * 32}, "files_hashed"),
        ({"bytes": 0}, "files_not_empty"),
    ],
)
def test_a_planted_fault_is_named(change: dict[str, Any], check: str) -> None:
    assert failed([FILES[0].changed(**change), FILES[1]]) == {check}


def test_no_file_at_all() -> None:
    assert failed([]) == {"files_there"}


def test_a_published_checksum_that_was_not_compared_warns_only() -> None:
    frame = projections.raw(FILES, ("in/101.dat",), ())
    seen = {o.check: o for o in expectations.require("raw", "x", frame)}
    assert not seen["checksums_checked"].passed
    assert not seen["checksums_checked"].blocking


def test_data_docs_hold_every_suite_of_every_dataset(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    lite = built.lite(tmp_path_factory)
    validations = [*lane_projections(built.lane("mit_bih", lite.data)), release_projection(Store(str(lite.release)))]
    assert [stage for _, stage, _ in validations] == ["raw", "recordings", "windows", "benchmark", "leaks", "release"]
    for subject, stage, frame in validations:
        expectations.require(stage, subject, frame)
    index = write_data_docs(tmp_path / "docs", validations)
    text = index.read_text()
    assert re.search(r'href="mit_bih.html#windows">all \d+ passed<', text)
    for subject, stage, _ in validations:
        page = (tmp_path / "docs" / f"{subject}.html").read_text()
        assert f'id="{stage}"' in page
        for check, why, _ in expectations.checks(stage):
            assert f"<b>{check}</b><br>{escape(why)}<" in page
    write_data_docs(tmp_path / "again", validations)
    assert built.tree(tmp_path / "again") == built.tree(tmp_path / "docs"), "no time of day, no random id"


def test_data_docs_load_nothing_and_show_what_failed(tmp_path: Path) -> None:
    frame = projections.raw([FILES[0], FILES[1].changed(path="in/<100>.dat", sha256="0A" * 32)], ("100.dat",), ())
    index = write_data_docs(tmp_path, [("plant", "raw", frame)])
    assert ">1 failed, 1 warning of 5<" in index.read_text()
    page = (tmp_path / "plant.html").read_text()
    assert page.index("<b>files_hashed</b>") < page.index("<b>checksums_checked</b>") < page.index("<b>files_there</b>")
    assert "failed: stops the build" in page
    assert "sha256 values must match this regular expression: ^[0-9a-f]{64}$" in page, "in Great Expectations' words"
    assert f"1 of 2 unexpected; such as {'0A' * 32}" in page
    for text in (page, index.read_text()):
        assert not re.search(r"(src|href)\s*=\s*[\"']?\s*(https?:)?//|@import|url\(", text), "nothing from the network"
        assert "<script" not in text
