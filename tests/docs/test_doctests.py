"""The examples in the docstrings of public entry points run and give what they show."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

from tests.evaluation.conftest import simple, write_release

MODULES = (
    "api.data",
    "api.scoring",
    "dataset.config",
    "entry",
    "evaluation.board.leaderboard",
    "evaluation.kernels.bm25",
    "evaluation.kernels.dtw_dependent",
    "evaluation.kernels.dtw_independent",
    "evaluation.methods.base",
    "evaluation.methods.fusion",
    "evaluation.methods.registry",
    "evaluation.run.present",
    "evaluation.run.protocol",
    "evaluation.scoring.chance",
    "evaluation.scoring.measure",
    "evaluation.scoring.metrics",
    "evaluation.scoring.ties",
    "evaluation.statistics.friedman",
    "evaluation.statistics.intervals",
    "evaluation.submission.board.checks",
    "release.card_parts",
    "release.guards",
    "selection.sampling",
    "selection.split",
    "windows.windowing",
)
"""Modules with examples; add a module here with its first example."""

PACKAGE = Path(__file__).resolve().parents[2] / "readbench_data"


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str, tmp_path: Path) -> None:
    """Examples may use ``release``, a small release with the dataset ``waves``, and ``out``, an empty folder."""
    given = {"release": write_release(tmp_path / "release", {"waves": simple()}), "out": tmp_path / "out"}
    result = doctest.testmod(importlib.import_module(f"readbench_data.{name}"), extraglobs=given)
    assert result.attempted > 0, "the module has no example"
    assert result.failed == 0


def test_every_module_with_an_example_is_listed() -> None:
    found = set()
    for path in PACKAGE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        texts = (ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds))
        if any(line.lstrip().startswith(">>> ") for text in texts for line in text.splitlines()):
            found.add(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    assert found == set(MODULES)
