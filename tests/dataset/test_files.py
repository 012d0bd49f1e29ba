"""Original files: found in any layout, hashed once, checked against what was published."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from readbench_data.dataset import files as module
from readbench_data.dataset.files import FileSet, mirror_folder, sha256_of
from readbench_data.errors import BadInput, NoData, ReadbenchError


def tree(root: Path, *names: str) -> FileSet:
    for name in names:
        path = root / "plant" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return FileSet("plant", root / "plant", "mirror")


def test_files_are_found_in_whatever_folder_they_lie(tmp_path: Path) -> None:
    files = tree(tmp_path, "z/100.dat", "100.hea", "a/b/101.dat", ".hidden", ".git/100.dat", "readme")
    assert files.names() == ("100.hea", "a/b/101.dat", "readme", "z/100.dat")
    assert files.glob("*.dat") == ("a/b/101.dat", "z/100.dat")
    assert files.glob("b/*.dat", "100.hea") == ("100.hea", "a/b/101.dat")
    assert files.path("z/100.dat").read_text() == "z/100.dat"
    assert files.read_bytes("readme") == b"readme"


def test_a_folder_that_is_absent_or_empty_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="no folder plant in the mirror"):
        FileSet("plant", tmp_path / "plant", "mirror").names()
    (tmp_path / "plant").mkdir()
    with pytest.raises(NoData, match="the folder plant in the download is empty"):
        FileSet("plant", tmp_path / "plant", "download").names()


def test_a_file_that_went_away_is_bad_input(tmp_path: Path) -> None:
    files = tree(tmp_path, "a.dat")
    (tmp_path / "plant" / "a.dat").unlink()
    for use in (files.read_bytes, files.sha256):
        with pytest.raises(BadInput, match=r"a\.dat: cannot be read \(No such file or directory\)"):
            use("a.dat")


def test_hashes_are_those_of_the_bytes_and_in_the_requested_order(tmp_path: Path) -> None:
    files = tree(tmp_path, "a", "b", "c")
    assert list(files.hash_all(["c", "a", "b"]).items()) == [(n, hashlib.sha256(n.encode()).hexdigest()) for n in "cab"]
    assert files.sha256("a") == sha256_of(tmp_path / "plant" / "a")


def test_a_hash_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache" / "plant.json"
    tree(tmp_path, "a", "b").root.joinpath("a").write_text("1111")
    read: list[str] = []

    def counted(path: Path) -> str:
        read.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr(module, "sha256_of", counted)

    def fresh() -> dict[str, str]:
        return FileSet("plant", tmp_path / "plant", "mirror", cache).hash_all(["a", "b"])

    first = fresh()
    assert fresh() == first
    assert sorted(read) == ["a", "b"]
    changed = tmp_path / "plant" / "a"
    changed.write_text("2222")
    os.utime(changed, ns=(1, 1))
    assert fresh() == {**first, "a": hashlib.sha256(b"2222").hexdigest()}
    assert sorted(read) == ["a", "a", "b"]


def test_a_broken_cache_of_hashes_is_rebuilt(tmp_path: Path) -> None:
    cache = tmp_path / "plant.json"
    cache.write_text('{"half')
    tree(tmp_path, "a")
    files = FileSet("plant", tmp_path / "plant", "mirror", cache)
    assert files.sha256("a") == hashlib.sha256(b"a").hexdigest()
    assert len(json.loads(cache.read_text())) == 1


def test_a_wrong_checksum_names_the_file_and_what_to_do(tmp_path: Path) -> None:
    files = tree(tmp_path, "a.dat")
    files.check("a.dat", hashlib.sha256(b"a.dat").hexdigest())
    with pytest.raises(BadInput, match=r"a\.dat: wrong checksum: sha256 .*, published 0{12}.*fetch it again") as found:
        files.check("a.dat", "0" * 64)
    assert "\n" not in str(found.value)
    assert "(5 bytes)" in str(found.value)


@pytest.mark.parametrize(("stored", "published"), [(b"a\nb\n", b"a\r\nb\r\n"), (b"a\r\nb\r\n", b"a\nb\n")])
def test_changed_line_ends_pass_for_text_only(tmp_path: Path, stored: bytes, published: bytes) -> None:
    files = tree(tmp_path, "a.hea")
    files.path("a.hea").write_bytes(stored)
    expected = hashlib.sha256(published).hexdigest()
    files.check("a.hea", expected, text=True)
    with pytest.raises(BadInput, match="wrong checksum"):
        files.check("a.hea", expected)
    with pytest.raises(BadInput, match="wrong checksum"):
        files.check("a.hea", hashlib.sha256(b"a\nc\n").hexdigest(), text=True)


def test_a_mirror_must_exist(tmp_path: Path) -> None:
    assert mirror_folder(tmp_path, "plant") == tmp_path / "plant"
    with pytest.raises(ReadbenchError, match="does not exist or is not a folder"):
        mirror_folder(tmp_path / "no", "plant")


def test_errors_are_one_line_with_file_row_and_reason() -> None:
    error = BadInput("a/r.csv", "the cell 'x' is not a number", row="row 17")
    assert str(error) == "a/r.csv, row 17: the cell 'x' is not a number"
    assert (error.file, error.row, error.reason) == ("a/r.csv", "row 17", "the cell 'x' is not a number")
