"""The store: no partial file under its final name, on a disk and on an object store alike."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path

import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.store.records import StageRecord
from readbench_data.store.store import Stage, Store, digest, json_bytes


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(str(tmp_path / "root") if request.param == "folder" else f"memory://{uuid.uuid4().hex}/root")


@pytest.fixture
def stage(store: Store) -> Stage:
    return Stage(store, "plant", "windows")


class Rows(StageRecord):
    rows: int


class Named(StageRecord):
    name: str


def key(name: str) -> str:
    return digest(name)


def test_bytes_and_json_are_read_back(store: Store) -> None:
    store.write_bytes("a/b.bin", b"\0\1")
    store.write_json("a/c.json", {"z": 1, "ä": [None]})
    assert store.read_bytes("a/b.bin") == b"\0\1"
    assert store.read_json("a/c.json") == {"z": 1, "ä": [None]}
    assert (store.names("a"), store.names("no")) == (["b.bin", "c.json"], [])
    assert store.files("") == ["a/b.bin", "a/c.json"]
    assert store.size("a/b.bin") == 2
    assert store.exists("a/b.bin")
    store.copy("a/b.bin", "d/e.bin")
    assert store.read_bytes("d/e.bin") == b"\0\1"
    store.remove("a")
    store.remove("a")
    assert store.files("") == ["d/e.bin"]


def test_a_write_replaces_the_whole_file(store: Store) -> None:
    store.write_bytes("a", b"longer than the next")
    store.write_bytes("a", b"short")
    assert store.read_bytes("a") == b"short"


def break_halfway(store: Store, name: str) -> None:
    with store.open_write(name) as stream:
        stream.write(b"half")
        raise RuntimeError("halfway")


def test_an_interrupted_write_leaves_no_file_and_keeps_the_existing_one(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write_bytes("old", b"old")
    for name in ("new", "old"):
        with pytest.raises(RuntimeError, match="halfway"):
            break_halfway(store, name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["old"]
    assert store.read_bytes("old") == b"old"


def test_the_file_is_not_there_before_it_is_complete(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with store.open_write("a/b") as stream:
        stream.write(b"half")
        assert not store.exists("a/b")
    assert store.exists("a/b")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "no space left on the device: free some and run the same command again"),
        (errno.EACCES, "cannot be written .*: choose another folder"),
        (errno.EROFS, "cannot be written .*: choose another folder"),
    ],
)
def test_a_full_or_read_only_disk_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str
) -> None:
    def refuse(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(ReadbenchError, match=words) as found:
        Store(str(tmp_path)).write_bytes("a/b", b"x")
    assert "\n" not in str(found.value)
    assert not list((tmp_path / "a").iterdir())


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("a file")
    with pytest.raises((ReadbenchError, OSError)):
        Store(str(tmp_path / "root")).write_bytes("a", b"x")


def test_json_does_not_depend_on_the_order_of_keys() -> None:
    assert json_bytes({"b": 1, "a": "ä"}) == '{\n  "a": "ä",\n  "b": 1\n}\n'.encode()
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
    assert digest("") == "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126"
    with pytest.raises(ValueError, match="JSON"):
        json_bytes({"a": float("nan")})


def test_a_stage_that_was_never_finished_has_no_record(stage: Stage) -> None:
    assert stage.current() is None
    assert stage.done(key("one")) is None


def test_a_finished_stage_is_current_and_done(stage: Stage) -> None:
    record = stage.finish(key("one"), Rows(rows=3))
    assert record.to_json() == {"rows": 3, "key": key("one")}
    assert stage.current(Rows) == record
    assert stage.done(key("one"), Rows) == record
    assert stage.done(key("one")[:16] + "0" * 48) is None, "the first sixteen digits alone do not make a key"


def test_an_unfinished_key_is_not_done(stage: Stage) -> None:
    stage.finish(key("one"), Rows(rows=3))
    stage.store.write_bytes(f"{stage.place(key('two'))}/windows.parquet", b"half")
    assert stage.done(key("two")) is None
    assert stage.current(Rows) == Rows(rows=3, key=key("one"))


def test_the_two_newest_results_are_retained(stage: Stage) -> None:
    for name in ("one", "two", "three"):
        stage.store.write_bytes(f"{stage.place(key(name))}/windows.parquet", name.encode())
        stage.finish(key(name), Named(name=name))
    assert stage.done(key("one")) is None
    assert [stage.done(key(n), Named) for n in ("two", "three")] == [
        Named(name=n, key=key(n)) for n in ("two", "three")
    ]
    stage.point(key("two"))
    assert stage.current(Named) == Named(name="two", key=key("two"))
    assert stage.done(key("three")) is not None


def test_finishing_the_same_key_again_retains_the_previous_one(stage: Stage) -> None:
    for name in ("one", "two", "two"):
        stage.finish(key(name), Named(name=name))
    assert stage.done(key("one")) is not None
