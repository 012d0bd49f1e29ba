"""On an object store, a publisher holds a claim to its version, and no file of a stopped run stays public."""

from __future__ import annotations

from pathlib import Path

import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.hub import folder
from readbench_data.hub.claims import claim, claim_path
from readbench_data.hub.folder import publish_folder, tags
from readbench_data.store.store import Store
from tests.support import s3
from tests.support.hub.releases import tiny

V = "1.0.0"


@pytest.fixture
def target(endpoint: str) -> Store:
    return Store(f"{s3.bucket(endpoint)}/readbench", {"endpoint_url": endpoint})


@pytest.fixture
def elsewhere(target: Store) -> Store:
    """The same target as seen by another process: without this process's cached listings."""
    return Store(target.root, {**target.options, "use_listings_cache": False})


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    tiny(tmp_path / "ours", V, changed=False)
    return tmp_path / "ours"


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    tiny(tmp_path / "theirs", V, changed=True)
    return tmp_path / "theirs"


def content(store: Store) -> dict[str, bytes]:
    return {path.removeprefix(f"{V}/"): store.read_bytes(path) for path in store.files(V)}


def expected(release: Path) -> dict[str, bytes]:
    return {p.relative_to(release).as_posix(): p.read_bytes() for p in release.rglob("*") if p.is_file()}


def test_a_slow_run_does_not_touch_a_version_that_a_concurrent_run_has_completed(
    target: Store, elsewhere: Store, ours: Path, theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(store: Store, tag: str, hashed: str) -> None:
        publish_folder(elsewhere, theirs, V)  # from its first file to its last; its claim is removed again
        assert elsewhere.names("") == [V]
        claim(store, tag, hashed)

    monkeypatch.setattr(folder, "claim", lambda *words: (monkeypatch.undo(), late(*words)))
    with pytest.raises(ReadbenchError, match="is published with other content"):
        publish_folder(target, ours, V)
    assert content(elsewhere) == expected(theirs)
    assert elsewhere.names("") == [V], "the slow run leaves no claim"


@pytest.mark.parametrize("freed", [False, True])
def test_a_concurrent_run_is_refused_before_its_first_file(
    target: Store, elsewhere: Store, ours: Path, theirs: Path, freed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``freed``: somebody removes the claim of a running publisher, which then stops before its next file."""
    send, before = folder._send, {}

    def meanwhile(source: Path, store: Store, path: str) -> None:
        monkeypatch.setattr(folder, "_send", send)
        send(source, store, path)
        before.update(content(elsewhere))
        with pytest.raises(ReadbenchError, match=r"is being published with other content \(since 20.*remove s3://"):
            publish_folder(elsewhere, theirs, V)
        assert content(elsewhere) == before, "the concurrent run has written nothing"
        if freed:
            elsewhere.remove(claim_path(V))
            publish_folder(elsewhere, theirs, V)

    monkeypatch.setattr(folder, "_send", meanwhile)
    if freed:
        with pytest.raises(ReadbenchError, match="is published with other content"):
            publish_folder(target, ours, V)
    else:
        publish_folder(target, ours, V)
    assert len(before) == 1
    assert content(elsewhere) == expected(theirs if freed else ours)
    assert elsewhere.names("") == [V]


class Stopped(Exception):
    """Stops a copy."""


def stopped(target: Store, release: Path, at: str) -> None:
    def send(source: Path, store: Store, path: str) -> None:
        if at in path:
            raise Stopped
        whole(source, store, path)

    whole = folder._send
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "_send", send)
        with pytest.raises(Stopped):
            publish_folder(target, release, V)


def test_a_stopped_run_is_resumed_or_abandoned_and_leaves_no_files(
    target: Store, elsewhere: Store, ours: Path, theirs: Path
) -> None:
    stopped(target, ours, "data/pump/queries")
    left = content(elsewhere)
    assert "data/pump/corpus-normals-10.parquet" in left, "a file that the other content does not list"
    with pytest.raises(ReadbenchError, match="if it was stopped and will not be resumed, remove"):
        publish_folder(elsewhere, theirs, V)
    assert content(elsewhere) == left
    assert tags(elsewhere) == []
    elsewhere.remove(claim_path(V))
    publish_folder(elsewhere, theirs, V)
    assert content(elsewhere) == expected(theirs), "no file of the stopped run is left"


def test_a_file_that_is_not_part_of_a_release_is_not_removed(target: Store, ours: Path) -> None:
    target.write_bytes(f"{V}/thesis.tex", b"mine")
    with pytest.raises(ReadbenchError, match=r"1.0.0/thesis.tex already exists and is not a file of a release"):
        publish_folder(target, ours, V)
    assert content(target) == {"thesis.tex": b"mine"}
    target.remove(f"{V}/thesis.tex")
    publish_folder(target, ours, V)
    assert content(target) == expected(ours)


def test_a_store_without_conditional_writes(target: Store, ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pipe_file(*words: object, **named: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(target.fs, "pipe_file", pipe_file)
    claim(target, V, "one")
    claim(target, V, "one")
    with pytest.raises(ReadbenchError, match="is being published with other content"):
        claim(target, V, "another")
    target.remove(claim_path(V))
    publish_folder(target, ours, V)
    assert content(target) == expected(ours)
