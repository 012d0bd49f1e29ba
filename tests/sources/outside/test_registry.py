"""Finding and loading sources from outside: files, modules, installed packages; what is refused, and what is hashed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import sources
from readbench_data.dataset.stage_code import stage_code
from readbench_data.errors import UsageError
from sources import outside
from tests.sources.outside.conftest import HEAD, series
from tests.sources.outside.test_tables import COLUMN, with_column

MODULE = """
from readbench_data.dataset.config import DatasetConfig
from readbench_data.dataset.files import Located
from readbench_data.dataset.source import Licence, Source
from readbench_data.recordings.curation import Curation
from readbench_data.windows.labeling import LabelMap


def locate(files, options):
    return Located(files.glob("*.csv"))


def read(files, located, options):
    return iter(())


def write_miniature(folder, seed):
    folder.mkdir()


SOURCE = Source(
    name="{name}", title="Pump", row=3, domain="d", description="d", homepage="", citation="", evidence="dense: x",
    licence=Licence(name="CC0", url="https://x.org", redistributable=True), rule="majority", unit="run",
    row_unit="row", labels=LabelMap({{"0": "Normal"}}), curation=Curation(), config=DatasetConfig(length=8),
    locate=locate, read=read,
)
"""


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(outside.VARIABLE, "")
    outside._loaded.cache_clear()
    outside._installed.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An importable package ``rig`` with a module that declares ``pump``."""
    folder = tmp_path / "site" / "rig"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "pump.py").write_text(MODULE.format(name="pump"))
    (folder / "helper.py").write_text("FACTOR = 1\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    for name in [n for n in sys.modules if n.partition(".")[0] == "rig"]:
        monkeypatch.delitem(sys.modules, name)
    return "rig.pump"


def declare(folder: Path, name: str = "plant") -> Path:
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.csv").write_text(with_column(series(20), "state", ["0"] * 20))
    (folder / "source.toml").write_text(HEAD.replace("plant", name) + COLUMN)
    return folder / "source.toml"


def test_a_toml_file_is_a_source_like_the_others(tmp_path: Path) -> None:
    assert outside.name_sources((str(declare(tmp_path)),)) == ["plant"]
    assert list(sources.all_sources())[-1] == "plant"
    assert len(sources.own_sources()) == 12
    assert sources.folder("plant") == tmp_path / "data"
    assert sources.get("plant").foreign is not None
    assert sources.get("plant").printed is None


def test_a_python_file_and_a_module_and_a_row_of_its_own(tmp_path: Path, package: str) -> None:
    file = tmp_path / "valve.py"
    file.write_text(MODULE.format(name="valve"))
    assert outside.name_sources((str(file), package)) == ["valve", "pump"]
    names = list(sources.all_sources())
    assert names[-2:] == ["pump", "valve"], "row 3 is the declaration's; from outside they stand last"
    sources.miniature("pump")(tmp_path / "mini", 42)
    assert (tmp_path / "mini").is_dir()


def test_a_relative_path_becomes_an_absolute_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(tmp_path)
    monkeypatch.chdir(tmp_path)
    outside.name_sources(("./source.toml",))
    assert os.environ[outside.VARIABLE] == str(tmp_path / "source.toml")


def test_another_process_finds_it_through_the_variable(tmp_path: Path) -> None:
    outside.name_sources((str(declare(tmp_path)),))
    listed = subprocess.run(
        [sys.executable, "-c", "import sources; print(list(sources.all_sources())[-1])"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    assert listed.stdout.strip() == "plant"


def test_an_installed_package_is_found_by_its_entry_point(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("pump", f"{package}:SOURCE", outside.GROUP), EntryPoint("gone", "rig.gone", outside.GROUP)]
    monkeypatch.setattr(outside, "entry_points", lambda group: points)
    assert list(sources.from_outside()) == ["pump"]


def test_an_installed_package_that_cannot_be_loaded_is_reported_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outside, "entry_points", lambda group: [EntryPoint("gone", "no_such_rig.pump", outside.GROUP)])
    assert len(sources.all_sources()) == 12
    assert "source gone is left out" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mit_bih", "hai"])
def test_a_dataset_of_read_bench_is_never_replaced(tmp_path: Path, name: str) -> None:
    outside.name_sources((str(declare(tmp_path, name)),))
    with pytest.raises(UsageError, match=f"'{name}' is a dataset of READ-Bench: give your source another name"):
        sources.all_sources()


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    outside.name_sources((str(declare(tmp_path / "one")), str(declare(tmp_path / "two"))))
    with pytest.raises(UsageError, match="both declare 'plant'"):
        sources.all_sources()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("./gone.toml", "there is no such file"),
        ("no_such_package.pump", "Python finds no module"),
        ("readbench_data.errors", "it has no SOURCE"),
        (str(Path(__file__).parent) + "/", "is a folder"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(given: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        outside.name_sources((given,))


def test_a_failing_import_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("x = 1\n1 / 0\n")
    with pytest.raises(UsageError, match=r"ZeroDivisionError: division by zero \(bad.py, line 2\)"):
        outside.name_sources((str(tmp_path / "bad.py"),))


def code(name: str) -> str:
    return stage_code(sources.get(name), sources.module_names(name)[0], "recordings")


def test_every_file_of_its_package_counts_as_its_code(package: str, tmp_path: Path) -> None:
    outside.name_sources((package,))
    before = code("pump")
    (tmp_path / "site" / "rig" / "helper.py").write_text("FACTOR = 2\n")
    outside._loaded.cache_clear()
    assert code("pump") != before


def test_the_declaration_and_a_table_next_to_it_count_and_its_place_does_not(tmp_path: Path) -> None:
    for folder in ("one", "two", "three"):
        file = declare(tmp_path / folder)
        file.write_text(HEAD + '[labels.table]\nfile = "what.csv"\nkey = "f"\ncode = "c"\n')
        (file.parent / "what.csv").write_text("f,c\na,leak\n" if folder != "three" else "f,c\na,block\n")
    codes = []
    for folder in ("one", "two", "three"):
        os.environ[outside.VARIABLE] = str(tmp_path / folder / "source.toml")
        codes.append(code("plant"))
    assert codes[0] == codes[1] != codes[2]
