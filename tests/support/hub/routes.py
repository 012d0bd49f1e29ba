"""The addresses of the Hub for datasets: repositories, commits as ndjson, tags, trees, and its error statuses."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
from typing import Any

from tests.support.hub import answers as answers
from tests.support.hub.state import File, Repository, git_blob, resolve
from tests.support.hub.storage import Storage


class Routes(Storage):
    """Answers every request of the real clients."""

    def route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        if path == "/api/validate-yaml":
            return self.json(answers.validate(json.loads(body)["content"]))
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path.startswith("/lfs/"):
            return self.lfs(path.split("/")[2], body)
        batch = re.fullmatch(r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", path)
        if batch:
            return self.batch(json.loads(body))
        match = re.fullmatch(r"/(?:api/)?datasets/([^/]+/[^/]+?)(?:/([a-z-]+)(?:/([^/]+)(?:/(.*))?)?)?", path)
        if not match:
            return self.error(404, "no route")
        name, verb, revision, rest = match.groups()
        repository = self.server.repositories.get(name)
        if repository is None:
            return self.error(404, "Repository not found", "RepoNotFound")
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
            return self.json(answers.refs(repository))
        commit = resolve(repository, revision or "main")
        if commit is None:
            return self.error(404, "Revision not found", "RevisionNotFound")
        files = repository.commits[commit]
        if verb == "tag":
            tag = json.loads(body)["tag"]
            if tag in repository.tags:
                return self.error(409, f"Tag reference exists already: refs/tags/{tag}")
            repository.tags[tag] = commit
            return self.json({})
        if verb == "preupload":
            return self.json({"files": [answers.preupload(f, files) for f in json.loads(body)["files"]]})
        if verb in (None, "revision"):
            return self.json(answers.info(name, repository, commit))
        if verb == "tree":
            return self._tree(files, rest, query.get("recursive", ["false"])[0].lower() in ("true", "1"))
        if verb == "commits":
            return self.json(answers.history(repository, commit))
        if verb == "resolve":
            return self.resolve(files, rest, commit)
        if verb == "paths-info":
            return self._paths(files, body)
        return self.error(404, f"no verb {verb}")

    def _create(self, requested: dict[str, Any]) -> None:
        name = f"{requested.get('organization') or 'tester'}/{requested['name']}"
        url = f"{self.server.url}/datasets/{name}"
        private = requested.get("private") or requested.get("visibility") == "private"
        if not self.server.create(name, bool(private)):
            return self.json({"error": "You already created this dataset repo", "url": url}, 409)
        return self.json({"url": url, "id": name, "name": name})

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
                    return self.error(412, "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                files[value["path"]] = self.server.store(base64.b64decode(value["content"]), lfs=False)
            elif key == "lfsFile":
                blob = self.server.blobs / value["oid"]
                if not blob.is_file():
                    return self.error(400, f"LFS pointer pointed to a file that does not exist {value['oid']}")
                pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{value['oid']}\n".encode()
                files[value["path"]] = File(value["oid"], blob.stat().st_size, git_blob(pointer), lfs=True)
            elif key == "deletedFile":
                files.pop(value["path"], None)
        self.server.before_commit()
        made = self.server.commit(name, files, title)
        return self.json({"success": True, "commitOid": made, "commitUrl": f"{self.server.url}/{name}/commit/{made}"})

    def _tree(self, files: dict[str, File], rest: str, recursive: bool) -> None:
        prefix = f"{rest.rstrip('/')}/" if rest else ""
        inside = {path: file for path, file in sorted(files.items()) if path.startswith(prefix)}
        if prefix and not inside:
            return self.error(404, "Entry not found", "EntryNotFound")
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
        return self.json(out)

    def _paths(self, files: dict[str, File], body: bytes) -> None:
        is_json = "json" in (self.headers.get("Content-Type") or "")
        requested = json.loads(body) if is_json else urllib.parse.parse_qs(body.decode())
        out: list[dict[str, Any]] = []
        for path in (p.strip("/") for p in requested["paths"]):
            if path in files:
                out.append(answers.entry(path, files[path]))
            elif not path or any(p.startswith(f"{path}/") for p in files):
                out.append({"type": "directory", "path": path, "size": 0, "oid": "0" * 40})
        self.json(out)
