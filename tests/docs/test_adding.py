"""CONTRIBUTING.md is followed exactly in a copy of this repository: a thirteenth dataset is added, built, audited
and tested, and no hand-written file changes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

REPO = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".*_cache", ".git", ".venv", "data", "data-*", "*.egg-info", "build")
GENERATED = {"docs/labels.md", "tests/assets/graph.json"}
NEW = ["sources/miniatures/pump.py", "sources/pump.py", "sources/pump.toml", "tests/sources/test_pump.py"]
SELECTED = [
    f"--ignore=tests/docs/{Path(__file__).name}",  # it would add the dataset once more
    *("-k", "pump or not (test_units_share_no_row or test_the_reader_uses)"),  # slow, the same for other datasets
]
OTHERS_IN_DOCS = {p.name for p in Path(__file__).parent.glob("test_*.py")} - {Path(__file__).name}
TESTS = ["tests/sources/test_declarations.py", "tests/sources/test_pump.py", "tests/assets/test_graph.py", "tests/docs"]


@dataclass(frozen=True)
class Clone:
    """The copy of the repository and the output of the commands run in it."""

    folder: Path
    data: Path

    def run(self, *words: str) -> str:
        """Run a Python module of the copy and return its output; if the command fails, fail with its output."""
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
            "PYTHONPATH": str(self.folder),
            "READBENCH_DATA": str(self.data),
            "READBENCH_HOME": f"{self.data}-home",
        }
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def hashes(self) -> dict[str, str]:
        files = (p for p in self.folder.rglob("*") if p.is_file() and p.parent.name != "__pycache__")
        return {p.relative_to(self.folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def page_files() -> dict[str, str]:
    """The files on the page: path (a comment in the first line of the block) -> text."""
    page = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^ *```(?:python|toml)\n(.*?)^ *```", page, flags=re.M | re.S)
    texts = [textwrap.dedent(block) for block in blocks]
    return {text.splitlines()[0].removeprefix("# "): text for text in texts}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """The copy before anything is added."""
    root = tmp_path_factory.mktemp("adding")
    shutil.copytree(REPO, root / "clone", ignore=LEFT_OUT)
    copy = Clone(root / "clone", root / "data")
    if (added := [copy.folder / path for path in NEW if (copy.folder / path).exists()]) != []:
        for path in added:  # a repository in which the page has been followed already
            path.unlink()
        copy.run("assets.refresh")
    return copy


def test_a_dataset_is_added_as_the_page_describes_and_no_hand_written_file_changes(clone: Clone) -> None:
    before = clone.hashes()
    for path, text in page_files().items():
        assert not (clone.folder / path).exists(), path
        (clone.folder / path).write_text(text, encoding="utf-8")
    clone.run("assets.refresh")
    after = clone.hashes()
    assert sorted(after.keys() - before.keys()) == NEW
    assert {path for path in before if after.get(path) != before[path]} == GENERATED
    assert "\n## pump\n" in (clone.folder / "docs" / "labels.md").read_text(encoding="utf-8")
    clone.run("ruff", "check", "--no-cache", *NEW[:2], NEW[3])
    clone.run("ruff", "format", "--no-cache", "--check", *NEW[:2], NEW[3])

    clone.run("readbench_data.cli", "build", "--dataset", "pump", "--version", "0.1.0-lite")
    audit = pl.read_parquet(clone.data / "release" / "0.1.0-lite" / "audit" / "pump.parquet")
    assert {"query", "corpus"} <= set(audit["outcome"])
    assert set(audit["class_label"].drop_nulls()) == {"Normal", "leak", "blockage"}
    told = clone.run("readbench_data.cli", "audit", "--dataset", "pump")
    assert f"pump: {audit.height} windows considered" in told

    passed = clone.run("pytest", "-rA", f"--basetemp={clone.data}-tests", *SELECTED, *TESTS)
    assert not re.search(r"^(FAILED|ERROR|SKIPPED)", passed, flags=re.M), passed
    ran = re.findall(r"^PASSED tests/\S*?(\w+\.py)::(.*)$", passed, flags=re.M)
    assert {file for file, _ in ran} == {*(Path(t).name for t in TESTS if t.endswith(".py")), *OTHERS_IN_DOCS}
    assert ("test_declarations.py", "test_it_describes_itself[pump]") in ran
