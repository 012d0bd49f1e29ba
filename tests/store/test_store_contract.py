"""The contract between store, lanes and release, on a folder and on an object store: the same bytes in both, the record
of a stage and the manifest of a release written last, and no rename on an object store.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from readbench_data import lane as stages
from readbench_data.dataset.config import LITE
from readbench_data.errors import ReadbenchError
from readbench_data.lane import stage_benchmark
from readbench_data.release.build import releases
from readbench_data.release.local import publish_local
from readbench_data.release.verify import verify_release
from readbench_data.store.store import Store, remove_leftovers
from tests.support import built

NAME = "ctsr"
RELEASE = f"release/{built.VERSION}"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(params=["folder", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "data")
        return
    root = f"memory://{uuid.uuid4().hex}/data"
    yield root
    store = Store(root)
    store.fs.rm(store.url(), recursive=True)


def make(root: str, cache: Path) -> Store:
    """Build a lane, its release and its local publication, and return the store."""
    built.run_lane(built.lane(NAME, root, cache=cache))
    built.gather(root)
    store = Store(root)
    publish_local(store, built.VERSION)
    return store


def test_a_folder_and_an_object_store_contain_the_same_bytes(tmp_path: Path, cache: Path) -> None:
    here = make(str(tmp_path / "data"), cache)
    there = make(f"memory://{uuid.uuid4().hex}/data", cache)
    names = here.files("")
    assert there.files("") == names
    assert [n for n in names if n.startswith(RELEASE)]
    for name in names:
        assert there.read_bytes(name) == here.read_bytes(name), name


def test_a_release_in_any_store_verifies_and_is_listed(root: str, cache: Path) -> None:
    store = make(root, cache)
    assert releases(store) == [built.VERSION]
    for folder in (RELEASE, f"published/{built.VERSION}"):
        assert verify_release(Store(f"{root}/{folder}")).problems == []
    assert verify_release(Store(f"{root}/{RELEASE}")).version == built.VERSION


def test_an_unchanged_lane_is_reused_in_any_store(root: str, cache: Path) -> None:
    first = built.run_lane(built.lane(NAME, root, cache=cache))
    assert first.reused is False
    again = built.run_lane(built.lane(NAME, root, cache=cache))
    assert again.reused is True
    assert again.changed(reused=False) == first


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths in the order in which they were written."""
    names: list[str] = []
    write = Store.open_write

    def noted(store: Store, path: str) -> object:
        names.append(path)
        return write(store, path)

    monkeypatch.setattr(Store, "open_write", noted)
    return names


def test_the_record_of_a_stage_is_written_last(root: str, cache: Path, written: list[str]) -> None:
    made = built.lane(NAME, root, cache=cache)
    for stage in stages.STAGES:
        written.clear()
        getattr(stages, stage)(made)
        assert [n.rsplit("/", 1)[-1] for n in written[-2:]] == ["done.json", "current.json"]
        assert sum(n.endswith("done.json") for n in written) == 1


def test_the_manifest_of_a_release_is_written_last(root: str, cache: Path, written: list[str]) -> None:
    built.run_lane(built.lane(NAME, root, cache=cache))
    written.clear()
    manifest = built.gather(root)
    assert written[-1].endswith("/manifest.json")
    assert len(written) == len(set(written)) == len(manifest.files) + 1
    written.clear()
    publish_local(Store(root), built.VERSION)
    assert written[-1].endswith("/manifest.json")


def test_on_an_object_store_nothing_is_renamed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*names: object, **_: object) -> None:
        raise AssertionError(f"renamed {names}")

    root = f"memory://{uuid.uuid4().hex}/data"
    built.lane(NAME, root, cache=cache)  # the local cache may rename
    for module, names in ((os, ("rename", "replace")), (MemoryFileSystem, ("mv", "rename", "move"))):
        for name in names:
            monkeypatch.setattr(module, name, never, raising=False)
    made = built.lane(NAME, root, cache=cache)
    monkeypatch.setattr(made.files, "checksum_cache", None)
    built.run_lane(made)
    built.gather(root)
    publish_local(Store(root), built.VERSION)
    assert verify_release(Store(f"{root}/{RELEASE}")).ok


def test_a_failed_stage_leaves_the_previous_result_current(
    root: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = built.run_lane(built.lane(NAME, root, cache=cache))
    write = stage_benchmark.write_table

    def broken(*_: object) -> None:
        raise OSError("the connection was lost")

    other = built.lane(NAME, root, cache=cache, config=LITE.model_copy(update={"seed": 7}))
    monkeypatch.setattr(stage_benchmark, "write_table", broken)
    with pytest.raises(OSError, match="was lost"):
        stages.benchmark(other)
    current = other.stage("benchmark").current()
    assert current is not None
    assert current.key == before.key
    monkeypatch.setattr(stage_benchmark, "write_table", write)
    assert stages.benchmark(other).reused is False
    assert stages.benchmark(other).reused is True


def test_a_gate_that_raises_promotes_nothing(root: str, cache: Path) -> None:
    from readbench_data.release.build import build_release

    made = built.lane(NAME, root, cache=cache)
    stages.raw(made)

    def refuse(*_: object) -> list[dict[str, object]]:
        raise ReadbenchError("no")

    with pytest.raises(ReadbenchError, match="no"):
        stages.recordings(made, refuse)
    assert made.stage("recordings").current() is None
    built.run_lane(made)
    import sources

    with pytest.raises(ReadbenchError, match="no"):
        build_release(Store(root), sources.all_sources(), built.VERSION, LITE, "code", refuse)  # type: ignore[arg-type]
    assert releases(Store(root)) == []


def test_only_the_temporary_files_of_killed_runs_are_removed(tmp_path: Path, cache: Path) -> None:
    data = tmp_path / "data"
    store = make(str(data), cache)
    before = built.tree(data)
    left = [
        "lanes/ctsr/status.json.12345678.part",
        "lanes/ctsr/benchmark/abc.part",
        "release/.building-1.0.0/manifest.json",
        "release/.replaced-12345678/README.md",
        "published/.publishing-12345678/data/x.parquet",
        "evaluation/scores.12.tmp",
    ]
    for name in left:
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("half")
    remove_leftovers(store)
    assert built.tree(data) == before
    assert built.leftovers(data) == []
