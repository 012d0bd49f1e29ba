"""``readbench build``: wrong usage, reuse, and missing data, disk space or permission."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.built import THREE, VERSION, Built, datasets, leftovers, readbench, small_disk, tree


def manifest(data: Path, version: str = VERSION) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((data / "release" / version / "manifest.json").read_text())
    return found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dataset", "nonsense"], "no dataset 'nonsense'; there are petrobras_3w, "),
        (["--set", "nonsense=1"], "no setting 'nonsense'; there are "),
        (["--set", "mit_bih.nonsense=1"], "no setting mit_bih.nonsense; mit_bih has "),
        (["--set", "nonsense.stride=1"], "no dataset 'nonsense' to set 'stride' on"),
        (["--set", "corpus_cap"], "'corpus_cap' is not NAME=VALUE"),
        (["--set", "corpus_cap=0"], "corpus_cap = 0: it takes a whole number from 1 to 1000000000"),
        (["--set", "corpus_cap=many"], 'corpus_cap = "many": it takes a whole number'),
        (["--set", "coverage=2"], "coverage = 2: it takes a number from 0 to 1"),
        (["--set", "mit_bih.stride=-3"], "mit_bih.stride = -3: it takes a whole number from 1 to 1000000000"),
        (["--set", "pollution=[0, 50]"], "pollution = [0, 50]: it takes [0, 10, 20]"),
        (["--seed", "-1"], "seed = -1: it takes a whole number from 0 to 4294967295"),
        (["--version", "a/b"], "--version 'a/b': give a name such as 0.2.0"),
        (["--version", ".hidden"], "--version '.hidden': give a name such as 0.2.0"),
        (["--version", ""], "--version '': give a name such as 0.2.0"),
        (["--origin", "mirror"], "--origin mirror needs --mirror DIR_OR_URL"),
        (["--config", "no-such.toml"], "no-such.toml: cannot be read (No such file or directory)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_is_one_line_and_touches_nothing(tmp_path: Path, words: list[str], message: str) -> None:
    ran = readbench("build", "--data", tmp_path / "data", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.error
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("corpus_cap = = 3", "not TOML (Invalid value (at line 1, column 14))"),
        ("corpus_kap = 3", "no setting 'corpus_kap'"),
        ("[mit_bih]\nstrid = 3", "no setting mit_bih.strid; mit_bih has "),
        ("[nonsense]\nstride = 3", "no dataset 'nonsense'"),
        ("corpus_cap = '3'", 'corpus_cap = "3": it takes a whole number'),
    ],
)
def test_a_bad_settings_file_is_wrong_usage(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    ran = readbench("build", "--data", tmp_path / "data", "--config", file)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.error
    assert not (tmp_path / "data").exists()


def test_a_binary_settings_file_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"\xff\xfe\x00")
    ran = readbench("build", "--data", tmp_path / "data", "--config", file)
    assert (ran.code, ran.out) == (2, "")
    assert str(file) in ran.error


@pytest.mark.parametrize("kind", ["absent", "a file"])
def test_a_missing_mirror_fails_at_once(tmp_path: Path, kind: str) -> None:
    if kind == "a file":
        (tmp_path / "mirror").write_text("x")
    ran = readbench("build", "--data", tmp_path / "data", "--mirror", tmp_path / "mirror")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith(f"readbench: the mirror {tmp_path / 'mirror'} does not exist or is not a folder")
    assert not (tmp_path / "data").exists()


def test_a_mirror_with_some_datasets_is_a_build_with_warnings(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "mit_bih").mkdir()
    shutil.copytree(mirror / "ctsr", tmp_path / "mirror" / "ctsr")
    words = ["--mirror", tmp_path / "mirror", "--version", "1.2.3", *datasets(THREE)]
    ran = readbench("build", "--data", tmp_path / "data", *words)
    assert ran.code == 0, ran.err
    assert sorted(ran.err.splitlines()) == [
        "warning: mit_bih: no_data: the folder mit_bih in the mirror is empty",
        "warning: petrobras_3w: no_data: the mirror has no folder petrobras_3w",
    ]
    found = manifest(tmp_path / "data", "1.2.3")["datasets"]
    assert {n: d["status"] for n, d in found.items() if d["status"] != "not_selected"} == {  # type: ignore[index]
        "ctsr": "ok",
        "mit_bih": "no_data",
        "petrobras_3w": "no_data",
    }
    assert found["mit_bih"]["reason"] == "the folder mit_bih in the mirror is empty"  # type: ignore[index]
    assert found["ctsr"]["origin"] == "mirror"  # type: ignore[index]
    assert (tmp_path / "data" / "release" / "1.2.3" / "README.md").read_text().count(": no data**") == 2
    assert readbench("verify", tmp_path / "data" / "release" / "1.2.3").code == 0
    shown = readbench("composition", "--data", tmp_path / "data")
    assert "petrobras_3w: no_data: the mirror has no folder petrobras_3w" in shown.out


def test_a_mirror_with_none_of_the_datasets_gives_no_release(tmp_path: Path) -> None:
    (tmp_path / "mirror").mkdir()
    ran = readbench("build", "--data", tmp_path / "data", "--mirror", tmp_path / "mirror", *datasets(THREE))
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith("readbench: none of the selected datasets has data (mit_bih: the mirror has no folder")
    assert not (tmp_path / "data" / "release").exists()


def test_keep_going_records_a_failed_dataset_and_continues(mirror: Path, tmp_path: Path) -> None:
    shutil.copytree(mirror / "ctsr", tmp_path / "mirror" / "ctsr")
    shutil.copytree(mirror / "mit_bih", tmp_path / "mirror" / "mit_bih")
    spoilt = sorted((tmp_path / "mirror" / "mit_bih").rglob("*.dat"))[0]
    spoilt.write_bytes(spoilt.read_bytes()[:-30])
    words = ["--mirror", tmp_path / "mirror", "--no-checksums", *datasets(("mit_bih", "ctsr"))]
    stopped = readbench("build", "--data", tmp_path / "data", *words)
    assert stopped.code == 1
    assert str(spoilt) in stopped.error
    assert not (tmp_path / "data" / "release").exists()
    ran = readbench("build", "--data", tmp_path / "data", "--version", "1.2.3", "--keep-going", *words)
    assert ran.code == 0, ran.err
    assert ran.error.startswith(f"warning: mit_bih: failed: {spoilt}, sample ")
    found = manifest(tmp_path / "data", "1.2.3")["datasets"]
    assert found["mit_bih"]["status"] == "failed"  # type: ignore[index]
    assert str(spoilt) in found["mit_bih"]["reason"]  # type: ignore[index]
    assert found["ctsr"]["status"] == "ok"  # type: ignore[index]
    assert not (tmp_path / "data" / "release" / "1.2.3" / "data" / "mit_bih").exists()


def test_other_lanes_are_reused_and_a_dataset_that_was_never_built_is_not_selected(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "lanes", "cache", "evaluation")
    shutil.rmtree(data / "lanes" / "petrobras_3w")
    kept = {p: p.stat().st_mtime_ns for p in (data / "lanes" / "mit_bih").rglob("*") if p.is_file()}
    ran = readbench("build", "--data", data, "--version", VERSION, "--dataset", "ctsr")
    assert ran.code == 0, ran.err
    found = manifest(data)["datasets"]
    assert found["mit_bih"]["status"] == found["ctsr"]["status"] == "ok"  # type: ignore[index]
    assert found["petrobras_3w"]["status"] == "not_selected"  # type: ignore[index]
    assert {p: p.stat().st_mtime_ns for p in kept} == kept
    for name in ("mit_bih", "ctsr"):
        assert tree(data / "release" / VERSION / "data" / name) == tree(lite.release / "data" / name)
    assert re.search(r"^not selected: petrobras_3w, tennessee_eastman, ", ran.out, re.MULTILINE)
    shown = readbench("composition", "--data", data).out
    assert state_of(shown, "mit_bih") == "miniature"
    assert re.search(r"^not selected: petrobras_3w, tennessee_eastman, ", shown, re.MULTILINE)
    assert not re.search(r"^petrobras_3w ", shown, re.MULTILINE)


def test_lanes_of_other_settings_or_of_miniatures_are_not_mixed_into_a_release(
    lite: Built, mirror: Path, tmp_path: Path
) -> None:
    """A release has one configuration, and a build from a mirror never falls back to miniatures."""
    data = lite.copy(tmp_path / "data", "lanes", "cache", "evaluation")
    ran = readbench("build", "--data", data, "--version", VERSION, "--dataset", "ctsr", "--seed", "7")
    assert ran.code == 0, ran.err
    found = manifest(data)["datasets"]
    assert found["ctsr"]["status"] == "ok"  # type: ignore[index]
    for name in ("mit_bih", "petrobras_3w"):
        assert found[name]["status"] == "not_selected"  # type: ignore[index]
        reason = f"it was built with other settings: name it as well, with --dataset {name}"
        assert f"warning: {name}: not_selected: {reason}" in ran.err
        assert found[name]["reason"] is None, "the state of the data root is not recorded in the release"  # type: ignore[index]
    again = readbench("verify", data / "release" / VERSION, "--rebuild")
    assert again.code == 0, again.err
    words = ["--mirror", mirror, "--profile", "lite", "--version", VERSION, "--dataset", "ctsr"]
    ran = readbench("build", "--data", data, *words)
    assert ran.code == 0, ran.err
    assert "warning: mit_bih: not_selected: it was built from miniatures: name it as well" in ran.err
    assert manifest(data)["datasets"]["ctsr"]["origin"] == "mirror"  # type: ignore[index]
    assert manifest(data)["datasets"]["mit_bih"]["status"] == "not_selected"  # type: ignore[index]


def state_of(table: str, name: str) -> str:
    return next(line for line in table.splitlines() if line.startswith(f"{name} ")).split()[1]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder that this process can read but not write; root becomes an ordinary user, because modes do not restrict
    root."""
    folder = Path(tempfile.mkdtemp(prefix="readbench-read-only-"))
    home = os.environ["READBENCH_HOME"]
    Path(home).mkdir(parents=True, exist_ok=True)
    folder.chmod(0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_read_only_data_root_is_one_clear_line(lite: Built, unprivileged: Path) -> None:
    for data in (unprivileged, unprivileged / "below"):
        ran = readbench("build", "--data", data, "--dataset", "ctsr")
        assert (ran.code, ran.out) == (1, "")
        assert str(data) in ran.error
        assert "permission denied: choose another --data folder" in ran.error
    assert list(unprivileged.iterdir()) == []


def test_a_full_disk_is_one_clear_line_and_the_next_run_resumes(lite: Built, tmp_path: Path) -> None:
    """A real file system with 40 kB free, too little for the recordings."""
    with small_disk(tmp_path / "disk", 16_000) as disk:
        miniatures = "cache/miniatures/ctsr"
        shutil.copytree(lite.data / miniatures, disk / "data" / miniatures)
        filler = disk / "filler"
        filler.write_bytes(b"x" * (shutil.disk_usage(disk).free - 40_000))
        words = ["build", "--data", disk / "data", "--version", VERSION, "--dataset", "ctsr"]
        ran = readbench(*words)
        assert (ran.code, ran.out) == (1, "")
        assert "no space left on" in ran.error
        assert "run the same command again" in ran.error
        assert not (disk / "data" / "release").exists()
        assert leftovers(disk / "data") == []
        filler.unlink()
        assert readbench(*words).code == 0
        assert tree(disk / "data" / "release" / VERSION / "data") == {
            name.removeprefix("data/"): sha for name, sha in tree(lite.release).items() if name.startswith("data/ctsr/")
        }


@pytest.mark.parametrize("after", [0, 1, 5, 9, 13])
def test_a_write_that_fails_on_a_full_disk_leaves_the_earlier_release(
    lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    data = lite.copy(tmp_path / "data", "lanes", "cache", "release", "published", "leaderboard")
    before = {part: tree(data / part / VERSION) for part in ("release", "published")}
    sync, done = os.fsync, [0]

    def full(handle: int) -> None:
        if str(data) in os.readlink(f"/proc/self/fd/{handle}"):
            done[0] += 1
            if done[0] > after:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    words = ["--version", VERSION, "--dataset", "ctsr", "--seed", "7", "--allow-fewer", "all"]
    ran = readbench("build", "--data", data, *words)
    monkeypatch.setattr(os, "fsync", sync)
    assert (ran.code, ran.out) == (1, "")
    assert f"readbench: {data}" in ran.error
    assert "no space left on the device: free some and run the same command again" in ran.error
    assert {part: tree(data / part / VERSION) for part in before} == before
    assert [x for x in leftovers(data) if not x.startswith("release/.building-")] == []


def test_another_seed_gives_another_release_and_a_published_version_is_never_rewritten(
    lite: Built, tmp_path: Path
) -> None:
    data = lite.copy(tmp_path / "data", "lanes", "cache", "release", "published", "evaluation")
    from readbench_data.release.reading import read_manifest
    from readbench_data.release.receipts import RECEIPTS

    receipt = {VERSION: {"content": read_manifest(data / "release" / VERSION).content, "target": "owner/name"}}
    (data / RECEIPTS).write_text(json.dumps(receipt))
    before = {part: tree(data / part / VERSION) for part in ("release", "published")}
    ran = readbench("build", "--data", data, "--version", VERSION, "--seed", "7", *datasets(THREE))
    assert ran.code == 1
    assert ran.error == (
        f"readbench: version {VERSION} is published (owner/name) and this build differs from it: a published version "
        "is never rewritten; choose another with --version"
    )
    assert {part: tree(data / part / VERSION) for part in before} == before


def test_a_release_shrinks_only_on_request_and_shows_what_it_changes(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "lanes", "cache", "release", "published", "evaluation")
    before = tree(data / "release" / VERSION)
    words = ["build", "--data", data, "--version", VERSION, "--dataset", "ctsr", "--seed", "7"]
    ran = readbench(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.error == (
        f"readbench: release {VERSION} would lose 2 datasets that the release it replaces has: mit_bih, petrobras_3w: "
        "build them with the same settings, choose another --version, or allow it with --allow-fewer mit_bih "
        "--allow-fewer petrobras_3w"
    )
    assert tree(data / "release" / VERSION) == before
    ran = readbench(*words, "--allow-fewer", "all")
    assert ran.code == 0, ran.err
    assert "It replaces an earlier build of this version. Changes from " in ran.out
    assert "because: seed 42 -> 7" in ran.out
    assert set(manifest(data)["datasets"]["ctsr"]["code"]) == {"raw", "recordings", "windows", "benchmark"}  # type: ignore[index, arg-type]
    assert readbench(*words, "--allow-fewer", "nonsense").code == 2
