"""Receives and answers requests, and injects faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import struct
import urllib.parse
from abc import abstractmethod
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.hub.standin import HubStandIn


@dataclass(frozen=True)
class Fault:
    """``kind``: ``status`` (answer with ``code``), ``drop_before`` or ``drop_after`` (the connection is reset before
    or after the request was applied), ``rival`` (somebody else commits first), ``kill_before``, ``kill_after``
    (the process ``pid`` is killed)."""

    kind: str
    code: int = 500
    headers: tuple[tuple[str, str], ...] = ()
    pid: int = 0


@dataclass(frozen=True)
class LoggedRequest:
    """One request: ``what`` is its kind, such as ``POST commit``."""

    what: str
    path: str
    status: int | None
    bytes: int
    authorized: bool


class Dropped(Exception):
    """The connection was reset on purpose."""


class Wire(BaseHTTPRequestHandler):
    """One connection. ``route`` answers its requests; the server decides which faults are injected."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet per answer, so nothing waits for a delayed acknowledgement
    server: HubStandIn

    @abstractmethod
    def route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        """Answer one request."""

    def log_message(self, *arguments: object) -> None:
        """Write nothing to stderr."""

    def do_any(self) -> None:
        body = self._body()
        parts = urllib.parse.urlsplit(self.path)
        what = self._kind(parts.path)
        self.status: int | None = None
        self.server.begin()
        try:
            fault = self.server.faults(what, parts.path)
            if fault is not None:
                self._go_wrong(fault, parts.path, before=True)
            if self.status is None:
                self._answers = fault is None or not fault.kind.endswith("_after")
                self.route(parts.path, urllib.parse.parse_qs(parts.query), body)
                if fault is not None:
                    self._go_wrong(fault, parts.path, before=False)
        except (Dropped, ConnectionError):
            self.close_connection = True
        finally:
            authorized = bool(self.headers.get("Authorization"))
            self.server.end(LoggedRequest(what, self.path, self.status, len(body), authorized))

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = do_any  # noqa: N815

    def _kind(self, path: str) -> str:
        if path.endswith("objects/batch"):
            verb = "lfs batch"
        elif path.startswith("/lfs/"):
            verb = "lfs verify" if path.endswith("verify") else "lfs object"
        else:
            match = re.fullmatch(r"/(?:api/)?datasets/[^/]+/[^/]+/([a-z-]+)(?:/.*)?", path)
            verb = match.group(1) if match else path.removeprefix("/api/").split("/")[0]
            verb = "info" if match is None and verb == "datasets" else verb
        return f"{self.command} {verb}"

    def _go_wrong(self, fault: Fault, path: str, before: bool) -> None:
        match = re.match(r"/(?:api/)?datasets/([^/]+/[^/]+?)(?:\.git)?/", path)
        if before and fault.kind == "rival" and match:
            self.server.rival(match.group(1))
        if fault.kind == ("kill_before" if before else "kill_after"):
            os.kill(fault.pid, signal.SIGKILL)
            raise Dropped
        if fault.kind == ("drop_before" if before else "drop_after"):
            # a reset instead of an orderly close: linger 0 makes the kernel send RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            raise Dropped
        if before and fault.kind == "status":
            message = "injected"
            if self.server.echo_secrets:
                message += f": you sent {self.headers.get('Authorization')} to {self.path}?X-Amz-Signature=abcdef"
            self.json({"error": message}, fault.code, dict(fault.headers) | {"X-Error-Message": message})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                out += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, code: int, data: bytes, headers: dict[str, str]) -> None:
        self.status = code
        if not getattr(self, "_answers", True):
            return
        self.send_response(code)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.wfile.flush()

    def json(self, value: object, code: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send(code, json.dumps(value).encode(), {"Content-Type": "application/json"} | (headers or {}))

    def error(self, code: int, message: str, error_code: str | None = None) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": error_code} if error_code else {})
        self.json({"error": message}, code, headers)
