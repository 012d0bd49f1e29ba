"""Lanes in several processes: the same bytes, the same errors, and no process that is left behind."""

from __future__ import annotations

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from assets.instance import open_instance
from assets.workspace import PlainWorkspace
from readbench_data.cli import pool as module
from readbench_data.cli.lanes import cores
from readbench_data.cli.pool import PRELOADED, Pool
from readbench_data.errors import BadInput, ReadbenchError, UsageError
from tests.cli.test_nothing_to_do import imported
from tests.support.built import THREE, VERSION, Built, command, datasets, leftovers, readbench, tree

TWO = ("mit_bih", "ctsr")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_several_lanes_at_once_give_the_same_bytes(jobs: int, lite: Built, home: Path, tmp_path: Path) -> None:
    shutil.copytree(lite.data / "cache/miniatures", tmp_path / "data/cache/miniatures")
    words = ["--data", tmp_path / "data", "--version", VERSION, "--jobs", jobs, *datasets(THREE)]
    ran = readbench("build", *words)
    assert ran.code == 0, ran.err
    for part in ("lanes", "release"):
        assert tree(tmp_path / "data" / part) == tree(lite.data / part)
    assert leftovers(tmp_path / "data") == []


def test_lanes_run_at_once_are_recorded_and_an_error_is_one_line_in_the_given_order(
    mirror: Path, home: Path, tmp_path: Path
) -> None:
    for name in TWO:
        shutil.copytree(mirror / name, tmp_path / "mirror" / name)
    spoilt = sorted((tmp_path / "mirror" / "mit_bih").rglob("*.dat"))[0]
    spoilt.write_bytes(spoilt.read_bytes()[:-30])
    workspace = PlainWorkspace(data=str(tmp_path / "data"), mirror=str(tmp_path / "mirror"), verify=False)
    with Pool(workspace, 2, ("ctsr", "mit_bih"), False) as pool:
        ended = pool.ended()
        name, state, seconds = next(ended)
        assert (name, state.status) == ("ctsr", "ok")
        assert 0 < seconds < 300
        with pytest.raises(ReadbenchError, match=re.escape(str(spoilt))):
            next(ended)
    assert leftovers(tmp_path / "data") == []
    assert [p.name for p in home.rglob("lane-*.json")] == ["lane-ctsr.json"], "the mark of the finished lane"
    with open_instance(str(tmp_path / "data")) as instance:
        assert sorted(run.status.value for run in instance.get_runs()) == ["FAILURE", "SUCCESS"]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (UsageError("no setting"), UsageError, "no setting"),
        (BadInput("/a/b", "is short", "row 3"), ReadbenchError, "/a/b, row 3: is short"),
        (OSError(28, "No space left on device", "/x"), OSError, "[Errno 28] No space left on device: '/x'"),
        (ZeroDivisionError("division by zero"), Exception, "division by zero"),
    ],
)
def test_an_error_is_the_same_after_its_way_through_plain_data(
    error: Exception, kind: type[Exception], message: str
) -> None:
    again = module._Failure.of(error).error()
    assert isinstance(again, kind)
    assert str(again) == message
    assert not isinstance(error, UsageError) or isinstance(again, UsageError)
    assert type(again).__name__ in {type(error).__name__, "ReadbenchError"}


def test_a_killed_process_is_one_line(home: Path, tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    with Pool(PlainWorkspace(data=str(tmp_path / "data")), 1, ["mit_bih"], False) as pool:
        [process] = set(multiprocessing.active_children()) - before
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(ReadbenchError, match=r"mit_bih: the process that ran it was stopped, .* with fewer --jobs"):
            list(pool.ended())
    assert set(multiprocessing.active_children()) <= before


def test_nothing_that_the_fork_server_loads_starts_a_thread() -> None:
    code = f"import os; [__import__(name) for name in {PRELOADED!r}]; print(len(os.listdir('/proc/self/task')))"
    ran = imported(code, ("numpy", "polars", "pyarrow", "pandas"))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["1", "[]"]


@pytest.mark.parametrize("jobs", ["0", "-1", "many"])
def test_a_number_of_jobs_that_is_none_is_wrong_usage(jobs: str, tmp_path: Path) -> None:
    ran = readbench("build", "--data", tmp_path / "data", "--jobs", jobs)
    assert ran.code == 2
    assert "--jobs" in ran.err
    assert not (tmp_path / "data").exists()


def test_there_is_a_core() -> None:
    assert cores() >= 1


def processes(mark: str) -> list[int]:
    """The processes whose environment holds ``mark``, this one left out."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:  # it has ended
            continue
    return found


@pytest.mark.long
@pytest.mark.parametrize("moment", [2.0, 4.0, 6.0, 8.0, 10.0, 13.0, 16.0])
def test_a_killed_build_leaves_no_process_and_the_next_one_gives_the_same_bytes(
    moment: float, lite: Built, home: Path, tmp_path: Path
) -> None:
    words = ["build", "--data", str(tmp_path / "data"), "--version", VERSION, "--jobs", "2", *datasets(TWO)]
    running = subprocess.Popen([*command(), *words], env={**os.environ, "READBENCH_QUIET": "1"})
    time.sleep(moment)
    running.kill()
    running.wait()
    deadline = time.monotonic() + 20
    while processes(str(home)) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert processes(str(home)) == []
    ran = readbench(*words)
    assert ran.code == 0, ran.err
    assert leftovers(tmp_path / "data") == []
    for name in TWO:
        assert tree(tmp_path / "data/release" / VERSION / "data" / name) == tree(lite.release / "data" / name)
