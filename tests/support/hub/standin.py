"""A Hub on the loopback that speaks the real protocol for datasets: LFS batch, preupload, ndjson commits, tags,
trees, resolve with ranges, and its error statuses. Our own code on the standard library; the real clients talk to it.

``Fault`` describes what goes wrong with a request; ``HubStandIn.faults`` is called before each request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.hub.routes import Routes
from tests.support.hub.state import HubState
from tests.support.hub.wire import Fault, LoggedRequest

__all__ = ["Fault", "HubStandIn", "LoggedRequest"]


class HubStandIn(HubState, ThreadingHTTPServer):
    """A Hub that listens as soon as it is created; ``url`` is its endpoint."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path) -> None:
        HubState.__init__(self, folder)
        ThreadingHTTPServer.__init__(self, ("127.0.0.1", 0), Routes)
        self._log: list[LoggedRequest] = []
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
        """Ignore clients that have disconnected."""

    @property
    def log(self) -> list[LoggedRequest]:
        """The requests so far, once all running ones are logged: a client gets its answer slightly earlier."""
        with self._idle:
            self._idle.wait_for(lambda: self._busy == 0, timeout=5)
        return self._log

    def begin(self) -> None:
        with self._idle:
            self._busy += 1

    def end(self, request: LoggedRequest) -> None:
        with self._idle:
            self._log.append(request)
            self._busy -= 1
            self._idle.notify_all()

    def counts(self) -> dict[str, int]:
        """Return the number of requests by kind."""
        out: dict[str, int] = {}
        for request in self.log:
            out[request.what] = out.get(request.what, 0) + 1
        return dict(sorted(out.items()))
