"""Published and pulled releases with damaged files: the damage is reported and the files are downloaded again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.hub.address import parse_reference, parse_target
from readbench_data.hub.folder import publish_folder
from readbench_data.hub.pulling import fetch_for_diff, pull, pulled_folder
from readbench_data.hub.stores import target_errors
from readbench_data.store.store import Store
from tests.support import s3
from tests.support.built import VERSION, Built, readbench, tree
from tests.support.hub.releases import tiny

FILE = "data/pump/queries.parquet"


def test_a_damaged_target_is_not_reported_as_unchanged(target: Store, tmp_path: Path) -> None:
    tiny(tmp_path / "release", "0.1.0", changed=False)
    publish_folder(target, tmp_path / "release", "0.1.0")
    where = parse_target(target.root), "0.1.0", tmp_path / "cache", target.options.get("endpoint_url")
    advice = r"remove .*/0\.1\.0 and publish the same release there again"
    target.write_bytes(f"0.1.0/{FILE}", b"short")
    with pytest.raises(ReadbenchError, match=rf"@0\.1\.0 is damaged: {FILE} has another size: {advice}"):
        publish_folder(target, tmp_path / "release", "0.1.0")
    target.remove(f"0.1.0/{FILE}")
    target.write_bytes("0.1.0/README.md", b"short")
    for act in (lambda: publish_folder(target, tmp_path / "release", "0.1.0"), lambda: pull(*where)):
        with pytest.raises(ReadbenchError, match=rf"@0\.1\.0 is damaged: {FILE} is missing \(1 more\): {advice}"):
            act()
    target.remove("0.1.0")
    assert publish_folder(target, tmp_path / "release", "0.1.0") is False
    assert (fetch_for_diff(*where) / FILE).is_file()


def test_a_missing_file_is_not_reported_as_a_permission_problem(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    with pytest.raises(ReadbenchError, match="a file there is missing"), target_errors(store, "fetching"):
        store.read_bytes("none")


def test_a_damaged_pulled_release_is_repaired(lite: Built, endpoint: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(lite.data / "release", data / "release")
    for to, words in ((str(tmp_path / "out"), ()), (f"{s3.bucket(endpoint)}/rb", ("--endpoint", endpoint))):
        assert readbench("publish", VERSION, "--to", to, "--data", data, *words).code == 0
        command = ("pull", f"{to}@{VERSION}", "--data", data, *words)
        kept = Path(readbench(*command).out.strip())
        whole = tree(kept)
        victims = sorted(p for p in kept.glob("data/*/*.parquet"))
        victims[0].unlink()
        victims[1].write_bytes(victims[1].read_bytes()[:-5])
        flipped = bytearray(victims[2].read_bytes())
        flipped[len(flipped) // 2] ^= 1
        victims[2].write_bytes(flipped)
        (kept / "data" / "stray.parquet").write_bytes(b"not listed")
        untouched = victims[3].stat().st_ino
        again = readbench(*command)
        assert (again.code, again.out.strip()) == (0, str(kept)), again.err
        assert tree(kept) == whole
        assert victims[3].stat().st_ino == untouched, "an intact file is not downloaded again"
        (kept / "manifest.json").write_text("{")
        assert readbench(*command).code == 0
        assert tree(kept) == whole


def test_a_pulled_release_is_stored_per_endpoint(lite: Built, endpoint: str, tmp_path: Path) -> None:
    data, to = tmp_path / "data", f"{s3.bucket(endpoint)}/rb"
    shutil.copytree(lite.data / "release", data / "release")
    assert readbench("publish", VERSION, "--to", to, "--data", data, "--endpoint", endpoint).code == 0
    target, tag = parse_reference(f"{to}@{VERSION}")
    kept = pull(target, tag, data / "cache", endpoint)
    assert kept == pulled_folder(data / "cache", target, tag, endpoint)
    places = {pulled_folder(data, target, tag, e) for e in (None, endpoint, "http://127.0.0.1:9")}
    assert len(places) == 3
    with pytest.raises(ReadbenchError, match="fetching failed"):
        pull(target, tag, data / "cache", "http://127.0.0.1:9")
    assert pull(target, tag, data / "cache") == kept, "commands without --endpoint use the release that was pulled"
