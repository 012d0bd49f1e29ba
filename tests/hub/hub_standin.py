"""A Hub on the loopback that speaks the real protocol for datasets: LFS batch, preupload, ndjson commits, tags,
trees, resolve with ranges, and its error statuses. Our own code on the standard library; the real clients talk to it.

``Fault`` says what goes wrong with a request; ``HubStandIn.faults`` is asked before every one. Commits and tags are
applied under one lock, so whatever a test looks at is a state that a reader could have seen.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import socket
import struct
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import hub_answers as answers
from hub_answers import File, Repository, git_blob

FIRST = hashlib.sha1(b"initial commit").hexdigest()


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
class Asked:
    """One request: ``what`` is its kind in words, such as ``POST commit``."""

    what: str
    path: str
    status: int | None
    bytes: int
    authorized: bool


class HubStandIn(ThreadingHTTPServer):
    """Starts with the first ``with``; ``url`` is its endpoint."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.blobs = folder / "blobs"
        self.blobs.mkdir(parents=True, exist_ok=True)
        self.repositories: dict[str, Repository] = {}
        self.lock = threading.RLock()
        self._log: list[Asked] = []
        self._busy = 0
        self._idle = threading.Condition()
        self.faults: Callable[[str, str], Fault | None] = lambda what, path: None
        self.before_commit: Callable[[], None] = lambda: None
        self.echo_secrets = False
        self.rivals = 0
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

    # -- state, as a reader sees it ------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Number of requests by kind."""
        out: dict[str, int] = {}
        for asked in self.log:
            out[asked.what] = out.get(asked.what, 0) + 1
        return dict(sorted(out.items()))

    def read(self, name: str, revision: str, path: str) -> bytes:
        """A file of a commit or tag."""
        return (self.blobs / self.files(name, revision)[path].sha256).read_bytes()

    def files(self, name: str, revision: str) -> dict[str, File]:
        repository = self.repositories[name]
        return repository.commits[answers.resolve(repository, revision) or ""]

    def forget(self) -> None:
        """Back to an empty Hub; uploaded blobs stay, as on a real one."""
        with self.lock:
            self.repositories.clear()
            self._log.clear()
            self.faults = lambda what, path: None

    # -- changes ----------------------------------------------------------------------------------------------------

    def create(self, name: str, private: bool) -> bool:
        with self.lock:
            if name in self.repositories:
                return False
            data = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
            first = {".gitattributes": self.store(data, lfs=False)}
            self.repositories[name] = Repository(
                private, FIRST, {FIRST: first}, {FIRST: "initial commit"}, {FIRST: None}
            )
            return True

    def store(self, data: bytes, lfs: bool) -> File:
        sha = hashlib.sha256(data).hexdigest()
        (self.blobs / sha).write_bytes(data)
        return File(sha, len(data), git_blob(data), lfs)

    def commit(self, name: str, files: dict[str, File], title: str) -> str:
        with self.lock:
            repository = self.repositories[name]
            text = json.dumps([repository.head, title, sorted((p, f.sha256) for p, f in files.items())])
            made = hashlib.sha1(f"{text}{len(repository.commits)}".encode()).hexdigest()
            repository.commits[made] = files
            repository.titles[made] = title
            repository.parents[made] = repository.head
            repository.head = made
            return made

    def rival(self, name: str) -> None:
        """Somebody else adds a note to the repository."""
        with self.lock:
            if name in self.repositories:
                self.rivals += 1
                repository = self.repositories[name]
                note = self.store(f"note {self.rivals}\n".encode(), lfs=False)
                self.commit(name, {**repository.commits[repository.head], "NOTES.txt": note}, "a note")


