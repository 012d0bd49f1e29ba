"""CHARM: what is sent, in portions the server takes, and what is kept; with its own client where that is there."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from readbench_data.evaluation.methods import charm
from readbench_data.evaluation.methods.charm import Charm
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.task.arrays import ArrayCache
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task

client_installed = pytest.mark.skipif(importlib.util.find_spec("charm") is None, reason="not installed: c3-charm")


class Server:
    """A stand-in for the client: an embedding is each channel's deviation; counts requests, says what it serves."""

    def __init__(self, four_dimensional: bool = False) -> None:
        self.asked: list[dict[str, Any]] = []
        self.serves = "one"
        self.four = four_dimensional
        self.embeddings = SimpleNamespace(create=self.create)

    def model_info(self) -> dict[str, str]:
        return {"model": self.serves}

    def create(self, **request: Any) -> Any:
        self.asked.append(request)
        values = np.array(request["ts_array"])
        return SimpleNamespace(embeds=values[:, :, :, None] if self.four else values.std(axis=1))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    stand_in = Server()
    monkeypatch.setattr(charm, "loaded", lambda embedder: stand_in)
    monkeypatch.setattr(charm, "needed", lambda *names: SimpleNamespace(APIError=LookupError))
    return stand_in


def test_names_and_raw_values_are_sent(release: Path, server: Server) -> None:
    task = Task.load(Release(release), "waves")
    vectors = Charm().vectors(task.view(0))
    assert server.asked[0]["descriptions"][0] == ["s0", "s1", "s2"]
    assert server.asked[0]["ts_array"][0] == task.queries.values[0].tolist()
    assert vectors.corpus.shape == (36, 3)
    assert np.linalg.norm(vectors.corpus, axis=1) == pytest.approx(np.ones(36))


def test_a_request_holds_no_more_than_the_server_takes(
    release: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charm, "REQUEST_VALUES", 32 * 3 * 5)
    task = Task.load(Release(release), "waves")
    Charm().vectors(task.view(0))
    assert max(len(request["ts_array"]) for request in server.asked) == 5
    assert sum(len(request["ts_array"]) for request in server.asked) == 9 + 45 + 9


def test_another_served_model_is_called_again(release: Path, server: Server, tmp_path: Path) -> None:
    def run() -> int:
        before = len(server.asked)
        Charm().vectors(Task.load(Release(release), "waves", ArrayCache(tmp_path)).view(0))
        return len(server.asked) - before

    assert (run(), run()) == (3, 0)
    server.serves = "two"
    assert run() == 3


def test_a_server_that_does_not_pool(release: Path, server: Server) -> None:
    server.four = True
    task = Task.load(Release(release), "waves")
    got = Charm().windows(task.queries)
    assert got.shape == (9, 1)
    assert got[:, 0] == pytest.approx([v.mean() for v in task.queries.values], abs=1e-5)


@client_installed
def test_the_packages_own_client_against_a_server(
    release: Path, tmp_path: Path, loopback: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHARM_BASE_URL", loopback["url"])
    monkeypatch.setenv("CHARM_API_KEY", "k")
    charm.loaded.cache_clear()
    rows = evaluate(release, tmp_path, ["CHARM", "CHARM+NR"], ["waves"]).rows
    assert set(rows["status"]) == {"ok"}, rows["reason"][0]
    primary = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("method") == "CHARM"))
    assert primary["value"].min() > 0.5  # type: ignore[operator]
    assert {body["aggregate"] for body in loopback["bodies"]} == {True}
    assert len(loopback["bodies"]) == 3  # queries, corpus, reference; nothing for a warm-up, nothing twice
    charm.loaded.cache_clear()
    monkeypatch.delenv("CHARM_API_KEY")
    reason = evaluate(release, tmp_path / "again", ["CHARM"], ["waves"]).rows["reason"][0]
    assert "API key" in reason


@pytest.fixture
def loopback() -> Iterator[dict[str, Any]]:
    """POST /predict as the package documents it: half floats in the body, shape and type in headers."""
    kept: dict[str, Any] = {"bodies": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(json.dumps({"embed_dim": 16}).encode(), {"Content-Type": "application/json"})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            kept["bodies"].append(body)
            spectrum = np.abs(np.fft.rfft(np.array(body["ts_array"], float), axis=1))[:, 1:17].mean(axis=2)
            blob = spectrum.astype(np.float16)
            headers = {"X-Shape": json.dumps(blob.shape), "X-Dtype": "float16"}
            self.answer(blob.tobytes(), {"Content-Type": "application/octet-stream", **headers})

        def answer(self, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            """Stay quiet."""

    running = HTTPServer(("127.0.0.1", 0), Handler)
    kept["url"] = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield kept
    running.shutdown()
