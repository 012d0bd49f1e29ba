"""Language models: four protocols and the direct classifier against a stand-in on the loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from readbench_data.errors import ReadbenchError
from readbench_data.evaluation.methods.endpoint import Endpoint
from readbench_data.evaluation.methods.language import LANGUAGE, deseasonalised, read_order
from readbench_data.evaluation.methods.registry import method
from readbench_data.evaluation.run.protocol import evaluate
from readbench_data.evaluation.task.release_data import Release
from readbench_data.evaluation.task.task import Task

Reply = Callable[[str], str | int]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[dict[str, Any]]]]:
    """Start a stand-in that answers by ``reply(prompt)`` (a number: that HTTP status); gives the requests it gets."""
    servers = []

    def start(reply: Reply, style: str = "openai") -> list[dict[str, Any]]:
        seen: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                seen.append({"path": self.path, "headers": dict(self.headers), "body": body})
                text = reply(body["messages"][0]["content"])
                if isinstance(text, int):
                    self.send_error(text)
                    return
                openai = {"choices": [{"message": {"content": text}}]}
                answer = openai if style == "openai" else {"content": [{"type": "text", "text": text}]}
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *args: Any) -> None:
                """Stay quiet."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = {"URL": f"http://127.0.0.1:{server.server_port}/v1", "MODEL": "m", "STYLE": style, "KEY": "k"}
        for key, value in settings.items():
            monkeypatch.setenv(f"READBENCH_LLM_{key}", value)
        return seen

    yield start
    for server in servers:
        server.shutdown()


def pools(release: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First twenty before and after reranking, and the labels."""
    view = Task.load(Release(release), "waves").view(0)
    base, reranked = method("ED"), method(name)
    before = view.rank(base.score(view, base.fit(view)))[:, :20]
    after = view.rank(reranked.score(view, reranked.fit(view)))[:, :20]
    return before, after, view.corpus_labels


@pytest.mark.parametrize("style", ["openai", "anthropic"])
def test_a_whole_order_is_followed(release: Path, serve: Any, style: str) -> None:
    seen = serve(lambda prompt: f"Here: {list(range(20, 0, -1))}", style)
    before, after, _ = pools(release, "ED+LLM-Order")
    assert (after == before[:, ::-1]).all()
    assert len(seen) == 9
    assert seen[0]["path"] == {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[style]
    headers = {k.lower(): v for k, v in seen[0]["headers"].items()}
    assert headers.get("authorization" if style == "openai" else "x-api-key") in ("Bearer k", "k")
    assert seen[0]["body"]["temperature"] == 0


@pytest.mark.parametrize(("code", "good", "bad"), [("LLM-YesNo", "Yes.", "no"), ("LLM-Score", "90", "about 5")])
def test_pairs_are_sorted_by_their_answers(release: Path, serve: Any, code: str, good: str, bad: str) -> None:
    serve(lambda prompt: good if "'B'" in prompt else bad)
    before, after, labels = pools(release, f"ED+{code}")
    for old, new in zip(before, after, strict=True):
        expected = [*old[labels[old] == "B"], *old[labels[old] != "B"]]
        assert new.tolist() == expected


@pytest.mark.parametrize("code", LANGUAGE)
def test_a_reply_that_cannot_be_read_changes_nothing(release: Path, serve: Any, code: str) -> None:
    serve(lambda prompt: "I would rather talk about the weather.")
    before, after, _ = pools(release, f"ED+{code}")
    assert (before == after).all()


def test_the_query_label_is_in_no_prompt(release: Path, serve: Any, build: Any, tmp_path: Path) -> None:
    spec = build.simple(0)
    for item in spec.items["queries"]:
        item.class_label = "SECRET"
    seen = serve(lambda prompt: "yes 1 [1] A")
    root = build.write(tmp_path / "r", {"d": spec})
    evaluate(root, tmp_path / "o", ["LLM-Direct", *(f"ED+{c}" for c in LANGUAGE)], ["d"])
    assert len(seen) > 100
    assert "SECRET" not in json.dumps([s["body"] for s in seen])


def test_direct_classification(release: Path, serve: Any, tmp_path: Path) -> None:
    serve(lambda prompt: "It is B")
    rows = evaluate(release, tmp_path, ["LLM-Direct"], ["waves"]).rows
    ndcg = rows.filter((pl.col("metric") == "ndcg") & (pl.col("k") == 10) & (pl.col("rho") == 0))["value"]
    assert ndcg.to_list() == pytest.approx([1 / 3])  # right for the three queries of class B


def test_failures_are_one_clear_line(
    release: Path, serve: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = evaluate(release, tmp_path, ["ED+LLM-Order"], ["waves"]).rows
    assert rows["reason"][0] == "ReadbenchError: needs a language model: set READBENCH_LLM_URL and READBENCH_LLM_MODEL"
    serve(lambda prompt: 401)
    rows = evaluate(release, tmp_path, ["ED+LLM-Order"], ["waves"]).rows
    assert re.fullmatch(r"ReadbenchError: http://127.0.0.1:\d+/v1 answered 401 Unauthorized", rows["reason"][0])
    monkeypatch.setenv("READBENCH_LLM_STYLE", "telepathy")
    with pytest.raises(ReadbenchError, match="use openai or anthropic"):
        Endpoint.from_environment()


def test_a_busy_server_is_called_again(serve: Any) -> None:
    answers: list[str | int] = [503, 429, "done"]
    serve(lambda prompt: answers.pop(0))
    found = Endpoint.from_environment()
    assert Endpoint(found.url, "m", pause_s=0.01).ask("hello") == "done"
    serve(lambda prompt: 503)
    busy = Endpoint(Endpoint.from_environment().url, "m", pause_s=0.01)
    with pytest.raises(ReadbenchError, match="answered 503"):
        busy.ask("hello")


def test_orders_are_read_from_untidy_replies() -> None:
    assert read_order("Sure! [3, 1, 3, 9, true, 2]", 3) == [2, 0, 1]
    assert read_order("I thought [1, 2], then [2, 1].", 2) == [1, 0]
    assert read_order("none", 3) == []
    assert read_order("[a, b]", 3) == []


def test_residuals_have_no_trend_and_no_main_season() -> None:
    t = np.arange(64)
    assert np.abs(deseasonalised(0.3 * t + np.sin(2 * np.pi * t / 16))).max() < 0.35
    spike = np.zeros(64)
    spike[40] = 5
    assert np.argmax(deseasonalised(spike + np.sin(2 * np.pi * t / 16) * 3)) == 40