class _Dropped(Exception):
    """The connection was reset on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # an answer is one packet: nothing waits for a delayed acknowledgement
    server: HubStandIn

    def log_message(self, *arguments: object) -> None:
        """Nothing on stderr."""

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
                self._route(parts.path, urllib.parse.parse_qs(parts.query), body)
                if fault is not None:
                    self._go_wrong(fault, parts.path, before=False)
        except (_Dropped, ConnectionError):
            self.close_connection = True
        finally:
            authorized = bool(self.headers.get("Authorization"))
            self.server.end(Asked(what, self.path, self.status, len(body), authorized))

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
            raise _Dropped
        if fault.kind == ("drop_before" if before else "drop_after"):
            # a reset, not an orderly end: linger 0 makes the kernel send RST
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            raise _Dropped
        if before and fault.kind == "status":
            said = "injected"
            if self.server.echo_secrets:
                said += f": you sent {self.headers.get('Authorization')} to {self.path}?X-Amz-Signature=abcdef"
            self._json({"error": said}, fault.code, dict(fault.headers) | {"X-Error-Message": said})

    # -- answers ----------------------------------------------------------------------------------------------------

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                out += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return out
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _send(self, code: int, data: bytes, headers: dict[str, str]) -> None:
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

    def _json(self, value: object, code: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(code, json.dumps(value).encode(), {"Content-Type": "application/json"} | (headers or {}))

    def _error(self, code: int, message: str, error_code: str | None = None) -> None:
        headers = {"X-Error-Message": message} | ({"X-Error-Code": error_code} if error_code else {})
        self._json({"error": message}, code, headers)

    def _route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        if path == "/api/validate-yaml":
            return self._json(answers.validate(json.loads(body)["content"]))
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path.startswith("/lfs/"):
            return self._lfs(path.split("/")[2], body)
        batch = re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path)
        if batch:
            return self._batch(json.loads(body))
        match = re.fullmatch(r"/(?:api/)?datasets/([^/]+/[^/]+?)(?:/([a-z-]+)(?:/([^/]+)(?:/(.*))?)?)?", path)
        if not match:
            return self._error(404, "no route")
        name, verb, revision, rest = match.groups()
        repository = self.server.repositories.get(name)
        if repository is None:
            return self._error(404, "Repository not found", "RepoNotFound")
        with self.server.lock:
            return self._repository(name, repository, verb, revision, urllib.parse.unquote(rest or ""), query, body)

    def _repository(
        self,
        name: str,
        repository: Repository,
        verb: str | None,
        revision: str | None,
        rest: str,
        query: dict[str, list[str]],
        body: bytes,
    ) -> None:
        if verb == "commit":
            return self._commit(name, repository, body)
        if verb == "refs":
            return self._json(answers.refs(repository))
        commit = answers.resolve(repository, revision or "main")
        if commit is None:
            return self._error(404, "Revision not found", "RevisionNotFound")
        files = repository.commits[commit]
        if verb == "tag":
            tag = json.loads(body)["tag"]
            if tag in repository.tags:
                return self._error(409, f"Tag reference exists already: refs/tags/{tag}")
            repository.tags[tag] = commit
            return self._json({})
        if verb == "preupload":
            return self._json({"files": [answers.preupload(f, files) for f in json.loads(body)["files"]]})
        if verb in (None, "revision"):
            return self._json(answers.info(name, repository, commit))
        if verb == "tree":
            return self._tree(files, rest, query.get("recursive", ["false"])[0].lower() in ("true", "1"))
        if verb == "commits":
            return self._json(answers.history(repository, commit))
        if verb == "resolve":
            return self._resolve(files, rest, commit)
        if verb == "paths-info":
            return self._paths(files, body)
        return self._error(404, f"no verb {verb}")

    def _create(self, asked: dict[str, Any]) -> None:
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        url = f"{self.server.url}/datasets/{name}"
        private = asked.get("private") or asked.get("visibility") == "private"
        if not self.server.create(name, bool(private)):
            return self._json({"error": "You already created this dataset repo", "url": url}, 409)
        return self._json({"url": url, "id": name, "name": name})

    def _lfs(self, oid: str, body: bytes) -> None:
        if self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != oid:
                return self._error(400, "the bytes are not those of the object")
            part = self.server.blobs / f"{oid}.{threading.get_ident()}.part"
            part.write_bytes(body)
            part.replace(self.server.blobs / oid)
            return self._send(200, b"", {"ETag": f'"{oid}"'})
        if self.command == "POST":
            there = (self.server.blobs / oid).is_file()
            return self._json({}, 200 if there else 404)
        return self._blob(oid, {"ETag": f'"{oid}"'})

    def _batch(self, asked: dict[str, Any]) -> None:
        objects = []
        for one in asked["objects"]:
            entry: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if not (self.server.blobs / one["oid"]).is_file():
                href = f"{self.server.url}/lfs/{one['oid']}"
                entry["actions"] = {
                    "upload": {"href": href, "header": {}},
                    "verify": {"href": f"{href}/verify", "header": {}},
                }
            objects.append(entry)
        self._json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, repository: Repository, body: bytes) -> None:
        files = dict(repository.commits[repository.head])
        title = ""
        for line in body.splitlines():
            record = json.loads(line)
            key, value = record["key"], record["value"]
            if key == "header":
                title = value["summary"]
                parent = value.get("parentCommit")
                if parent and not repository.head.startswith(parent):
                    return self._error(412, "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                files[value["path"]] = self.server.store(base64.b64decode(value["content"]), lfs=False)
            elif key == "lfsFile":
                blob = self.server.blobs / value["oid"]
                if not blob.is_file():
                    return self._error(400, f"LFS pointer pointed to a file that does not exist {value['oid']}")
                pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{value['oid']}\n".encode()
                files[value["path"]] = File(value["oid"], blob.stat().st_size, git_blob(pointer), lfs=True)
            elif key == "deletedFile":
                files.pop(value["path"], None)
        self.server.before_commit()
        made = self.server.commit(name, files, title)
        return self._json({"success": True, "commitOid": made, "commitUrl": f"{self.server.url}/{name}/commit/{made}"})

    def _tree(self, files: dict[str, File], rest: str, recursive: bool) -> None:
        prefix = f"{rest.rstrip('/')}/" if rest else ""
        inside = {path: file for path, file in sorted(files.items()) if path.startswith(prefix)}
        if prefix and not inside:
            return self._error(404, "Entry not found", "EntryNotFound")
        out: list[dict[str, Any]] = []
        seen: set[str] = set()
        for path, file in inside.items():
            parts = path[len(prefix) :].split("/")
            folders = [prefix + "/".join(parts[:i]) for i in range(1, len(parts))]
            for folder in folders if recursive else folders[:1]:
                if folder not in seen:
                    seen.add(folder)
                    out.append({"type": "directory", "path": folder, "size": 0, "oid": "0" * 40})
            if recursive or len(parts) == 1:
                out.append(answers.entry(path, file))
        return self._json(out)

    def _paths(self, files: dict[str, File], body: bytes) -> None:
        is_json = "json" in (self.headers.get("Content-Type") or "")
        asked = json.loads(body) if is_json else urllib.parse.parse_qs(body.decode())
        out: list[dict[str, Any]] = []
        for path in (p.strip("/") for p in asked["paths"]):
            if path in files:
                out.append(answers.entry(path, files[path]))
            elif not path or any(p.startswith(f"{path}/") for p in files):
                out.append({"type": "directory", "path": path, "size": 0, "oid": "0" * 40})
        self._json(out)

    def _resolve(self, files: dict[str, File], path: str, commit: str) -> None:
        file = files.get(path)
        if file is None:
            headers = {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found", "X-Repo-Commit": commit}
            return self._json({"error": "Entry not found"}, 404, headers)
        etag = file.sha256 if file.lfs else file.oid
        headers = {"X-Repo-Commit": commit, "ETag": f'"{etag}"'}
        if file.lfs:  # large files lie on another host, as on the real Hub
            where = f"http://localhost:{self.server.server_port}/lfs/{file.sha256}"
            linked = {"X-Linked-Size": str(file.size), "X-Linked-Etag": f'"{etag}"', "Location": where}
            return self._send(302, b"", headers | linked)
        return self._blob(file.sha256, headers)

    def _blob(self, sha: str, headers: dict[str, str]) -> None:
        path = self.server.blobs / sha
        if not path.is_file():
            return self._error(404, "no such object")
        data = path.read_bytes()
        headers = headers | {"Accept-Ranges": "bytes"}
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if match and self.command == "GET":
            first, last = match.groups()
            start = int(first) if first else len(data) - int(last)
            stop = min(int(last) + 1 if first and last else len(data), len(data))
            part = data[start:stop]
            return self._send(206, part, headers | {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"})
        return self._send(200, data, headers)
