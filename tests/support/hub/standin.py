"""A Hub on the loopback that speaks the real protocol for datasets: LFS batch, preupload, ndjson commits, tags,
trees, resolve with ranges, and its error statuses. Our own code on the standard library; the real clients talk to it.

``Fault`` says what goes wrong with a request; ``HubStandIn.faults`` is asked before every one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.hub.routes import Routes
from tests.support.hub.state import HubState
from tests.support.hub.wire import Asked, Fault

__all__ = ["Asked", "Fault", "HubStandIn"]


class HubStandIn(HubState, ThreadingHTTPServer):
    """Listens from the start; ``url`` is its endpoint."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path) -> None:
        HubState.__init__(self, folder)
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), Routes)
        self._log: list[Asked] = []
        self._busy = 0
        self._idle = threading.Condition()
        self.faults: Callable[[str, str], Fault | None] = lambda what, path: None
        self.echo_secrets = False
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is gone is no news here."""

    @property
    def log(self) -> list[Asked]:
        """What was asked, once every request in hand is written down: a client has its answer a moment earlier."""
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0, timeout=5)
        return self._log

    def begin(self) -> None:
        with self._idle:
            self._busy += 1

    def end(self, asked: Asked) -> None:
        with self._idle:
            self._log.append(asked)
            self._busy -= 1
            self._idle.notify_all()

    def counts(self) -> dict[str, int]:
        """Number of requests by kind."""
        out: dict[str, int] = {}
        for asked in self.log:
            out[asked.what] = out.get(asked.what, 0) + 1
        return dict(sorted(out.items()))
