"""Large-file storage: uploads by SHA-256, and complete or ranged downloads from another host."""

from __future__ import annotations

import hashlib
import re
import threading
from typing import Any

from tests.support.hub.state import File
from tests.support.hub.wire import Wire


class Storage(Wire):
    """The part of the Hub that stores and serves bytes."""

    def lfs(self, oid: str, body: bytes) -> None:
        if self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != oid:
                return self.error(400, "the bytes are not those of the object")
            part = self.server.blobs / f"{oid}.{threading.get_ident()}.part"
            part.write_bytes(body)
            part.replace(self.server.blobs / oid)
            return self.send(200, b"", {"ETag": f'"{oid}"'})
        if self.command == "POST":
            there = (self.server.blobs / oid).is_file()
            return self.json({}, 200 if there else 404)
        return self._blob(oid, {"ETag": f'"{oid}"'})

    def batch(self, requested: dict[str, Any]) -> None:
        objects = []
        for one in requested["objects"]:
            entry: dict[str, Any] = {"oid": one["oid"], "size": one["size"]}
            if not (self.server.blobs / one["oid"]).is_file():
                href = f"{self.server.url}/lfs/{one['oid']}"
                entry["actions"] = {
                    "upload": {"href": href, "header": {}},
                    "verify": {"href": f"{href}/verify", "header": {}},
                }
            objects.append(entry)
        self.json({"transfer": "basic", "objects": objects})

    def resolve(self, files: dict[str, File], path: str, commit: str) -> None:
        file = files.get(path)
        if file is None:
            headers = {"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found", "X-Repo-Commit": commit}
            return self.json({"error": "Entry not found"}, 404, headers)
        etag = file.sha256 if file.lfs else file.oid
        headers = {"X-Repo-Commit": commit, "ETag": f'"{etag}"'}
        if file.lfs:  # large files are served by another host, as on the real Hub
            where = f"http://localhost:{self.server.server_port}/lfs/{file.sha256}"
            linked = {"X-Linked-Size": str(file.size), "X-Linked-Etag": f'"{etag}"', "Location": where}
            return self.send(302, b"", headers | linked)
        return self._blob(file.sha256, headers)

    def _blob(self, sha: str, headers: dict[str, str]) -> None:
        path = self.server.blobs / sha
        if not path.is_file():
            return self.error(404, "no such object")
        data = path.read_bytes()
        headers = headers | {"Accept-Ranges": "bytes"}
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if match and self.command == "GET":
            first, last = match.groups()
            start = int(first) if first else len(data) - int(last)
            stop = min(int(last) + 1 if first and last else len(data), len(data))
            part = data[start:stop]
            return self.send(206, part, headers | {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"})
        return self.send(200, data, headers)
