"""The state of a Hub: blobs, repositories, commits and tags. Changes are made under one lock, so a test sees only
states that a reader could have seen."""

from __future__ import annotations

import hashlib
import json
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FIRST = hashlib.sha1(b"initial commit").hexdigest()


@dataclass(frozen=True)
class File:
    sha256: str
    size: int
    oid: str
    lfs: bool


@dataclass
class Repository:
    private: bool
    head: str
    commits: dict[str, dict[str, File]]
    titles: dict[str, str]
    parents: dict[str, str | None]
    tags: dict[str, str] = field(default_factory=dict)


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def resolve(repository: Repository, revision: str) -> str | None:
    revision = urllib.parse.unquote(revision)
    if revision == "main":
        return repository.head
    return repository.tags.get(revision) or (revision if revision in repository.commits else None)


class HubState:
    """Repositories by name; ``blobs`` is the folder of their files by SHA-256."""

    def __init__(self, folder: Path) -> None:
        self.blobs = folder / "blobs"
        self.blobs.mkdir(parents=True, exist_ok=True)
        self.repositories: dict[str, Repository] = {}
        self.lock = threading.RLock()
        self.before_commit: Callable[[], None] = lambda: None
        self.rivals = 0

    def read(self, name: str, revision: str, path: str) -> bytes:
        """Return the bytes of a file of a commit or tag."""
        return (self.blobs / self.files(name, revision)[path].sha256).read_bytes()

    def files(self, name: str, revision: str) -> dict[str, File]:
        repository = self.repositories[name]
        return repository.commits[resolve(repository, revision) or ""]

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
        """Commit a note to the repository as a concurrent user."""
        with self.lock:
            if name in self.repositories:
                self.rivals += 1
                repository = self.repositories[name]
                note = self.store(f"note {self.rivals}\n".encode(), lfs=False)
                self.commit(name, {**repository.commits[repository.head], "NOTES.txt": note}, "a note")
