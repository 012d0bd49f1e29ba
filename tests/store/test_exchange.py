"""A finished folder gets its final name atomically: at any kill, either the complete old or new folder exists."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from readbench_data.store import store as module
from readbench_data.store.exchange import exchange
from readbench_data.store.store import Store, remove_leftovers

NAMES = ("manifest.json", "data/a.parquet", "data/b.parquet")

# Swaps release/.building-1 into release/1, and kills itself before or after its N-th file system operation.
CHILD = """
import os, shutil, signal, sys
from readbench_data.store import store
root, at, can = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "exchange"
steps = 0
def step(act):
    def run(*words, **named):
        global steps
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        done = act(*words, **named)
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return done
    return run
store.exchange = step(store.exchange if can else lambda one, other: False)
os.rename, os.unlink, os.rmdir = step(os.rename), step(os.unlink), step(os.rmdir)
store.Store(root).swap("release/.building-1", "release/1")
"""


def fill(folder: Path, text: str) -> None:
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def seen(folder: Path) -> set[str]:
    """Return the contents of the files of a folder, and the names of missing ones."""
    return {(folder / name).read_text() if (folder / name).exists() else f"no {name}" for name in NAMES}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    fill(tmp_path / "release" / "1", "old")
    fill(tmp_path / "release" / ".building-1", "new")
    return tmp_path


def can_exchange(folder: Path) -> bool:
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    return exchange(str(folder / "a"), str(folder / "b"))


def killed_at(root: Path, at: int, how: str) -> bool:
    done = subprocess.run([sys.executable, "-c", CHILD, str(root), str(at), how], capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize("how", ["exchange", "two renames"])
def test_killed_at_every_step(tmp_path: Path, how: str) -> None:
    if how == "exchange" and not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    whole = [{"old"}, {"new"}]
    nothing = {f"no {name}" for name in NAMES}
    states = []
    for at in range(40):
        root = tmp_path / str(at)
        fill(root / "release" / "1", "old")
        fill(root / "release" / ".building-1", "new")
        if not killed_at(root, at, how):
            break
        states.append(seen(root / "release" / "1"))
        remove_leftovers(Store(str(root)))
        assert [p.name for p in (root / "release").iterdir()] == (["1"] if states[-1] != nothing else [])
        fill(root / "release" / ".building-2", "newer")
        Store(str(root)).swap("release/.building-2", "release/1")
        assert seen(root / "release" / "1") == {"newer"}
    else:
        pytest.fail("the swap has no end")
    assert states[0] == {"old"}
    assert states[-1] == {"new"}
    assert seen(root / "release" / "1") == {"new"}
    allowed = whole if how == "exchange" else [*whole, nothing]
    assert [s for s in states if s not in allowed] == []


def test_a_reader_always_finds_a_complete_folder(root: Path) -> None:
    if not can_exchange(root):
        pytest.skip("this file system cannot exchange two folders")
    store, done, missed = Store(str(root)), threading.Event(), []

    def read() -> None:
        while not done.is_set():
            if not (root / "release" / "1" / "manifest.json").exists():
                missed.append(1)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(100):
        store.swap("release/.building-1", "release/1")
        fill(root / "release" / ".building-1", "new")
    done.set()
    reader.join()
    assert missed == []


def test_without_exchange_two_renames_are_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exchange", lambda one, other: False)
    Store(str(root)).swap("release/.building-1", "release/1")
    assert seen(root / "release" / "1") == {"new"}
    assert [p.name for p in (root / "release").iterdir()] == ["1"]


def test_the_first_folder_is_only_renamed(root: Path) -> None:
    Store(str(root)).swap("release/.building-1", "release/2")
    assert seen(root / "release" / "2") == {"new"}
    assert seen(root / "release" / "1") == {"old"}


def test_exchanging_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    if not can_exchange(tmp_path):
        pytest.skip("this file system cannot exchange two folders")
    with pytest.raises(FileNotFoundError):
        exchange(str(tmp_path / "a"), str(tmp_path / "none"))
