"""The examples in the docstrings of public entry points run and give what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "dataset.config",
    "entry",
    "evaluation.kernels.dtw_independent",
    "evaluation.methods.registry",
    "evaluation.scoring.metrics",
    "evaluation.scoring.ties",
    "evaluation.statistics.intervals",
    "selection.sampling",
    "selection.split",
    "windows.windowing",
)
"""Modules with examples; add a module here with its first example."""


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"readbench_data.{name}"))
    assert result.attempted > 0, "the module has no example"
    assert result.failed == 0
