"""A build that is killed (-9) at any moment leaves no partial file under a final name, and the next build completes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from readbench_data.dataset.config import LITE
from readbench_data.release.local import publish_local
from readbench_data.store.store import Store
from tests.support import built


def test_builds_killed_at_every_step_give_the_release_of_an_uninterrupted_build(tmp_path: Path) -> None:
    calm, data = tmp_path / "calm", tmp_path / "data"
    built.run_lane(built.lane("ctsr", calm))
    built.gather(calm)
    new = built.tree(calm / "release" / built.VERSION)
    other = LITE.model_copy(update={"seed": 7})
    built.run_lane(built.lane("ctsr", data, config=other))
    built.gather(data, config=other)
    publish_local(Store(str(data)), built.VERSION)
    old = built.tree(data / "release" / built.VERSION)
    assert old != new
    (data / "lanes").rename(tmp_path / "gone")  # so that no stage is reused
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.crash", str(data), str(tmp_path / "home")],
        cwd=built.REPO,
        capture_output=True,
        text=True,
    )
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert runs, done.stderr
    assert [run["partial"] for run in runs] == [[]] * len(runs)
    for run in runs:
        assert run["release"] in (None, old, new), "a release that is neither the old one nor the new one"
        assert run["published"] in (None, old, new)
    assert runs[0]["release"] == old, "the earlier release stays until the new one is complete"
    assert [run["killed"] for run in runs] == [True] * (len(runs) - 1) + [False], runs
    assert runs[-1]["code"] == 0, done.stderr
    between = [{k: r[k] for k in ("release", "published")} for r in runs]
    assert ({"release": None, "published": old} in between) == (not runs[0]["one_step"]), "only two renames leave a gap"
    assert {"release": new, "published": old} in between
    assert runs[-1]["release"] == runs[-1]["published"] == new
    assert runs[-1]["left"] == [], "temporary files of killed runs are removed"


def test_a_second_build_in_one_data_root_is_refused_while_the_first_runs(lite: built.Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "lanes", "cache", "release")
    before = built.tree(data)
    script = (
        "import sys, time; from filelock import FileLock\n"
        "lock = FileLock(sys.argv[1]); lock.acquire(); print('locked', flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(data / ".lock")], stdout=subprocess.PIPE, text=True
    ) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "locked\n"
            ran = built.readbench("build", "--data", data, "--dataset", "ctsr")
        finally:
            running.kill()
    assert ran.code == 1
    assert ran.error == (f"readbench: another build is running in {data}: wait for it, or choose another --data")
    assert {k: v for k, v in built.tree(data).items() if k != ".lock"} == before
    with FileLock(data / ".lock", timeout=0):
        pass  # the lock of a killed build is released
