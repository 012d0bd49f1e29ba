"""A Hub on the loopback for each test, small releases to publish, and no waiting."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import built
import pytest
from hub_standin import HubStandIn
from huggingface_hub.utils import _http

from readbench_data.hub.patience import Patience

TOKEN = "hf_thistokenmustneverbeshown"


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


def patient(attempts: int = 8) -> Patience:
    """Patience that does not wait, and keeps the waits it would have made in ``waits``."""
    waits: list[float] = []
    made = Patience(attempts=attempts, sleep=waits.append)
    made.waits = waits  # type: ignore[attr-defined]
    return made


def tiny(folder: Path, version: str, changed: bool) -> dict[str, Any]:
    """A release folder of two datasets as the publisher sees it: a manifest and the files it lists.

    With ``changed``, one Parquet file of four and the small files are others, and a file is gone.
    """
    contents = {
        f"data/{name}/{part}.parquet": f"PAR1 {name} {part}".encode() * 40
        for name in ("plant", "pump")
        for part in ("queries", "corpus-anomalies")
    }
    contents["README.md"] = b"---\nlicense: mit\n---\n# " + version.encode()
    contents["composition.json"] = json.dumps({"version": version}).encode()
    if changed:
        contents["data/pump/queries.parquet"] = b"PAR1 other queries" * 40
    else:
        contents["data/pump/corpus-normals-10.parquet"] = b"PAR1 normals" * 40
    for path, data in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    files = {path: _stated(data) for path, data in sorted(contents.items())}
    manifest = {"version": version, "datasets": {}, "config": {}, "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest, sort_keys=True))
    return manifest


def _stated(data: bytes) -> dict[str, Any]:
    sha = hashlib.sha256(data).hexdigest()
    return {"sha256": sha, "bytes": len(data), "rows": None, "content_sha256": sha}
