"""Fixtures for the tests of a finished release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import built


@pytest.fixture(scope="session")
def pooled(lite: built.Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of the same lanes, built with ``--pool``."""
    data = lite.copy(tmp_path_factory.mktemp("pooled") / "data")
    for name in built.THREE:
        built.run_lane(built.lane(name, data, pool=True))
    built.gather(data)
    return data / "release" / built.VERSION
