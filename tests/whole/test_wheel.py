"""The installed package: nothing at the top level but ``readbench_data``, the same code versions, and folders of a user
that are named like packages of the repository are neither imported nor in the way."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from readbench_data.store import code_version
from tests.support import built

FOREIGN = 'raise RuntimeError("a package of the user is imported")\n'


@pytest.fixture
def moved(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The function of setup.py that rewrites imports."""
    monkeypatch.setattr("setuptools.setup", lambda **_: None)
    return runpy.run_path(str(built.REPO / "setup.py"))["moved"]


def test_every_module_is_read_as_the_same_code_when_its_imports_are_rewritten(moved: Any, tmp_path: Path) -> None:
    changed = 0
    for package in code_version.PACKAGES:
        for path in (built.REPO / package).rglob("*.py"):
            text = path.read_text()
            (tmp_path / "a.py").write_text(moved(text))
            assert code_version._bytes(tmp_path / "a.py") == code_version._bytes(path), path
            changed += moved(text) != text
    assert changed > 40


def test_imports_are_rewritten_in_every_form(moved: Any) -> None:
    assert moved("import sources\n    import sources as registry\n") == (
        "from readbench_data import sources\n    from readbench_data import sources as registry\n"
    )
    assert moved("from assets.locks import hold\nfrom sources import outside\n") == (
        "from readbench_data.assets.locks import hold\nfrom readbench_data.sources import outside\n"
    )
    kept = "import sources_of_mine\nfrom assetsx import y\nx = 'import sources'\n"
    assert moved(kept) == kept


@pytest.mark.long
def test_a_wheel_beside_folders_of_the_same_names(tmp_path: Path, plant: Path) -> None:
    """Builds the wheel, installs it without its dependencies (which the test's own environment has) and uses it."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    source = tmp_path / "repo"
    source.mkdir()
    for name in (*code_version.PACKAGES, "setup.py", "pyproject.toml", "README.md", "LICENSE", "dagster.yaml"):
        subprocess.run(["cp", "-r", str(built.REPO / name), str(source / name)], check=True)
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(source)], check=True)
    wheel = next(tmp_path.glob("*.whl"))
    tops = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"readbench_data"}

    site = next(path for path in sys.path if path.endswith("site-packages"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    own = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    (own / "libraries.pth").write_text(f"{site}\n")  # a path only: the editable install in there is not active
    zipfile.ZipFile(wheel).extractall(own)

    home = tmp_path / "home"
    for name in ("sources", "assets", "expectations"):
        (home / name).mkdir(parents=True)
        (home / name / "__init__.py").write_text(FOREIGN)

    env = {name: value for name, value in os.environ.items() if not name.startswith("READBENCH_")}

    def run(*words: object) -> str:
        done = subprocess.run(
            [python, "-m", "readbench_data.cli", *map(str, words)], cwd=home, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    for words in ("sources", "methods", "settings ctsr", "ui --help", f"source check {plant}/source.toml"):
        assert run(*words.split())
    assert "Makefile" not in run("build", "--help")
    out = run("build", "--source", plant / "source.toml", "--version", "1.0")
    assert "pumps" in out
    assert "make ui" not in out
    assert "all checks passed" in run("verify", home / "data" / "release" / "1.0")

    here = built.readbench("build", "--source", plant / "source.toml", "--version", "1.0", "--data", tmp_path / "data")
    assert here.code == 0, here.err
    installed, repository = (root / "release" / "1.0" / "manifest.json" for root in (home / "data", tmp_path / "data"))
    assert installed.read_bytes() == repository.read_bytes()
    notebook = "import readbench_data; from readbench_data import sources; print(len(sources.own_sources()))"
    assert subprocess.run([python, "-c", notebook], cwd=home, capture_output=True, text=True).stdout.strip() == "12"
