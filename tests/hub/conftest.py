"""A Hub on the loopback for each test, small releases to publish, and no waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import built
import pytest
from hub_releases import TOKEN
from hub_standin import HubStandIn
from huggingface_hub.utils import _http


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubStandIn]:
    standin = HubStandIn(tmp_path / "hub")
    yield standin
    standin.stop()


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return TOKEN


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own retries of uploads wait up to 8 seconds: not here."""
    clock = SimpleNamespace(**{n: getattr(time, n) for n in dir(time) if not n.startswith("_")})
    clock.sleep = lambda seconds: None
    monkeypatch.setattr(_http, "time", clock)


@pytest.fixture(scope="session")
def lite(tmp_path_factory: pytest.TempPathFactory) -> built.Built:
    return built.lite(tmp_path_factory)
