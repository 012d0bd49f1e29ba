"""A folder or an object store as a target: ``<target>/<tag>/``, whole or not there, and final once it is there.

On a disk a version is copied beside its place and renamed. On an object store nothing can be renamed: the manifest
is written last, only if there is none, and a version without a manifest does not exist. A copy that was stopped is
gone on with: files that hold the right bytes are not sent again, and on a store an unchanged file of the version
before is copied within the store. (``Store.swap`` replaces what is there; here nothing is ever replaced.)
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from readbench_data.errors import ReadbenchError
from readbench_data.hub.attempts import silent
from readbench_data.release import layout
from readbench_data.store import Store

BLOCK = 4 << 20


@dataclass(frozen=True)
class FolderPlan:
    """What is still to be sent to a folder; ``done``: the version is there with this content."""

    done: bool
    add: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.add.values())


def tags(target: Store) -> list[str]:
    """Versions that are there whole."""
    return [n for n in target.names("") if not n.startswith(".") and target.exists(f"{n}/{layout.MANIFEST}")]


def plan_folder(target: Store, folder: Path, tag: str) -> FolderPlan:
    """What ``publish_folder`` would send. Raises ``ReadbenchError`` where the tag is there with other content."""
    own = (folder / layout.MANIFEST).read_bytes()
    files = json.loads(own)["files"]
    if target.exists(f"{tag}/{layout.MANIFEST}"):
        _require_same(target, own, tag)
        return FolderPlan(done=True, unchanged=len(files) + 1)
    return _missing(target, _staged_at(tag) if target.is_local else tag, files, len(own))


def _missing(target: Store, place: str, files: dict[str, Any], manifest: int) -> FolderPlan:
    """What ``place`` lacks of the files, and the manifest of so many bytes."""
    there = set(target.files(place)) if target.exists(place) else set()
    add = {path: f["bytes"] for path, f in files.items() if not _same(target, there, f"{place}/{path}", f)}
    return FolderPlan(False, add | {layout.MANIFEST: manifest}, len(files) - len(add))


def publish_folder(
    target: Store, folder: Path, tag: str, before: str | None = None, say: Callable[[str], None] = silent
) -> bool:
    """Publish a finished folder as ``tag``; ``before``: the version before. True where nothing had to be done."""
    if plan_folder(target, folder, tag).done:
        return True
    own = (folder / layout.MANIFEST).read_bytes()
    files = json.loads(own)["files"]
    known = {} if target.is_local else _known(target, before)
    with _staging(target, tag) as staging:
        plan = _missing(target, staging, files, len(own))
        say(f"copying {len(plan.add)} files ({plan.bytes / 1e6:.1f} MB), {plan.unchanged} are there already")
        for path in sorted(plan.add.keys() - {layout.MANIFEST}):
            twin = known.get(files[path]["sha256"])
            if twin is not None:
                target.copy(twin, f"{staging}/{path}")
            else:
                _send(folder / path, target, f"{staging}/{path}")
        if target.is_local:
            for stranger in set(target.files(staging)) - {f"{staging}/{path}" for path in files}:
                target.remove(stranger)  # half a file of a run that was killed
            target.write_bytes(f"{staging}/{layout.MANIFEST}", own)
            _promote(target, staging, tag, own)
        else:
            _create(target, f"{tag}/{layout.MANIFEST}", own, tag)
    return False


def _staged_at(tag: str) -> str:
    return f".publishing-{tag}"


@contextmanager
def _staging(target: Store, tag: str) -> Iterator[str]:
    """Where a version is put together. On a disk that is beside its place: what a stopped run has left there is used.

    While another run is at the same version, a folder of one's own, which is gone afterwards.
    """
    if not target.is_local:
        yield tag
        return
    target.make_root()
    lock = FileLock(target.url(f"{_staged_at(tag)}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        own = f"{_staged_at(tag)}-{uuid.uuid4().hex[:8]}"
        try:
            yield own
        finally:
            target.remove(own)
        return
    try:
        yield _staged_at(tag)
    finally:
        lock.release()


def _require_same(target: Store, own: bytes, tag: str) -> None:
    if target.read_bytes(f"{tag}/{layout.MANIFEST}") != own:
        raise ReadbenchError(
            f"{target.url(tag)} is published with other content: a published version is never rewritten; "
            "build another with --version"
        )


def _same(target: Store, there: set[str], path: str, stated: dict[str, Any]) -> bool:
    return path in there and target.size(path) == stated["bytes"] and sha256_of(target, path) == stated["sha256"]


def sha256_of(store: Store, path: str) -> str:
    """SHA-256 of a stored file, read in blocks."""
    state = hashlib.sha256()
    with store.open_read(path) as stream:
        while block := stream.read(BLOCK):
            state.update(block)
    return state.hexdigest()


def _known(target: Store, before: str | None) -> dict[str, str]:
    """Files of the version before, by their bytes."""
    if before is None:
        return {}
    listed = target.read_json(f"{before}/{layout.MANIFEST}")["files"]
    return {stated["sha256"]: f"{before}/{path}" for path, stated in listed.items()}


def _send(source: Path, target: Store, path: str) -> None:
    with source.open("rb") as stream, target.open_write(path) as out:
        shutil.copyfileobj(stream, out, BLOCK)


def _promote(target: Store, staging: str, tag: str, own: bytes) -> None:
    """Give a staged version its name; of two that publish at once, one wins and the other compares."""
    try:
        os.rename(target.url(staging), target.url(tag))
    except OSError as error:
        if not target.exists(tag):
            raise
        if not target.exists(f"{tag}/{layout.MANIFEST}"):
            raise ReadbenchError(
                f"{target.url(tag)} is there already and is no release: remove it, or choose another target"
            ) from error
        target.remove(staging)
        _require_same(target, own, tag)


def _create(target: Store, path: str, data: bytes, tag: str) -> None:
    """Write the manifest only if there is none, where the store can promise that."""
    try:
        target.fs.pipe_file(target.url(path), data, mode="create")
    except FileExistsError:
        _require_same(target, data, tag)
    except (TypeError, NotImplementedError):
        target.write_bytes(path, data)
