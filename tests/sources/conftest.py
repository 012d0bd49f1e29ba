"""Fixtures for the test module of a source: the miniature of its ``SOURCE``, its recordings, segments and windows."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from readbench_data.recordings.curation import Segment
from readbench_data.recordings.recording import Recording
from tests.support import built
from tests.support.workbench import Workbench


@pytest.fixture(scope="module")
def bench(request: pytest.FixtureRequest) -> Workbench:
    return Workbench(request.module.SOURCE)


@pytest.fixture(scope="module")
def folder(bench: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The miniature's files; copy them before changing them."""
    return built.miniature(tmp_path_factory, bench.source.name)


@pytest.fixture(scope="module")
def made(bench: Workbench, folder: Path) -> dict[str, Recording]:
    """The miniature's recordings by id."""
    return bench.by_id(folder)


@pytest.fixture(scope="module")
def cut(bench: Workbench, made: dict[str, Recording]) -> dict[str, Segment]:
    """The miniature's segments by recording."""
    return {s.recording_id: s for s in bench.curated(made.values())}


@pytest.fixture(scope="module")
def windows(bench: Workbench, made: dict[str, Recording]) -> pl.DataFrame:
    """The miniature's window index."""
    return bench.index(bench.curated(made.values()))
