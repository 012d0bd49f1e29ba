"""Fixtures: a Hub on the loopback for each test, small releases to publish, and no waiting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from huggingface_hub.utils import _http

from readbench_data.store.store import Store
from tests.support import s3
from tests.support.hub.releases import TOKEN
from tests.support.hub.standin import HubStandIn


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
    """Skip the waits of up to 8 seconds between the client's own upload retries."""
    clock = SimpleNamespace(**{n: getattr(time, n) for n in dir(time) if not n.startswith("_")})
    clock.sleep = lambda seconds: None
    monkeypatch.setattr(_http, "time", clock)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Address of an S3 service on the loopback."""
    with s3.service() as url:
        yield url


@pytest.fixture(params=["folder", "s3"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A target to publish to: a folder that does not exist yet, and a bucket."""
    if request.param == "folder":
        return Store(str(tmp_path / "out"))
    endpoint = request.getfixturevalue("endpoint")
    return Store(f"{s3.bucket(endpoint)}/readbench", {"endpoint_url": endpoint})
