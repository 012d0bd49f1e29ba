"""A dataset from outside through the commands: built, verified, audited, published, scored; then without its code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sources
from readbench_data.evaluation.board.leaderboard import Leaderboard, leaderboard
from readbench_data.evaluation.board.page import build_page
from readbench_data.evaluation.board.text import to_text
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.release.reading import read_manifest
from tests.support import built
from tests.support.built import readbench


@pytest.fixture(scope="session")
def mixed(lite: built.Built, plant: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with a release of three datasets of READ-Bench and one from outside."""
    data = lite.copy(tmp_path_factory.mktemp("mixed") / "data")
    args = ("--source", plant / "source.toml", "--data", data, "--profile", "lite", "--version", built.VERSION)
    done = readbench("build", *args)
    assert done.code == 0, done.err
    assert "pumps" in done.out
    return data


@pytest.fixture
def release(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """That release, where loading any source from outside fails the test."""

    def forbidden() -> None:
        raise AssertionError("code from outside is loaded")

    monkeypatch.setattr(sources, "from_outside", forbidden)
    return mixed / "release" / built.VERSION


def test_the_manifest_says_that_it_is_foreign_and_holds_no_path(release: Path, plant: Path) -> None:
    manifest = read_manifest(release)
    foreign = manifest.built["pumps"].foreign
    assert foreign is not None
    assert (foreign.package, foreign.version, foreign.title) == ("source.toml", "", "Three pumps")
    assert [name for name, one in manifest.built.items() if one.foreign is not None] == ["pumps"]
    for path in release.rglob("*"):
        if path.suffix in (".json", ".md"):
            assert str(plant.parent) not in path.read_text()
    composition = json.loads((release / "composition.json").read_text())["datasets"]
    assert composition["pumps"]["printed"] is None


def test_it_is_verified_audited_and_published_without_its_code(release: Path, mixed: Path, tmp_path: Path) -> None:
    assert readbench("verify", release).code == 0
    shown = readbench("audit", "--dataset", "pumps", "--release", release, "--data", mixed)
    assert "blockage" in shown.out
    page = tmp_path / "pumps.html"
    assert readbench("audit", "--dataset", "pumps", "--html", page, "--release", release, "--data", mixed).code == 0
    (tmp_path / "target").mkdir()
    done = readbench(
        "publish", release, "--to", tmp_path / "target", "--data", mixed, "--allow-miniatures",
        "--with-unlicensed", "pumps",
    )  # fmt: skip
    assert done.code == 0, done.err
    card = next((tmp_path / "target").rglob("README.md")).read_text()
    assert "pumps: from outside the benchmark" in card


def test_without_a_licence_it_is_not_published(release: Path, mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    done = readbench("publish", release, "--to", tmp_path / "target", "--data", mixed, "--allow-miniatures")
    assert "pumps: not published, because no licence permits" in done.err


@pytest.fixture
def board(release: Path, tmp_path: Path) -> Leaderboard:
    evaluate(release, tmp_path / "out", ["Random", "ED"])
    return leaderboard(release, tmp_path / "out")


def test_its_scores_are_in_no_mean_over_read_bench(board: Leaderboard) -> None:
    assert set(board.compared) == set(built.THREE)
    outside = board.foreign_macro()
    assert outside is not None
    cells = {
        (m, d): v for m, d, r, v in board.cells().select("method", "dataset", "rho", "value").iter_rows() if r == 0
    }
    ed = outside.filter(method="ED")
    assert ed["rho0"][0] == cells["ED", "pumps"]
    own = board.macro().filter(method="ED")["rho0"][0]
    assert own == pytest.approx(np.mean([cells["ED", name] for name in built.THREE]))
    for text in (to_text(board), build_page(board)):
        assert "pumps from outside it: means of their own" in " ".join(text.split())


def test_uninstalled_its_release_is_not_shrunk_in_silence(
    release: Path, mixed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "from_outside", dict)
    refused = readbench("build", "--dataset", "ctsr", "--data", mixed, "--version", built.VERSION)
    assert refused.code == 1
    assert "would lose 1 dataset" in refused.err
    assert "pumps is from source.toml: name it with --source" in refused.err


def test_a_rebuild_is_byte_for_byte_equal(mixed: Path, plant: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    again = readbench("build", "--source", plant / "source.toml", "--data", data, "--version", "1.0")
    assert again.code == 0, again.err
    release = data / "release" / "1.0"
    assert readbench("verify", release, "--rebuild", "--source", plant / "source.toml").code == 0
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    assert readbench("build", "--source", plant / "source.toml", "--data", data, "--version", "1.0").code == 0
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before, "nothing to do changes no file"


def test_doctor_prints_what_a_dagster_yaml_of_the_user_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    shown = readbench("doctor", "--data", tmp_path / "data").out
    assert f"add to {tmp_path / 'home' / 'dagster.yaml'}:" in shown
    assert "max_concurrent_runs: 2" in shown
