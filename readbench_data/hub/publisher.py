"""Publishes a finished folder as a version on the Hub with one commit and one tag, so no partial version is visible.

The publisher is a loop of *inspect* and *act*. It inspects the repository, derives the next step (create it, commit,
tag, nothing), performs it, and inspects again. A lost answer, a crash or a concurrent commit therefore needs no special
case: the next inspection finds what was applied. A commit names the head it was derived from (``parent_commit``), so it
cannot be applied twice.

A commit is recognised by its title, which contains the hash of the content. Files that were not published by a release
are left alone; files of the previous version that are no longer part of the release are deleted.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from readbench_data.errors import ReadbenchError
from readbench_data.hub.client import CommittedFile, Hub
from readbench_data.hub.retries import Progress, no_report, with_retries
from readbench_data.hub.retry_policy import RetryPolicy
from readbench_data.release import layout
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_manifest

T = TypeVar("T")


@dataclass(frozen=True)
class LocalFile:
    """A file to be published; ``sha256`` as the manifest states it."""

    path: Path
    bytes: int
    sha256: str

    def same_as(self, remote: CommittedFile | None) -> bool:
        """Return whether the repository already has these bytes at this path."""
        if remote is None or remote.bytes != self.bytes:
            return False
        return remote.sha256 == self.sha256 if remote.sha256 else remote.blob == git_blob(self.path)


def git_blob(path: Path) -> str:
    """Return the git blob id of a file's content. Used for small files only; large ones are in large-file storage."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def local_files(folder: Path, manifest: Manifest) -> dict[str, LocalFile]:
    """Return every file of a release, including its manifest, by path in the repository."""
    files = {path: LocalFile(folder / path, stated.bytes, stated.sha256) for path, stated in manifest.files.items()}
    own = (folder / layout.MANIFEST).read_bytes()
    files[layout.MANIFEST] = LocalFile(folder / layout.MANIFEST, len(own), hashlib.sha256(own).hexdigest())
    return files


@dataclass(frozen=True)
class Plan:
    """The next step. ``state``: ``published`` (nothing to do), ``tag``, ``commit`` or ``create``."""

    state: str
    head: str | None = None
    commit: str | None = None
    add: dict[str, LocalFile] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    unchanged: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of the files to send (fewer are transferred if the Hub already stores parts of them)."""
        return sum(file.bytes for file in self.add.values())


@dataclass(frozen=True)
class PublishResult:
    """``commit``: the commit the tag points to. ``unchanged``: the version was already published."""

    commit: str
    unchanged: bool


class Publisher:
    """Publishes one folder as one version in one repository."""

    def __init__(
        self,
        hub: Hub,
        folder: Path,
        tag: str,
        private: bool = False,
        policy: RetryPolicy | None = None,
        report: Progress = no_report,
    ) -> None:
        self.hub, self.tag, self.private, self.report = hub, tag, private, report
        self.policy = policy or RetryPolicy()
        manifest = read_manifest(folder)
        self.files = local_files(folder, manifest)
        self.content = manifest.content
        self.title = f"Release {tag} ({self.content[:16]})"

    def plan(self) -> Plan:
        """Return the next step without changing anything."""
        return self._with_retries(self._inspect)

    def publish(self) -> PublishResult:
        """Perform every step that is left. Raises ``ReadbenchError``: other content is published, no permission, or
        given up after the maximum number of attempts.
        """
        changed = False
        while self._with_retries(self._step):
            changed = True
        return PublishResult(self._with_retries(lambda: self.hub.commit_id(self.tag)), unchanged=not changed)

    def _step(self) -> bool:
        """Inspect and perform the next step; return False if nothing is left to do."""
        plan = self._inspect()
        if plan.state == "published":
            return False
        if plan.state == "create":
            self.report(f"creating {self.hub.repository}")
            self.hub.create(self.private)
        elif plan.state == "commit":
            assert plan.head is not None
            self.report(
                f"uploading {len(plan.add)} files ({plan.bytes / 1e6:.1f} MB), {plan.unchanged} are already there"
            )
            added = {path: file.path for path, file in plan.add.items()}
            description = f"READ-Bench release {self.tag}. Content {self.content}."
            self.hub.commit(plan.head, self.title, description, added, plan.delete)
        else:
            assert plan.commit is not None
            self.report(f"tagging {self.tag}")
            self.hub.tag(self.tag, plan.commit, f"READ-Bench release {self.tag}")
        return True

    def _inspect(self) -> Plan:
        refs = self.hub.refs()
        if refs is None:
            return Plan("create", add=dict(self.files))
        if self.private and not self.hub.is_private():
            raise ReadbenchError(
                f"{self.hub.repository} is public: make it private on the Hub first, or omit --private"
            )
        if self.tag in refs.tags:
            changed = self._missing(self.hub.tree(self.tag))
            if changed:
                raise ReadbenchError(
                    f"{self.hub.repository}@{self.tag} is published with other content ({_some(sorted(changed))}): a "
                    "published version is never rewritten; build another with --version"
                )
            return Plan("published", refs.head, unchanged=len(self.files))
        landed = self.hub.find_commit(self.title)
        if landed is not None and not self._missing(self.hub.tree(landed)):
            return Plan("tag", refs.head, landed, unchanged=len(self.files))
        tree = self.hub.tree(refs.head)
        add = self._missing(tree)
        delete = self._outdated(refs.head, tree)
        if not add and not delete:
            return Plan("tag", refs.head, refs.head, unchanged=len(self.files))
        return Plan("commit", refs.head, None, add, delete, len(self.files) - len(add))

    def _missing(self, tree: dict[str, CommittedFile]) -> dict[str, LocalFile]:
        return {path: file for path, file in self.files.items() if not file.same_as(tree.get(path))}

    def _outdated(self, head: str, tree: dict[str, CommittedFile]) -> tuple[str, ...]:
        """Return the files of the release at the head that this release does not contain."""
        others = sorted(set(tree) - set(self.files) - {".gitattributes"})
        if not others or layout.MANIFEST not in tree:
            return ()
        with tempfile.TemporaryDirectory(prefix="readbench-head-") as folder:
            self.hub.fetch(head, [layout.MANIFEST], Path(folder))
            try:
                listed = read_manifest(Path(folder)).files
            except ReadbenchError:
                return ()  # not a manifest of a release: none of its files are ours to delete
        return tuple(path for path in others if path in listed)

    def _with_retries(self, act: Callable[[], T]) -> T:
        return with_retries(self.hub, act, self.policy, self.report, "publishing")


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
