"""Folders and an S3 service as targets: versioned alike, complete or not visible, and final."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub.address import parse_reference, parse_target, require_endpoint
from readbench_data.hub.folder import publish_folder, tags
from readbench_data.hub.pulling import fetch_for_diff, pull
from readbench_data.hub.stores import open_target, target_errors
from readbench_data.store.store import Store
from tests.support import s3
from tests.support.built import VERSION, Built, readbench, tree
from tests.support.hub.releases import tiny


@pytest.fixture
def old(tmp_path: Path) -> Path:
    tiny(tmp_path / "old", "0.1.0", changed=False)
    return tmp_path / "old"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    tiny(tmp_path / "new", "1.0.0", changed=True)
    return tmp_path / "new"


def content(store: Store, tag: str) -> dict[str, bytes]:
    return {path.removeprefix(f"{tag}/"): store.read_bytes(path) for path in store.files(tag)}


def expected(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_versions_are_stored_side_by_side_and_republishing_does_nothing(target: Store, old: Path, new: Path) -> None:
    assert publish_folder(target, old, "0.1.0") is False
    assert publish_folder(target, new, "1.0.0", "0.1.0") is False
    assert tags(target) == ["0.1.0", "1.0.0"]
    assert content(target, "0.1.0") == expected(old)
    assert content(target, "1.0.0") == expected(new)
    assert publish_folder(target, new, "1.0.0", "0.1.0") is True
    with pytest.raises(ReadbenchError, match="published with other content"):
        publish_folder(target, old, "1.0.0")
    assert content(target, "1.0.0") == expected(new)


class Stopped(Exception):
    """Stops a copy."""


@pytest.mark.parametrize("after", range(7))
def test_a_copy_stopped_anywhere_is_not_a_version_and_is_resumed(
    target: Store, old: Path, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from readbench_data.hub import folder

    sent: list[str] = []
    send = folder._send

    def stop(source: Path, store: Store, path: str) -> None:
        if len(sent) == after:
            raise Stopped
        sent.append(path)
        send(source, store, path)

    monkeypatch.setattr(folder, "_send", stop)
    with pytest.raises(Stopped):
        publish_folder(target, old, "0.1.0")
    assert tags(target) == []
    monkeypatch.setattr(folder, "_send", lambda *words: (sent.append(words[2]), send(*words)))
    sent.clear()
    assert publish_folder(target, old, "0.1.0") is False
    assert content(target, "0.1.0") == expected(old)
    assert len(sent) == len(expected(old)) - 1 - after, "files that were already there are not sent again"


def test_killed_at_every_step_of_a_copy_to_a_disk(old: Path, tmp_path: Path) -> None:
    killed, whole = 0, 0
    for at in range(100):
        target = Store(str(tmp_path / "out" / str(at)))
        child = os.fork()
        if child == 0:
            try:
                _die_at(at)
                publish_folder(target, old, "0.1.0")
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        there = tags(target)
        assert there in ([], ["0.1.0"])
        assert not there or content(target, "0.1.0") == expected(old)
        assert publish_folder(target, old, "0.1.0") is bool(there)
        assert content(target, "0.1.0") == expected(old)
        assert target.names("") == ["0.1.0"], "nothing is left of the killed run"
        if not os.WIFSIGNALED(status):
            break
        killed, whole = killed + 1, whole + bool(there)
    assert killed >= 2 * len(expected(old))
    assert whole == 1, "after the last rename the version is there"


def _die_at(step: int) -> None:
    """Kill this process before (even) or after (odd) its n-th rename of a file or folder."""
    seen = 0

    def watched(move: Callable[..., None]) -> Callable[..., None]:
        def moved(*names: object) -> None:
            nonlocal seen
            for act in (lambda: move(*names), lambda: None):
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen += 1
                act()

        return moved

    os.replace, os.rename = watched(os.replace), watched(os.rename)  # type: ignore[assignment]


def test_a_partial_file_of_a_killed_run_is_not_published(old: Path, tmp_path: Path) -> None:
    staging = tmp_path / "out" / ".publishing-0.1.0"
    staging.mkdir(parents=True)
    (staging / "README.md.1234.part").write_bytes(b"half")
    (staging / "composition.json").write_bytes(b"other bytes")
    (staging / "data" / "mill").mkdir(parents=True)
    (staging / "data" / "mill" / "queries.parquet").write_bytes(b"of another content")
    target = Store(str(tmp_path / "out"))
    publish_folder(target, old, "0.1.0")
    assert content(target, "0.1.0") == expected(old)
    assert not (tmp_path / "out" / "0.1.0" / "data" / "mill").exists(), "nor an empty folder of it"
    assert target.names("") == ["0.1.0"]


def test_a_folder_with_the_name_of_a_version_that_is_not_a_release_is_left_alone(old: Path, tmp_path: Path) -> None:
    other = tmp_path / "out" / "0.1.0" / "thesis.tex"
    other.parent.mkdir(parents=True)
    other.write_text("mine")
    with pytest.raises(ReadbenchError, match="already exists and is not a release: remove it, or choose another"):
        publish_folder(Store(str(tmp_path / "out")), old, "0.1.0")
    assert expected(tmp_path / "out" / "0.1.0") == {"thesis.tex": b"mine"}


def test_of_two_concurrent_publishers_one_wins_and_the_other_is_refused(target: Store, old: Path, new: Path) -> None:
    from readbench_data.hub import folder

    send = folder._send
    ran: list[str] = []

    def meanwhile(source: Path, store: Store, path: str) -> None:
        if not ran:
            ran.append("rival")
            publish_folder(target, new, "1.0.0")
        send(source, store, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "_send", meanwhile)
        with pytest.raises(ReadbenchError, match="published with other content"):
            publish_folder(target, old, "1.0.0")
    if not target.is_local:  # there the first publisher holds the claim, and the concurrent one was refused
        assert publish_folder(target, old, "1.0.0") is False
    assert content(target, "1.0.0") == expected(new if target.is_local else old)
    assert target.names("") == ["1.0.0"]


def test_on_a_store_an_unchanged_file_is_copied_within_it(
    endpoint: str, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from readbench_data.hub import folder

    store = Store(f"{s3.bucket(endpoint)}/readbench", {"endpoint_url": endpoint})
    publish_folder(store, old, "0.1.0")
    sent: list[str] = []
    send = folder._send
    monkeypatch.setattr(folder, "_send", lambda *words: (sent.append(words[2]), send(*words)))
    publish_folder(store, new, "1.0.0", "0.1.0")
    assert sent == ["1.0.0/README.md", "1.0.0/composition.json", "1.0.0/data/pump/queries.parquet"]
    assert content(store, "1.0.0") == expected(new)


def test_the_command_on_a_folder_and_on_s3(lite: Built, tmp_path: Path, endpoint: str) -> None:
    data = tmp_path / "data"
    shutil.copytree(lite.data / "release", data / "release")
    for to, words in ((str(tmp_path / "out"), ()), (f"{s3.bucket(endpoint)}/rb", ("--endpoint", endpoint))):
        ran = readbench("publish", VERSION, "--to", to, "--data", data, *words)
        assert ran.code == 0, ran.err
        assert ran.out == f"published {to}@{VERSION}\n"
        pulled = readbench("pull", f"{to}@{VERSION}", "--data", data, *words)
        assert pulled.code == 0, pulled.err
        assert readbench("verify", pulled.out.strip()).code == 0
        assert "nothing was done" in readbench("publish", VERSION, "--to", to, "--data", data, *words).out
    kept = json.loads((data / "published" / "receipts.json").read_text())[VERSION]
    assert kept["target"] == f"{tmp_path / 'out'}@{VERSION}"
    assert len(kept["also"]) == 1
    assert tree(tmp_path / "out" / VERSION) == tree(Path(pulled.out.strip()))


def test_a_manifest_that_points_outside_is_refused(old: Path, tmp_path: Path) -> None:
    manifest = json.loads((old / "manifest.json").read_text())
    manifest["files"]["../../outside.txt"] = manifest["files"]["README.md"]
    place = tmp_path / "out" / "0.1.0"
    shutil.copytree(old, place)
    (place / "manifest.json").write_text(json.dumps(manifest))
    target, tag = parse_reference(f"{tmp_path / 'out'}@0.1.0")
    with pytest.raises(ReadbenchError, match="lists a file outside the release"):
        pull(target, tag, tmp_path / "cache")
    with pytest.raises(ReadbenchError, match="there is no version 9"):
        pull(parse_target(str(tmp_path / "out")), "9.0.0", tmp_path / "cache")


def test_the_pool_is_not_fetched_for_a_comparison(target: Store, old: Path, tmp_path: Path) -> None:
    pool = "data/plant/pool/part-000.parquet"
    manifest = json.loads((old / "manifest.json").read_text())
    (old / "data/plant/pool").mkdir()
    shutil.copy(old / "data/plant/queries.parquet", old / pool)
    manifest["files"][pool] = manifest["files"]["data/plant/queries.parquet"]
    (old / "manifest.json").write_text(json.dumps(manifest))
    publish_folder(target, old, "0.1.0")
    place = fetch_for_diff(parse_target(target.root), "0.1.0", tmp_path / "cache", target.options.get("endpoint_url"))
    names = {p.relative_to(place).as_posix() for p in place.rglob("*") if p.is_file()}
    assert names == expected(old).keys() - {pool}
    target.remove("0.1.0")
    again = fetch_for_diff(parse_target(target.root), "0.1.0", tmp_path / "cache", target.options.get("endpoint_url"))
    assert again == place, "it is fetched only once"


def test_invalid_addresses(tmp_path: Path, endpoint: str) -> None:
    for text in ("", "  "):
        with pytest.raises(UsageError, match="the target is empty"):
            parse_target(text)
    with pytest.raises(UsageError, match="foo:// addresses are not supported"):
        open_target(parse_target("foo://bucket/x"))
    with pytest.raises(UsageError, match="'main' is the name of a branch"):
        parse_reference("me/readbench@main")
    for text in ("localhost", "ftp://x", "http://", "http://a b"):
        with pytest.raises(UsageError, match="is not an address"):
            require_endpoint(text)
    require_endpoint("http://127.0.0.1:9000")
    with pytest.raises(ReadbenchError, match=r"there is no version 0.1.0"):
        pull(*parse_reference(f"{s3.bucket(endpoint)}/none@0.1.0"), tmp_path, endpoint)


def test_an_error_of_the_target_is_one_line(tmp_path: Path, old: Path, endpoint: str) -> None:
    absent = Store("s3://no-such-bucket-here/x", {"endpoint_url": endpoint})
    message = r"no-such-bucket-here/x: publishing failed \(.*bucket does not exist\): .*credentials"
    with pytest.raises(ReadbenchError, match=message), target_errors(absent, "publishing"):
        publish_folder(absent, old, "0.1.0")
    assert not absent.fs.exists("no-such-bucket-here"), "no bucket is made for a mistyped address"
    (tmp_path / "file").write_text("no folder")
    under = Store(str(tmp_path / "file" / "out"))
    message = r"file/out: publishing failed .*: choose another folder"
    with pytest.raises(ReadbenchError, match=message), target_errors(under, "publishing"):
        publish_folder(under, old, "0.1.0")
    for error in (KeyError("a bug"), TypeError("a bug")):
        with pytest.raises(type(error)), target_errors(under, "publishing"):
            raise error
    with pytest.raises(ReadbenchError, match=r"it is read only"), target_errors(under, "publishing"):
        raise NotImplementedError
    with pytest.raises(ReadbenchError, match=r"free some space"), target_errors(under, "publishing"):
        raise OSError(28, "No space left on device")
