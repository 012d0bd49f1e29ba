"""Fixtures for the tests of the ``readbench`` command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import built


@pytest.fixture(scope="session")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built.mirror(tmp_path_factory)
