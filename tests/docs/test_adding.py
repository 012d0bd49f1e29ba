"""The dataset that CONTRIBUTING.md adds goes through every stage, as the page stands."""

from __future__ import annotations

import importlib
import re
import textwrap
from pathlib import Path

import pytest

from readbench_data import lane
from readbench_data.dataset.config import LITE
from readbench_data.dataset.files import FileSet
from readbench_data.dataset.source import Source
from readbench_data.store.store import Store

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def blocks() -> list[str]:
    """The Python blocks of the page: the source, then its miniature."""
    found = re.findall(r"^ *```python\n(.*?)^ *```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [textwrap.dedent(block) for block in found]


def test_the_page_shows_a_source_that_works(blocks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "code"
    code.mkdir()
    for name, block in zip(("pump_source", "pump_miniature"), blocks, strict=True):
        (code / f"{name}.py").write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(str(code))
    source: Source = importlib.import_module("pump_source").SOURCE
    importlib.import_module("pump_miniature").write(tmp_path / "pump", 42)
    built = lane.Lane(
        source=source,
        module="pump_source",
        store=Store(str(tmp_path / "data")),
        files=FileSet("pump", tmp_path / "pump", "miniature"),
        config=LITE,
    )
    record = lane.run_lane(built)
    assert record.outcomes["query"] > 0
    assert record.outcomes["corpus"] > 0
    index = lane.load_index(built)
    assert set(index["class_label"].drop_nulls()) == {"Normal", "leak", "blockage"}
    leaks = index.filter(index["class_label"] == "leak")["votes"].explode().struct.field("code")
    assert "11" in set(leaks)
