"""A build with nothing to do: what it imports, prints and touches; and what repairs a damaged result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from tests.support.built import REPO, VERSION, Built, readbench, tree

HEAVY = ("dagster", "great_expectations", "sklearn", "matplotlib", "scipy.stats", "scipy.signal", "pandas", "torch")
WORDS = ("--version", VERSION, "--dataset", "ctsr")


def imported(code: str, heavy: tuple[str, ...], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process; its last line on stdout is the heavy modules that were imported."""
    end = f"import atexit; atexit.register(lambda: print([m for m in {heavy!r} if m in sys.modules]))"
    return subprocess.run(
        [sys.executable, "-c", f"import sys; {end}; {code}"],
        cwd=REPO,
        env={**os.environ, "PYTHONPATH": str(REPO), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def times(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def runs(home: Path) -> int:
    from assets.instance import open_instance

    with open_instance(str(home.parent / "data")) as instance:
        return instance.get_runs_count()


@pytest.fixture
def root(lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a finished data root ``data`` and a new Dagster home ``home``."""
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    lite.copy(tmp_path / "data", "lanes", "cache", "evaluation", "release", "published", "leaderboard")
    return tmp_path


def test_a_finished_root_is_recorded_once_then_nothing_is_imported_run_or_touched(root: Path) -> None:
    data, home = root / "data", root / "home"
    before = tree(data / "release")
    first = readbench("build", "--data", data, *WORDS)
    assert first.code == 0, first.err
    assert tree(data / "release") == before
    assert runs(home) == 2, "a new home gets one run of the lane and one of the release"
    touched = {**times(data), **times(home)}
    words = ["build", "--data", str(data), *WORDS]
    again = imported(f"from readbench_data.cli.main import main; main({words!r})", HEAVY)
    assert again.returncode == 0, again.stderr
    assert {**times(data), **times(home)} == touched
    *shown, heavy = again.stdout.splitlines()
    assert heavy == "[]", "imported by a build with nothing to do"
    assert shown == first.out.splitlines()
    lane, release = again.stderr.splitlines()
    assert lane.startswith("[1/1] ctsr: up to date (key ")
    assert lane.endswith("; original files, settings and code are unchanged)")
    assert release.startswith("release: up to date (key ")
    assert runs(home) == 2
    damaged = data / "release" / VERSION / "README.md"
    damaged.write_text("x")
    repaired = readbench("build", "--data", data, *WORDS)
    assert repaired.code == 0, repaired.err
    assert tree(data / "release") == before
    assert runs(home) == 3, "the lane was finished, the release was not"


def test_loading_the_definitions_imports_no_heavy_library() -> None:
    heavy = ("great_expectations", "sklearn", "matplotlib", "numba", "scipy", "pandas")
    ran = imported("import assets.definitions", heavy)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_import_test_finds_a_heavy_library() -> None:
    assert imported("import pandas", ("pandas", "numba")).stdout.splitlines()[-1] == "['pandas']"


def test_a_run_opens_few_connections_and_its_events_are_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3.dbapi2

    from assets.connections import kept_connections
    from assets.instance import open_instance

    opened: list[str] = []
    connect = sqlite3.dbapi2.connect

    def counted(*places: object, **options: object) -> sqlite3.Connection:
        opened.append(str(places[0]))
        return connect(*places, **options)  # type: ignore[call-overload, no-any-return]

    names = [f"check_{number}" for number in range(30)]

    @dg.asset(check_specs=[dg.AssetCheckSpec(name, asset="thing") for name in names])
    def thing() -> dg.MaterializeResult:  # type: ignore[type-arg]
        found = [dg.AssetCheckResult(check_name=name, passed=True, metadata={"observed": name}) for name in names]
        return dg.MaterializeResult(check_results=found)

    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    with open_instance(str(tmp_path / "data")) as instance:
        monkeypatch.setattr(sqlite3.dbapi2, "connect", counted)
        with kept_connections(instance):
            dg.materialize([thing], instance=instance)
            assert 0 < len(opened) < 10, "not one for every event"
        assert not {"_connect", "has_table"} & set(vars(instance.event_log_storage))
        assert "connect" not in vars(instance.run_storage)
    assert not list((tmp_path / "home").rglob("*-wal")), "every write-ahead log is in its database"
    with open_instance(str(tmp_path / "data")) as instance:
        event = instance.get_latest_materialization_event(dg.AssetKey("thing"))
        assert event is not None
        [run] = instance.get_runs()
        assert run.status == dg.DagsterRunStatus.SUCCESS
        assert len(instance.all_logs(run.run_id)) > 60
        for name in names:
            key = dg.AssetCheckKey(dg.AssetKey("thing"), name)
            [stored] = instance.event_log_storage.get_asset_check_execution_history(key, limit=2)
            found = stored.event.dagster_event.event_specific_data  # type: ignore[union-attr]
            assert found.metadata["observed"].value == name  # type: ignore[union-attr]


def test_an_instance_on_another_database_is_left_as_it_is() -> None:
    from assets.connections import kept_connections

    with dg.DagsterInstance.ephemeral() as instance:
        before = {**vars(instance.event_log_storage)}
        with kept_connections(instance):
            assert vars(instance.event_log_storage).keys() == before.keys()
