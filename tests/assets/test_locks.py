"""A lane and a release are run by one process at a time, whoever starts them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pytest
from filelock import FileLock

from assets import locks
from assets.definitions import RELEASE_JOB, build_definitions, lane_job
from assets.resources import Workspace
from assets.workspace import PlainWorkspace
from readbench_data.cli.runner import Runner
from readbench_data.errors import ReadbenchError
from tests.support.built import VERSION, Built, tree


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Another process holds the lock."""
    file.parent.mkdir(parents=True, exist_ok=True)
    script = (
        "import sys, time; from filelock import FileLock; "
        "lock = FileLock(sys.argv[1]); lock.acquire(); print('locked', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "locked\n"
            yield
        finally:
            other.kill()


@pytest.mark.parametrize(
    ("name", "job"), [("ctsr", lane_job("ctsr")), (f"release {VERSION}", RELEASE_JOB)], ids=["lane", "release"]
)
def test_a_second_run_is_refused_in_one_line_and_touches_nothing(
    name: str, job: str, lite: Built, tmp_path: Path
) -> None:
    """As the UI runs it: a job of the definitions, without the command."""
    data = lite.copy(tmp_path / "data")
    before = tree(data / "lanes")
    made = build_definitions(Workspace(data=str(data), version=VERSION), ["ctsr"])
    message = f"^{name}: another run of it is going on in .*: wait for its end$"
    with (
        dg.DagsterInstance.ephemeral() as instance,
        held(data / "cache/locks" / f"{name}.lock"),
        pytest.raises(ReadbenchError, match=message),
    ):
        made.resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=True)
    assert tree(data / "lanes") == before
    assert not (data / "release").exists()


def test_a_run_of_the_command_holds_the_lock_of_its_lane_and_releases_it(
    lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    data = lite.copy(tmp_path / "data")
    taken: list[str] = []
    hold = locks.hold

    def noted(workspace: PlainWorkspace, name: str) -> None:
        hold(workspace, name)
        taken.extend(path.name for path in locks._held)

    monkeypatch.setattr("assets.lane_runs.hold", noted)
    with Runner(PlainWorkspace(data=str(data), version=VERSION)) as runner:
        runner.run_lane("ctsr")
    assert taken == ["ctsr.lock"] * 4
    assert locks._held == {}
    with FileLock(data / "cache/locks/ctsr.lock", timeout=0):
        pass
