"""A folder or an object store as a target: ``<target>/<tag>/`` is either complete or not visible, and never changes.

On a disk, a version is copied into a staging folder next to its final place and renamed. An object store cannot rename:
the publisher holds a claim to the version (``claims``) and writes the manifest last, only if there is none; a version
without a manifest does not exist. Before the manifest is written, files of a stopped run that it does not list are
removed. A stopped copy resumes: files that already have the right bytes are not sent again, and on an object store an
unchanged file of the previous version is copied within the store. (``Store.swap`` replaces a folder; nothing here
replaces anything.)
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from readbench_data.errors import ReadbenchError
from readbench_data.hub.claims import claim, claim_conflict, holds, release_claim
from readbench_data.hub.retries import Progress, no_report
from readbench_data.hub.view import CHANGELOG
from readbench_data.release import layout
from readbench_data.release.manifest import FileEntry
from readbench_data.release.reading import manifest_in, manifest_of
from readbench_data.store.store import Store

Files = dict[str, FileEntry]
"""The files that a manifest lists, by path."""

BLOCK = 4 << 20
RELEASE_FOLDERS = frozenset({"data", "audit", "licenses"})
RELEASE_FILES = frozenset({layout.CARD, layout.COMPOSITION, layout.CROISSANT, CHANGELOG})
"""Top-level files of a release. On an object store, only these and files in ``RELEASE_FOLDERS`` are removed after a
stopped run."""


@dataclass(frozen=True)
class FolderPlan:
    """The files still to be sent to a folder; ``done``: the version is already there with this content."""

    done: bool
    add: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0

    @property
    def bytes(self) -> int:
        return sum(self.add.values())


def tags(target: Store) -> list[str]:
    """Return the versions that are complete."""
    return [n for n in target.names("") if not n.startswith(".") and target.exists(f"{n}/{layout.MANIFEST}")]


def plan_folder(target: Store, folder: Path, tag: str) -> FolderPlan:
    """Return what ``publish_folder`` would send.

    Raises ``ReadbenchError`` if the tag exists with other content, with missing files or with files of another size.
    """
    own = (folder / layout.MANIFEST).read_bytes()
    files = manifest_of(own, str(folder)).files
    if target.exists(f"{tag}/{layout.MANIFEST}"):
        require_whole(target, tag, _listed(target, tag))
        _require_same(target, own, tag)
        return FolderPlan(done=True, unchanged=len(files) + 1)
    return _missing(target, _staging_name(tag) if target.is_local else tag, files, len(own))


def _missing(target: Store, place: str, files: Files, manifest: int) -> FolderPlan:
    """Return the files that ``place`` lacks, plus the manifest, whose size in bytes is ``manifest``."""
    there = set(target.files(place)) if target.exists(place) else set()
    add = {path: f.bytes for path, f in files.items() if not _same(target, there, f"{place}/{path}", f)}
    return FolderPlan(False, add | {layout.MANIFEST: manifest}, len(files) - len(add))


def publish_folder(
    target: Store, folder: Path, tag: str, before: str | None = None, report: Progress = no_report
) -> bool:
    """Publish a finished folder as ``tag``; return whether it was there already. ``before``: the previous version."""
    own = (folder / layout.MANIFEST).read_bytes()
    if plan_folder(target, folder, tag).done:
        _clean_up(target, tag)
        return True
    files = manifest_of(own, str(folder)).files
    if target.is_local:
        _to_disk(target, folder, tag, files, own, report)
    else:
        _to_store(target, folder, tag, files, own, before, report)
    return False


def _to_disk(target: Store, folder: Path, tag: str, files: Files, own: bytes, report: Progress) -> None:
    with _staging(target, tag) as staging:
        for path in _to_send(target, staging, files, own, report):
            _send(folder / path, target, f"{staging}/{path}")
        for unlisted in set(target.files(staging)) - {f"{staging}/{path}" for path in files}:
            target.remove(unlisted)  # a partial file of a killed run
        for place, _, _ in os.walk(target.url(staging), topdown=False):
            if not os.listdir(place):
                os.rmdir(place)  # its files belonged to other content
        target.write_bytes(f"{staging}/{layout.MANIFEST}", own)
        _promote(target, staging, tag, own)


def _to_store(
    target: Store,
    folder: Path,
    tag: str,
    files: Files,
    own: bytes,
    before: str | None,
    report: Progress,
) -> None:
    content = hashlib.sha256(own).hexdigest()
    claim(target, tag, content)
    if _is_published(target, tag):  # by a concurrent publisher, between the first check and the claim
        release_claim(target, tag)
        _require_same(target, own, tag)
        return
    _require_release_files(target, tag, files)
    known = _reusable_files(target, before)
    for path in [*_to_send(target, tag, files, own, report), layout.MANIFEST]:
        if not holds(target, tag, content):
            if not _is_published(target, tag):
                raise claim_conflict(target, tag)
            _require_same(target, own, tag)
            return
        if path == layout.MANIFEST:
            for unlisted in _require_release_files(target, tag, files):
                target.remove(f"{tag}/{unlisted}")
            _create(target, f"{tag}/{path}", own, tag)
        elif (twin := known.get(files[path].sha256)) is not None:
            target.copy(twin, f"{tag}/{path}")
        else:
            _send(folder / path, target, f"{tag}/{path}")
    release_claim(target, tag)


def _to_send(target: Store, place: str, files: Files, own: bytes, report: Progress) -> list[str]:
    """Return the files that ``place`` lacks, without the manifest."""
    plan = _missing(target, place, files, len(own))
    report(f"copying {len(plan.add)} files ({plan.bytes / 1e6:.1f} MB), {plan.unchanged} are already there")
    return sorted(plan.add.keys() - {layout.MANIFEST})


def _is_published(target: Store, tag: str) -> bool:
    """Return whether the version is there now, ignoring cached listings."""
    target.fs.invalidate_cache()
    return target.exists(f"{tag}/{layout.MANIFEST}")


def _require_release_files(target: Store, tag: str, files: Files) -> list[str]:
    """Return the files in a version's folder that ``files`` does not list.

    Raises ``ReadbenchError`` if one of them cannot belong to a release.
    """
    unlisted = sorted(set(sizes(target, tag)) - set(files) - {layout.MANIFEST})
    for path in unlisted:
        top = path.partition("/")[0]
        if top not in RELEASE_FOLDERS and path not in RELEASE_FILES:
            raise ReadbenchError(
                f"{target.root}/{tag}/{path} already exists and is not a file of a release: remove it, or choose "
                "another target"
            )
    return unlisted


def sizes(target: Store, place: str) -> dict[str, int]:
    """Return the current size in bytes of every file below a folder, by relative path."""
    target.fs.invalidate_cache()
    if not target.exists(place):
        return {}
    base = target.url(place)
    return {posixpath.relpath(p, base): int(f["size"]) for p, f in target.fs.find(base, detail=True).items()}


def damage(there: dict[str, int], files: Files) -> list[str]:
    """Return what is wrong with the listed files, judged by name and size only."""
    wrong = [f"{path} is missing" for path in sorted(files.keys() - there.keys())]
    return wrong + [f"{p} has another size" for p, f in sorted(files.items()) if there.get(p, f.bytes) != f.bytes]


def require_whole(target: Store, tag: str, files: Files) -> None:
    """Raise ``ReadbenchError`` if a published version lacks a listed file or has it in another size."""
    wrong = damage(sizes(target, tag), files)
    if wrong:
        more = f" ({len(wrong) - 1} more)" if len(wrong) > 1 else ""
        raise ReadbenchError(
            f"{target.root}@{tag} is damaged: {wrong[0]}{more}: remove {target.root}/{tag} and publish the same "
            "release there again"
        )


def _staging_name(tag: str) -> str:
    return f".publishing-{tag}"


@contextmanager
def _staging(target: Store, tag: str) -> Iterator[str]:
    """Yield the staging folder, next to the final place; files that a stopped run left there are reused.

    If another run is publishing the same version, yield a separate folder and remove it afterwards.
    """
    target.make_root()
    lock = FileLock(_lock_path(target, tag))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        own = f"{_staging_name(tag)}-{uuid.uuid4().hex[:8]}"
        try:
            yield own
        finally:
            target.remove(own)
        return
    try:
        yield _staging_name(tag)
    finally:
        if target.exists(f"{tag}/{layout.MANIFEST}"):  # final: a run that gets this lock later finds the version
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _lock_path(target: Store, tag: str) -> str:
    return target.url(f"{_staging_name(tag)}.lock")


def _clean_up(target: Store, tag: str) -> None:
    """Remove the claim or lock of a run that was killed after it had completed the version."""
    if not target.is_local:
        release_claim(target, tag)
    elif os.path.exists(_lock_path(target, tag)):
        with suppress(Timeout), FileLock(_lock_path(target, tag), timeout=0):
            Path(_lock_path(target, tag)).unlink(missing_ok=True)


def _require_same(target: Store, own: bytes, tag: str) -> None:
    if target.read_bytes(f"{tag}/{layout.MANIFEST}") != own:
        raise ReadbenchError(
            f"{target.url(tag)} is published with other content: a published version is never rewritten; "
            "build another with --version"
        )


def _same(target: Store, there: set[str], path: str, stated: FileEntry) -> bool:
    return path in there and target.size(path) == stated.bytes and target.sha256(path) == stated.sha256


def _reusable_files(target: Store, before: str | None) -> dict[str, str]:
    """Return the intact files of the previous version, by SHA-256."""
    if before is None:
        return {}
    listed, there = _listed(target, before), sizes(target, before)
    return {f.sha256: f"{before}/{path}" for path, f in listed.items() if there.get(path) == f.bytes}


def _listed(target: Store, tag: str) -> Files:
    """Return the files that a version lists; none if it has no manifest of a release."""
    try:
        return manifest_in(target, tag).files
    except ReadbenchError:
        return {}


def _send(source: Path, target: Store, path: str) -> None:
    with source.open("rb") as stream, target.open_write(path) as out:
        shutil.copyfileobj(stream, out, BLOCK)


def _promote(target: Store, staging: str, tag: str, own: bytes) -> None:
    """Rename a staged version to its tag; if a concurrent run was faster, compare the content with that run's."""
    try:
        os.rename(target.url(staging), target.url(tag))
    except OSError as error:
        if not target.exists(tag):
            raise
        if not target.exists(f"{tag}/{layout.MANIFEST}"):
            raise ReadbenchError(
                f"{target.url(tag)} already exists and is not a release: remove it, or choose another target"
            ) from error
        target.remove(staging)
        _require_same(target, own, tag)


def _create(target: Store, path: str, data: bytes, tag: str) -> None:
    """Write the manifest only if there is none, if the store supports that."""
    try:
        target.create(path, data)
    except FileExistsError:
        _require_same(target, data, tag)
