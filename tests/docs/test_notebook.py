"""The notebook and the Python of the page on own data run, in a new folder, as a reader would run them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.built import REPO


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with the default data root in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("READBENCH_DATA", "data")
    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("READBENCH_QUIET", "1")
    return tmp_path


def test_the_notebook_runs_from_top_to_bottom(reader: Path) -> None:
    notebook = json.loads((REPO / "docs" / "own-data.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == 9
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "outputs are not committed"
    names: dict[str, Any] = {}
    for cell in cells:
        exec(cell, names)
    assert set(names["scores"]["rho"]) == {0, 10, 20}
    assert names["facts"].row.dataset == "mit_bih"
    assert (reader / "mit_bih.qrels").is_file()


def test_the_python_of_the_page_on_own_data_runs(reader: Path, plant: Path) -> None:
    page = (REPO / "docs" / "own-data.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shutil.copytree(plant, reader / "pumps")
    names: dict[str, Any] = {}
    exec(code, names)
    assert len(names["pumps"].queries) > 0
    assert (reader / "pumps.qrels").read_text()


def test_every_key_of_a_source_toml_is_on_the_page() -> None:
    from sources.outside.tables.declaration import Declaration, Files, FileTable, Incidents, Labels, Split, Windows

    page = (REPO / "docs" / "own-data.md").read_text()
    for model in (Declaration, Files, Labels, Incidents, FileTable, Windows, Split):
        for key in model.model_fields:
            assert re.search(rf"`\[?(labels\.)?{key}\]?`", page), f"{model.__name__}.{key}"
