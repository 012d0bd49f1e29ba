"""The store: a folder or any fsspec URL in which lanes and releases are stored and no partial result is ever visible.

Every stage of a lane writes into a folder named by the key of its inputs and writes ``done.json`` last; the pointer
``current.json`` is then switched to it in one step. A stage whose key is already complete is skipped. The scheme also
works on object stores, which cannot rename.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import posixpath
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar, overload

import fsspec
from fsspec.implementations.local import LocalFileSystem

from readbench_data.errors import ReadbenchError
from readbench_data.store.exchange import exchange
from readbench_data.store.records import JsonObject, StageRecord

_BLOCK = 4 << 20

R = TypeVar("R", bound=StageRecord)

TEMPORARY_PREFIXES = (".building-", ".replaced-", ".publishing-")
"""Prefixes of the temporary folders that a run creates next to the final ones."""

_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "oss", "oci"})
"""Protocols of stores without folders, where creating the folder of a file could create the bucket of a mistyped
address."""


def digest(value: object) -> str:
    """Return the SHA-256 of plain data as canonical JSON: the key of a stage, or the hash of a configuration."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Store:
    """Files in a root folder or URL. Paths are relative to it and use ``/``."""

    root: str
    options: JsonObject = field(default_factory=dict)

    @property
    def _located(self) -> tuple[fsspec.AbstractFileSystem, str]:
        return fsspec.core.url_to_fs(self.root, **self.options)

    @property
    def fs(self) -> fsspec.AbstractFileSystem:
        return self._located[0]

    @property
    def is_local(self) -> bool:
        return isinstance(self.fs, LocalFileSystem)

    def url(self, path: str = "") -> str:
        """Return the absolute path of a file in the store's own file system."""
        base = self._located[1]
        return posixpath.join(base, path) if path else base

    def exists(self, path: str) -> bool:
        return bool(self.fs.exists(self.url(path)))

    def names(self, path: str) -> list[str]:
        """Return the sorted names directly in a folder; empty if it does not exist."""
        if not self.exists(path):
            return []
        return sorted(posixpath.basename(p.rstrip("/")) for p in self.fs.ls(self.url(path), detail=False))

    def files(self, path: str) -> list[str]:
        """Return every file below a folder, sorted, relative to the store's root."""
        base = self.url()
        return sorted(posixpath.relpath(p, base) for p in self.fs.find(self.url(path)))

    def size(self, path: str) -> int:
        return int(self.fs.size(self.url(path)))

    @contextmanager
    def open_read(self, path: str) -> Iterator[IO[bytes]]:
        with self.fs.open(self.url(path), "rb") as stream:
            yield stream

    @contextmanager
    def open_write(self, path: str) -> Iterator[IO[bytes]]:
        """Open a file for writing; it appears under its name only when it is complete."""
        url = self.url(path)
        with _explained(url):
            if not _BUCKETS.intersection(_protocols(self.fs)):
                self.fs.makedirs(posixpath.dirname(url), exist_ok=True)
            if not self.is_local:
                with self.fs.open(url, "wb") as stream:
                    yield stream
                return
            part = f"{url}.{uuid.uuid4().hex[:8]}.part"
            try:
                with open(part, "wb") as stream:
                    yield stream
                    stream.flush()
                    os.fsync(stream.fileno())
                os.replace(part, url)
            finally:
                if os.path.exists(part):
                    os.unlink(part)

    def read_bytes(self, path: str) -> bytes:
        return bytes(self.fs.cat_file(self.url(path)))

    def write_bytes(self, path: str, data: bytes) -> None:
        with self.open_write(path) as stream:
            stream.write(data)

    def create(self, path: str, data: bytes) -> None:
        """Write a file that must not exist yet; a store without conditional writes overwrites it.

        Raises ``FileExistsError`` if the file exists.
        """
        try:
            self.fs.pipe_file(self.url(path), data, mode="create")
        except (FileNotFoundError, TypeError, NotImplementedError):  # no folder yet, or no conditional writes
            self.write_bytes(path, data)

    def sha256(self, path: str) -> str:
        """Return the SHA-256 of a file, read in blocks."""
        state = hashlib.sha256()
        with self.open_read(path) as stream:
            while block := stream.read(_BLOCK):
                state.update(block)
        return state.hexdigest()

    def read_json(self, path: str) -> Any:
        return json.loads(self.read_bytes(path))

    def write_json(self, path: str, value: object) -> None:
        self.write_bytes(path, json_bytes(value))

    def make_root(self) -> None:
        """Create the root folder, if the store has folders."""
        with _explained(self.root):
            self.fs.makedirs(self.url(), exist_ok=True)

    def copy(self, source: str, target: str) -> None:
        """Copy one file within the store."""
        with self.open_read(source) as stream, self.open_write(target) as out:
            while block := stream.read(1 << 22):
                out.write(block)

    def swap(self, staging: str, final: str) -> None:
        """Move a finished local folder to its final name and remove the folder it replaces.

        If the system can exchange two folders atomically, a complete folder exists under the name at every moment.
        Otherwise the old folder is moved away first: a run killed at that moment leaves no folder, never a partial one.
        """
        if self.exists(final) and exchange(self.url(staging), self.url(final)):
            shutil.rmtree(self.url(staging), ignore_errors=True)
            return
        old = posixpath.join(posixpath.dirname(final), f".replaced-{uuid.uuid4().hex[:8]}")
        if self.exists(final):
            os.rename(self.url(final), self.url(old))
        os.rename(self.url(staging), self.url(final))
        shutil.rmtree(self.url(old), ignore_errors=True)

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with its contents, if it exists."""
        if self.exists(path):
            self.fs.rm(self.url(path), recursive=True)


def _protocols(fs: fsspec.AbstractFileSystem) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def remove_leftovers(store: Store) -> None:
    """Remove the temporary files and folders of killed runs. No other run may write to this data root meanwhile."""
    if not store.is_local:
        return
    for part in ("lanes", "release", "published", "leaderboard", "evaluation"):
        for folder, folders, names in os.walk(store.url(part)):
            for name in [n for n in folders if n.startswith(TEMPORARY_PREFIXES)]:
                folders.remove(name)
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
            for name in names:
                if name.endswith((".part", ".tmp")):
                    os.unlink(os.path.join(folder, name))


def json_bytes(value: object) -> bytes:
    """Return a value as indented JSON with sorted keys and a final newline."""
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Raise a one-line ``ReadbenchError`` with advice for a full disk or a folder that cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ReadbenchError(
                f"{url}: no space left on the device: free some and run the same command again"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise ReadbenchError(f"{url}: cannot be written ({error.strerror}): choose another folder") from error
        raise


def damaged_record(store: Store, path: str, lane: str, error: ValueError) -> ReadbenchError:
    """The error of a record of a lane that cannot be parsed."""
    return ReadbenchError(
        f"{store.url(path)}: cannot be read as a record of {lane} ({error}): remove it and run "
        f"`readbench build --dataset {lane}`"
    )


@dataclass(frozen=True)
class Stage:
    """One stage of a lane: one folder per key, and a pointer to the current key.

    A caller that needs more of a record than its key names the record's type.
    """

    store: Store
    lane: str
    name: str

    @property
    def folder(self) -> str:
        return f"lanes/{self.lane}/{self.name}"

    def place(self, key: str) -> str:
        """Return the folder with the results of a key."""
        return f"{self.folder}/{key[:16]}"

    @overload
    def done(self, key: str) -> StageRecord | None: ...
    @overload
    def done(self, key: str, kind: type[R]) -> R | None: ...
    def done(self, key: str, kind: type[StageRecord] = StageRecord) -> StageRecord | None:
        """Return the record of a finished key, or None. Raises ``ReadbenchError`` if it cannot be parsed."""
        path = f"{self.place(key)}/done.json"
        if not self.store.exists(path):
            return None
        try:
            record = kind.parse(self.store.read_json(path))
        except ValueError as error:
            raise damaged_record(self.store, path, self.lane, error) from error
        return record if record.key == key else None

    def finish(self, key: str, record: R) -> R:
        """Mark a key as finished, make it the current one and return its record as it is stored."""
        record = record.changed(key=key)
        self.store.write_json(f"{self.place(key)}/done.json", record.to_json())
        self.point(key)
        return record

    def point(self, key: str) -> None:
        """Make a finished key the current one, and remove all others except the previous one."""
        pointer = f"{self.folder}/current.json"
        before = self.store.read_json(pointer)["key"] if self.store.exists(pointer) else None
        if before != key:
            self.store.write_json(pointer, {"key": key})
            retained = {key[:16], (before or key)[:16], "current.json"}
            for name in self.store.names(self.folder):
                if name not in retained:
                    self.store.remove(f"{self.folder}/{name}")

    @overload
    def current(self) -> StageRecord | None: ...
    @overload
    def current(self, kind: type[R]) -> R | None: ...
    def current(self, kind: type[StageRecord] = StageRecord) -> StageRecord | None:
        """Return the record of the current key, or None if the stage was never finished."""
        pointer = f"{self.folder}/current.json"
        if not self.store.exists(pointer):
            return None
        return self.done(str(self.store.read_json(pointer)["key"]), kind)
