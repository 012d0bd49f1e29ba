"""Shared by all tests: the repository on the path, no network by accident, and the real files where they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.support.built import Built

REPO = Path(__file__).resolve().parents[1]

# The libraries read these when they are imported, so set them before any test module. The endpoint is a closed port:
# a test that needs a hub starts its own and names it.
os.environ.update(
    {
        "DAGSTER_DISABLE_TELEMETRY": "1",
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "HF_HUB_DISABLE_XET": "1",
        "MPLBACKEND": "Agg",
    }
)

settings.register_profile("readbench", deadline=None, derandomize=True, database=None)
settings.load_profile("readbench")

REALDATA = Path(os.environ.get("READBENCH_REALDATA", REPO / ".." / "shared" / "realdata")).resolve()


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or writes the data root, the Dagster home or the token of the person who runs it."""
    base = tmp_path_factory.getbasetemp()
    for name in [n for n in os.environ if n.startswith("READBENCH_") and n != "READBENCH_REALDATA"]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("READBENCH_DATA", str(base / "data"))
    monkeypatch.setenv("READBENCH_HOME", str(base / "home"))
    monkeypatch.setenv("HF_HOME", str(base / "hf"))


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """One lite build of three miniatures, shared by the whole run; copy it before changing it."""
    from tests.support import built  # after the environment is set

    return built.lite(tmp_path_factory)


@pytest.fixture(scope="session")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a declaration without Python and small exports; see ``tests.support.plant``."""
    from tests.support.plant import write

    return write(tmp_path_factory.mktemp("plant"))


@pytest.fixture(scope="session")
def realdata() -> Callable[[str], Path]:
    """``realdata("mit_bih")``: the folder of real original files, or a skip that names the folder that was searched."""

    def folder(dataset: str) -> Path:
        path = REALDATA / dataset
        if not path.is_dir():
            pytest.skip(f"no real files of {dataset}: there is no {path} (READBENCH_REALDATA names another folder)")
        return path

    return folder
