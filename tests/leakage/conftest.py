"""Fixtures of the tests of leaks and shortcuts."""

from __future__ import annotations

import pytest

from tests.support import built


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> built.Built:
    return built.lite(tmp_path_factory)
