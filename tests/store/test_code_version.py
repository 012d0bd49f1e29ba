"""The code version changes with the code that a result depends on, and with nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from readbench_data.store import code_version as module
from readbench_data.store.code_version import closure, code_version

REPO = Path(module.__file__).parents[2]


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package: reader -> helper -> words; other -> words; lonely imports nothing."""
    package = tmp_path / "toypackage"
    package.mkdir()
    texts = {
        "__init__": "",
        "words": "A = 1\n",
        "helper": "def f():\n    from toypackage.words import A\n    return A\n",
        "reader": "import json\nimport numpy as np\nfrom toypackage import helper\n",
        "other": "import toypackage.words\n",
        "lonely": "X = 1\n",
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "PACKAGES", ("toypackage",))
    forget()
    yield package
    forget()
    for name in [n for n in sys.modules if n.split(".")[0] == "toypackage"]:
        del sys.modules[name]


def forget() -> None:
    module._file.cache_clear()
    module._imports.cache_clear()
    module.code_version.cache_clear()


def test_the_closure_follows_imports_including_those_inside_functions(toy: Path) -> None:
    assert closure(["toypackage.reader"]) == {"toypackage.reader", "toypackage.helper", "toypackage.words"}
    assert closure(["toypackage.other"]) == {"toypackage.other", "toypackage.words"}
    assert closure(["toypackage.lonely"]) == {"toypackage.lonely"}


def test_a_change_makes_only_dependent_modules_stale(toy: Path) -> None:
    names = ("toypackage.reader", "toypackage.other", "toypackage.lonely")
    before = {n: code_version(n) for n in names}
    (toy / "helper.py").write_text((toy / "helper.py").read_text() + "\n# changed\n")
    forget()
    assert [n for n in names if code_version(n) != before[n]] == ["toypackage.reader"]
    (toy / "words.py").write_text("A = 2\n")
    forget()
    assert {n for n in names if code_version(n) != before[n]} == {"toypackage.reader", "toypackage.other"}


def test_a_table_of_a_module_counts_as_its_code(toy: Path) -> None:
    before = code_version("toypackage.reader"), code_version("toypackage.lonely")
    (toy / "tables").mkdir()
    (toy / "tables" / "reader_channels.csv").write_text("a\n")
    forget()
    with_table = code_version("toypackage.reader")
    assert with_table != before[0]
    (toy / "tables" / "reader_channels.csv").write_text("b\n")
    forget()
    assert code_version("toypackage.reader") not in {with_table, before[0]}
    assert code_version("toypackage.lonely") == before[1]


def test_the_toml_file_of_a_module_counts_as_its_code_and_another_one_does_not(toy: Path) -> None:
    names = ("toypackage.reader", "toypackage.lonely")
    before = {n: code_version(n) for n in names}
    (toy / "neighbour.toml").write_text("a = 1\n")
    forget()
    assert {n: code_version(n) for n in names} == before
    (toy / "reader.toml").write_text("a = 1\n")
    forget()
    declared = code_version("toypackage.reader")
    assert declared != before["toypackage.reader"]
    (toy / "reader.toml").write_text("a = 2\n")
    forget()
    assert code_version("toypackage.reader") not in {declared, before["toypackage.reader"]}
    assert code_version("toypackage.lonely") == before["toypackage.lonely"]


def test_a_template_of_a_module_counts_as_its_code(toy: Path) -> None:
    names = ("toypackage.reader", "toypackage.lonely")
    before = [code_version(n) for n in names]
    (toy / "templates").mkdir()
    seen = {before[0]}
    for file in ("helper.html.j2", "helper.css", "helper_parts.html.j2"):
        for text in ("a\n", "b\n"):
            (toy / "templates" / file).write_text(text)
            forget()
            seen.add(code_version("toypackage.reader"))
    assert len(seen) == 7, "each file and each change of it makes another version"
    assert code_version("toypackage.lonely") == before[1]
    (toy / "templates" / "helpers.html.j2").write_text("of no module\n")
    forget()
    assert code_version("toypackage.reader") in seen


def test_every_template_is_the_code_of_a_module_next_to_it() -> None:
    """A template that no module is named after would change a page and no code version."""
    packages = [REPO / name for name in module.PACKAGES]
    templates = [p for package in packages for p in package.rglob("templates/*") if p.is_file()]
    assert len(templates) > 10
    counted = {t for package in packages for file in package.rglob("*.py") for t in module._templates(file)}
    assert [str(t.relative_to(REPO)) for t in templates if t not in counted] == []


@pytest.mark.parametrize(
    ("module_name", "template"),
    [
        ("readbench_data.audit.dataset_page", "readbench_data/audit/templates/dataset_page.html.j2"),
        ("readbench_data.evaluation.board.files", "readbench_data/pages/templates/page.css"),
        ("readbench_data.evaluation.board.files", "readbench_data/evaluation/board/page/templates/claims.html.j2"),
        ("readbench_data.release.build", "readbench_data/release/templates/card_code.md.j2"),
    ],
)
def test_a_page_uses_its_templates(module_name: str, template: str) -> None:
    files = [file for name in closure([module_name]) if (file := module._file(name))]
    assert REPO / template in {t for file in files for t in module._templates(file)}


def test_a_changed_template_makes_no_lane_stale() -> None:
    for stage in ("raw", "recordings", "windows", "benchmark"):
        files = [file for name in closure([f"readbench_data.lane.stage_{stage}"]) if (file := module._file(name))]
        assert [t.name for file in files for t in module._templates(file)] == []


def test_the_index_uses_the_label_rules_and_not_the_command_line() -> None:
    used = closure(["readbench_data.windows.index"])
    assert {
        "readbench_data.windows.index",
        "readbench_data.windows.labeling",
        "readbench_data.recordings.recording",
    } <= used
    assert not any(name.startswith("readbench_data.cli") for name in used)


def test_a_version_is_twelve_digits_and_does_not_depend_on_the_order_of_modules() -> None:
    one = code_version("readbench_data.selection.split", "readbench_data.entry")
    assert len(one) == 12
    assert int(one, 16) >= 0
    assert one == code_version("readbench_data.entry", "readbench_data.selection.split")
