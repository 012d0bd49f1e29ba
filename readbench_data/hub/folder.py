"""A folder or an object store as a target: ``<target>/<tag>/``, whole or not there, and final once it is there.

On a disk a version is copied beside its place and renamed. On an object store nothing can be renamed: who publishes a
version holds a claim to it (``claims``), the manifest is written last, only if there is none, and a version without a
manifest does not exist. Before that, what a stopped run left and the manifest does not list is removed. A copy that
was stopped is gone on with: files that hold the right bytes are not sent again, and on a store an unchanged file of
the version before is copied within the store. (``Store.swap`` replaces what is there; here nothing is ever replaced.)
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from readbench_data.errors import ReadbenchError
from readbench_data.hub.attempts import silent
from readbench_data.hub.claims import claim, drop, holds, taken
from readbench_data.hub.view import CHANGELOG
from readbench_data.release import layout
from readbench_data.release.manifest import FileEntry
from readbench_data.release.reading import manifest_in, manifest_of
from readbench_data.store.store import Store

Files = dict[str, FileEntry]
"""What a manifest lists, by path."""

BLOCK = 4 << 20
ROOMS = frozenset({"data", "audit", "licenses"})
SHEETS = frozenset({layout.CARD, layout.COMPOSITION, layout.CROISSANT, CHANGELOG})
"""What releases consist of: only such files are removed where a stopped run left them on a store."""


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
    """What ``publish_folder`` would send.

    Raises ``ReadbenchError`` where the tag is there with other content, or with files missing or of another size.
    """
    own = (folder / layout.MANIFEST).read_bytes()
    files = manifest_of(own, str(folder)).files
    if target.exists(f"{tag}/{layout.MANIFEST}"):
        require_whole(target, tag, _listed(target, tag))
        _require_same(target, own, tag)
        return FolderPlan(done=True, unchanged=len(files) + 1)
    return _missing(target, _staged_at(tag) if target.is_local else tag, files, len(own))


def _missing(target: Store, place: str, files: Files, manifest: int) -> FolderPlan:
    """What ``place`` lacks of the files, and the manifest of so many bytes."""
    there = set(target.files(place)) if target.exists(place) else set()
    add = {path: f.bytes for path, f in files.items() if not _same(target, there, f"{place}/{path}", f)}
    return FolderPlan(False, add | {layout.MANIFEST: manifest}, len(files) - len(add))


def publish_folder(
    target: Store, folder: Path, tag: str, before: str | None = None, say: Callable[[str], None] = silent
) -> bool:
    """Publish a finished folder as ``tag``; ``before``: the version before. True where nothing had to be done."""
    own = (folder / layout.MANIFEST).read_bytes()
    if plan_folder(target, folder, tag).done:
        _tidy(target, tag)
        return True
    files = manifest_of(own, str(folder)).files
    if target.is_local:
        _to_disk(target, folder, tag, files, own, say)
    else:
        _to_store(target, folder, tag, files, own, before, say)
    return False


def _to_disk(target: Store, folder: Path, tag: str, files: Files, own: bytes, say: Callable[[str], None]) -> None:
    with _staging(target, tag) as staging:
        for path in _to_send(target, staging, files, own, say):
            _send(folder / path, target, f"{staging}/{path}")
        for stranger in set(target.files(staging)) - {f"{staging}/{path}" for path in files}:
            target.remove(stranger)  # half a file of a run that was killed
        for room, _, _ in os.walk(target.url(staging), topdown=False):
            if not os.listdir(room):
                os.rmdir(room)  # its files belonged to another content
        target.write_bytes(f"{staging}/{layout.MANIFEST}", own)
        _promote(target, staging, tag, own)


def _to_store(
    target: Store,
    folder: Path,
    tag: str,
    files: Files,
    own: bytes,
    before: str | None,
    say: Callable[[str], None],
) -> None:
    content = hashlib.sha256(own).hexdigest()
    claim(target, tag, content)
    if _finished(target, tag):  # by a rival, between the first look and the claim
        drop(target, tag)
        _require_same(target, own, tag)
        return
    _require_ours(target, tag, files)
    known = _known(target, before)
    for path in [*_to_send(target, tag, files, own, say), layout.MANIFEST]:
        if not holds(target, tag, content):
            if not _finished(target, tag):
                raise taken(target, tag)
            _require_same(target, own, tag)
            return
        if path == layout.MANIFEST:
            for stranger in _require_ours(target, tag, files):
                target.remove(f"{tag}/{stranger}")
            _create(target, f"{tag}/{path}", own, tag)
        elif (twin := known.get(files[path].sha256)) is not None:
            target.copy(twin, f"{tag}/{path}")
        else:
            _send(folder / path, target, f"{tag}/{path}")
    drop(target, tag)


def _to_send(target: Store, place: str, files: Files, own: bytes, say: Callable[[str], None]) -> list[str]:
    """Files that ``place`` lacks, the manifest aside."""
    plan = _missing(target, place, files, len(own))
    say(f"copying {len(plan.add)} files ({plan.bytes / 1e6:.1f} MB), {plan.unchanged} are there already")
    return sorted(plan.add.keys() - {layout.MANIFEST})


def _finished(target: Store, tag: str) -> bool:
    """Whether the version is there now, whatever this process has seen before."""
    target.fs.invalidate_cache()
    return target.exists(f"{tag}/{layout.MANIFEST}")


def _require_ours(target: Store, tag: str, files: Files) -> list[str]:
    """What lies under the name of a version and is not part of it. Raises ``ReadbenchError`` if no release has such."""
    strangers = sorted(set(sizes(target, tag)) - set(files) - {layout.MANIFEST})
    for path in strangers:
        room = path.partition("/")[0]
        if room not in ROOMS and path not in SHEETS:
            raise ReadbenchError(
                f"{target.root}/{tag}/{path} is there already and is no file of a release: remove it, or choose "
                "another target"
            )
    return strangers


def sizes(target: Store, place: str) -> dict[str, int]:
    """Bytes of every file below a folder, by its path there, as they are now."""
    target.fs.invalidate_cache()
    if not target.exists(place):
        return {}
    base = target.url(place)
    return {posixpath.relpath(p, base): int(f["size"]) for p, f in target.fs.find(base, detail=True).items()}


def damage(there: dict[str, int], files: Files) -> list[str]:
    """What is wrong with the listed files, seen by name and size only."""
    wrong = [f"{path} is missing" for path in sorted(files.keys() - there.keys())]
    return wrong + [f"{p} has another size" for p, f in sorted(files.items()) if there.get(p, f.bytes) != f.bytes]


def require_whole(target: Store, tag: str, files: Files) -> None:
    """Raises ``ReadbenchError`` where a published version lacks a listed file or has it in another size."""
    wrong = damage(sizes(target, tag), files)
    if wrong:
        more = f" ({len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise ReadbenchError(
            f"{target.root}@{tag} is damaged: {wrong[0]}{more}: remove {target.root}/{tag} and publish the same "
            "release there again"
        )


def _staged_at(tag: str) -> str:
    return f".publishing-{tag}"


@contextmanager
def _staging(target: Store, tag: str) -> Iterator[str]:
    """Where a version is put together. On a disk that is beside its place: what a stopped run has left there is used.

    While another run is at the same version, a folder of one's own, which is gone afterwards.
    """
    target.make_root()
    lock = FileLock(_lock_at(target, tag))
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
        if target.exists(f"{tag}/{layout.MANIFEST}"):  # it is final: who comes to this lock late finds it there
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _lock_at(target: Store, tag: str) -> str:
    return target.url(f"{_staged_at(tag)}.lock")


def _tidy(target: Store, tag: str) -> None:
    """Remove what a run left that was killed after the version was there, and before it was done."""
    if not target.is_local:
        drop(target, tag)
    elif os.path.exists(_lock_at(target, tag)):
        with suppress(Timeout), FileLock(_lock_at(target, tag), timeout=0):
            Path(_lock_at(target, tag)).unlink(missing_ok=True)


def _require_same(target: Store, own: bytes, tag: str) -> None:
    if target.read_bytes(f"{tag}/{layout.MANIFEST}") != own:
        raise ReadbenchError(
            f"{target.url(tag)} is published with other content: a published version is never rewritten; "
            "build another with --version"
        )


def _same(target: Store, there: set[str], path: str, stated: FileEntry) -> bool:
    return path in there and target.size(path) == stated.bytes and target.sha256(path) == stated.sha256


def _known(target: Store, before: str | None) -> dict[str, str]:
    """Files of the version before, by their bytes; what is damaged there is not taken from it."""
    if before is None:
        return {}
    listed, there = _listed(target, before), sizes(target, before)
    return {f.sha256: f"{before}/{path}" for path, f in listed.items() if there.get(path) == f.bytes}


def _listed(target: Store, tag: str) -> Files:
    """The files of a version that is there; none where its manifest is not one of ours."""
    try:
        return manifest_in(target, tag).files
    except ReadbenchError:
        return {}


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
        target.create(path, data)
    except FileExistsError:
        _require_same(target, data, tag)
