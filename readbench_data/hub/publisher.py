"""One commit, then one tag: how a finished folder becomes a version on the Hub that nobody ever sees half.

The publisher is a loop of *look* and *do*. It looks at the repository, finds what is the next thing to do (create
it, commit, tag, nothing), does it, and looks again. An answer that was lost, a crash or a rival's commit need no
treatment of their own: the next look sees what landed. A commit is bound to the head that was looked at
(``parent_commit``), so that it cannot land twice.

A commit is known again by its title, which holds the hash of the content. Files that no release put into the
repository are left alone; files of the version before that are no longer part of it are deleted.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from readbench_data.errors import ReadbenchError
from readbench_data.hub.attempts import patiently, silent
from readbench_data.hub.client import CommittedFile, Hub
from readbench_data.hub.patience import Patience
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
        """Whether the repository holds these bytes under this name already."""
        if remote is None or remote.bytes != self.bytes:
            return False
        return remote.sha256 == self.sha256 if remote.sha256 else remote.blob == git_blob(self.path)


def git_blob(path: Path) -> str:
    """Id that git gives a file's content. Only asked of small files: large ones lie in large-file storage."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def local_files(folder: Path, manifest: Manifest) -> dict[str, LocalFile]:
    """Everything a release consists of, its manifest included, by path in the repository."""
    files = {path: LocalFile(folder / path, stated.bytes, stated.sha256) for path, stated in manifest.files.items()}
    own = (folder / layout.MANIFEST).read_bytes()
    files[layout.MANIFEST] = LocalFile(folder / layout.MANIFEST, len(own), hashlib.sha256(own).hexdigest())
    return files


@dataclass(frozen=True)
class Plan:
    """What is still to be done. ``state``: ``published`` (nothing), ``tag``, ``commit`` or ``create``."""

    state: str
    head: str | None = None
    commit: str | None = None
    add: dict[str, LocalFile] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    unchanged: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of the files that would be sent (fewer travel where the Hub knows parts of them)."""
        return sum(file.bytes for file in self.add.values())


@dataclass(frozen=True)
class PublishResult:
    """``commit``: what the tag points to. ``unchanged``: nothing had to be done."""

    commit: str
    unchanged: bool


class Publisher:
    """Brings one version of one folder to one repository."""

    def __init__(
        self,
        hub: Hub,
        folder: Path,
        tag: str,
        private: bool = False,
        patience: Patience | None = None,
        say: Callable[[str], None] = silent,
    ) -> None:
        self.hub, self.tag, self.private, self.say = hub, tag, private, say
        self.patience = patience or Patience()
        manifest = read_manifest(folder)
        self.files = local_files(folder, manifest)
        self.content = manifest.content
        self.title = f"Release {tag} ({self.content[:16]})"

    def plan(self) -> Plan:
        """Look, without changing anything."""
        return self._patiently(self._look)

    def publish(self) -> PublishResult:
        """Do what is to be done. Raises ``ReadbenchError``: refused, not allowed, or given up after many tries."""
        worked = False
        while self._patiently(self._step):
            worked = True
        return PublishResult(self._patiently(lambda: self.hub.commit_id(self.tag)), unchanged=not worked)

    def _step(self) -> bool:
        """Look and do the next thing; False where nothing is left to do."""
        plan = self._look()
        if plan.state == "published":
            return False
        if plan.state == "create":
            self.say(f"creating {self.hub.repository}")
            self.hub.create(self.private)
        elif plan.state == "commit":
            assert plan.head is not None
            self.say(f"uploading {len(plan.add)} files ({plan.bytes / 1e6:.1f} MB), {plan.unchanged} are there already")
            added = {path: file.path for path, file in plan.add.items()}
            words = f"READ-Bench release {self.tag}. Content {self.content}."
            self.hub.commit(plan.head, self.title, words, added, plan.delete)
        else:
            assert plan.commit is not None
            self.say(f"tagging {self.tag}")
            self.hub.tag(self.tag, plan.commit, f"READ-Bench release {self.tag}")
        return True

    def _look(self) -> Plan:
        refs = self.hub.refs()
        if refs is None:
            return Plan("create", add=dict(self.files))
        if self.private and not self.hub.is_private():
            raise ReadbenchError(
                f"{self.hub.repository} is public: make it private there first, or leave --private out"
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
        """Files of the release at the head that this one does not hold."""
        strangers = sorted(set(tree) - set(self.files) - {".gitattributes"})
        if not strangers or layout.MANIFEST not in tree:
            return ()
        with tempfile.TemporaryDirectory(prefix="readbench-head-") as folder:
            self.hub.fetch(head, [layout.MANIFEST], Path(folder))
            try:
                listed = read_manifest(Path(folder)).files
            except ReadbenchError:
                return ()  # a manifest that is not ours lists nothing of ours
        return tuple(path for path in strangers if path in listed)

    def _patiently(self, act: Callable[[], T]) -> T:
        return patiently(self.hub, act, self.patience, self.say, "publishing")


def _some(paths: list[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
