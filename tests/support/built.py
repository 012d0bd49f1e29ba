"""Helpers of many tests: commands run in this process, lanes run without gates, and one lite build of the miniatures,
which is built once per test run (also if several workers share it). Copy it before changing it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

import sources
from readbench_data import lane as stages
from readbench_data.dataset.config import LITE, BenchmarkConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.origin import MINIATURE_SEED, Origin
from readbench_data.release.build import build_release
from readbench_data.release.code import release_code
from readbench_data.release.lane_records import BenchmarkRecord, set_lane_state
from readbench_data.release.manifest import Manifest
from readbench_data.store.store import Store

REPO = Path(__file__).resolve().parents[2]
THREE = ("mit_bih", "petrobras_3w", "ctsr")
VERSION = "0.9.0-lite"


@dataclass(frozen=True)
class Ran:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one line on stderr; fails if there are several or none."""
        lines = self.err.splitlines()
        assert len(lines) == 1, f"one line expected on stderr, not {self.err!r}"
        return lines[0]


def readbench(*words: object) -> Ran:
    """Run the ``readbench`` command in this process, without progress; the environment is restored afterwards."""
    from readbench_data.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    before = dict(os.environ)
    os.environ["READBENCH_QUIET"] = "1"
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main([str(w) for w in words])
    finally:
        os.environ.clear()
        os.environ.update(before)
    code = stop.value.code
    return Ran(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())


def command() -> list[str]:
    """Return the command line that runs ``readbench`` of this checkout in a separate process."""
    start = f"import sys; sys.path.insert(0, {str(REPO)!r}); from readbench_data.cli import main; main()"
    return [sys.executable, "-c", start]


def datasets(names: Sequence[str]) -> list[str]:
    """Return ``--dataset NAME`` for each name."""
    return [word for name in names for word in ("--dataset", name)]


def lane(
    name: str,
    data: Path | str,
    mirror: Path | None = None,
    config: BenchmarkConfig = LITE,
    pool: bool = False,
    cache: Path | None = None,
) -> stages.Lane:
    """Return a dataset's lane on a data root, from miniatures unless a mirror is given. ``cache``: see ``Origin``."""
    source = sources.get(name)
    module, miniature = sources.module_names(name)
    store = Store(str(data))
    place = cache if cache is not None else Path(data) / "cache"
    origin = Origin(OriginKind.MIRROR if mirror else OriginKind.MINIATURE, place, str(mirror) if mirror else None)
    files = origin.files(source, lambda: (sources.miniature(name), miniature))
    return stages.Lane(source, module, store, files, config, pool=pool)


def run_lane(made: stages.Lane) -> BenchmarkRecord:
    """Run all stages of a lane without gates, store its status for a release, and return the last record."""
    record = stages.run_lane(made)
    set_lane_state(made.store, made.name, made.state())
    return record


def gather(data: Path | str, version: str = VERSION, config: BenchmarkConfig = LITE) -> Manifest:
    """Run ``build_release`` on a data root without gates and return the manifest."""
    return build_release(Store(str(data)), sources.all_sources(), version, config, release_code())


@dataclass(frozen=True)
class Built:
    """A data root built by ``readbench build``, with the output of the command."""

    data: Path
    home: Path
    stdout: str
    stderr: str

    @property
    def release(self) -> Path:
        return self.data / "release" / VERSION

    def copy(self, target: Path, *parts: str) -> Path:
        """Copy the lanes (or the named parts) into a new data root that a test can change."""
        for part in parts or ("lanes", "cache"):
            shutil.copytree(self.data / part, target / part)
        return target


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this test run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def lite(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return the lite build of the three miniatures."""
    root = shared_folder(tmp_path_factory) / "lite-build"
    built = root / "built"
    root.mkdir(exist_ok=True)
    with FileLock(root / "lock"):
        if not built.exists():
            ran = _with_home(root / "home", "build", "--data", root / "data", "--version", VERSION, *datasets(THREE))
            assert ran.code == 0, ran.err
            (root / "stdout").write_text(ran.out)
            (root / "stderr").write_text(ran.err)
            built.touch()
    return Built(root / "data", root / "home", (root / "stdout").read_text(), (root / "stderr").read_text())


def _with_home(home: Path, *words: object) -> Ran:
    before = os.environ.get("READBENCH_HOME")
    os.environ["READBENCH_HOME"] = str(home)
    try:
        return readbench(*words)
    finally:
        if before is None:
            del os.environ["READBENCH_HOME"]
        else:
            os.environ["READBENCH_HOME"] = before


def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a mirror of the three miniatures, as if they had been downloaded. Copy it before changing it."""
    root = shared_folder(tmp_path_factory) / "lite-mirror"
    root.mkdir(exist_ok=True)
    with FileLock(root / "lock"):
        if not (root / "mirror").exists():
            for name in THREE:
                sources.miniature(name)(root / "partial" / name, MINIATURE_SEED)
            (root / "partial").rename(root / "mirror")
    return root / "mirror"


def miniatures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the cache of miniatures that all tests of this run share. Do not change its files."""
    return shared_folder(tmp_path_factory) / "miniatures-cache"


def miniature(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """Return the folder of a dataset's miniature, written once per test run. Copy it before changing it."""
    cache = miniatures(tmp_path_factory)
    cache.mkdir(exist_ok=True)
    _, module = sources.module_names(name)
    with FileLock(cache / f"{name}.lock"):
        origin = Origin(OriginKind.MINIATURE, cache)
        return origin.files(sources.get(name), lambda: (sources.miniature(name), module)).root


def tree(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder, by relative path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def leftovers(data: Path) -> list[str]:
    """Return the names of temporary files and folders below a data root."""
    marks = (".part", ".tmp")
    hidden = (".building-", ".replaced-", ".publishing-", ".writing-")
    return sorted(
        path.relative_to(data).as_posix()
        for path in data.rglob("*")
        if path.name.endswith(marks) or path.name.startswith(hidden)
    )


@contextlib.contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    """Mount a file system of a fixed size on ``folder``; skip the test with the reason if mounting is not allowed."""
    import subprocess

    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={kilobytes}k"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
