"""Client of one Hub repository: refs, trees, commits, tags and files; each method makes one query or one change.

The token is the one the ``huggingface_hub`` client finds: HF_TOKEN or that of ``hf auth login``. It is never stored,
printed or included in an error.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from readbench_data.errors import ReadbenchError, UsageError
from readbench_data.hub.retry_policy import message_of, status_of

if TYPE_CHECKING:
    from huggingface_hub import HfApi

KIND = "dataset"
BRANCH = "main"


@dataclass(frozen=True)
class CommittedFile:
    """A file of a commit. ``sha256``: set for files in large-file storage (LFS); ``blob``: the git blob id."""

    bytes: int
    sha256: str | None
    blob: str


@dataclass(frozen=True)
class Refs:
    """The head of the main branch and the tags of a repository."""

    head: str
    tags: frozenset[str]


class Hub:
    """One dataset repository. ``endpoint``: the address of a Hub other than the public one."""

    def __init__(self, repository: str, endpoint: str | None = None, api: HfApi | None = None) -> None:
        from huggingface_hub import HfApi, get_token

        if not all("!" <= c <= "~" for c in get_token() or ""):
            named = "HF_TOKEN" if os.environ.get("HF_TOKEN") else "the token of `hf auth login`"
            raise UsageError(f"{named} contains a character that is not allowed in a token: copy it again")
        self.repository = repository
        self.api = api or HfApi(endpoint=endpoint, library_name="readbench-data")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The tokens in use, which must never appear in a message."""
        from huggingface_hub import get_token

        return tuple(t for t in (self.api.token, get_token()) if isinstance(t, str))

    def refs(self) -> Refs | None:
        """Return head and tags, or None if the repository does not exist or this token cannot see it."""
        from huggingface_hub.errors import RepositoryNotFoundError

        try:
            refs = self.api.list_repo_refs(self.repository, repo_type=KIND)
        except RepositoryNotFoundError as error:
            if status_of(error) == 401:
                raise
            return None
        heads = {branch.name: branch.target_commit for branch in refs.branches}
        if BRANCH not in heads:
            raise ReadbenchError(f"{self.repository} has no branch {BRANCH}: create a new repository for the releases")
        return Refs(heads[BRANCH], frozenset(tag.name for tag in refs.tags))

    def is_private(self) -> bool:
        """Return whether the repository is private."""
        return bool(self.api.repo_info(self.repository, repo_type=KIND).private)

    def tree(self, revision: str) -> dict[str, CommittedFile]:
        """Return every file of a commit or tag, by path."""
        from huggingface_hub.hf_api import RepoFile

        entries = self.api.list_repo_tree(self.repository, repo_type=KIND, revision=revision, recursive=True)
        return {
            e.path: CommittedFile(e.size, e.lfs.sha256 if e.lfs else None, e.blob_id)
            for e in entries
            if isinstance(e, RepoFile)
        }

    def commit_id(self, revision: str) -> str:
        """Return the commit that a tag points to."""
        return str(self.api.repo_info(self.repository, repo_type=KIND, revision=revision).sha)

    def find_commit(self, title: str) -> str | None:
        """Return the newest commit of the main branch with this title, or None."""
        commits = self.api.list_repo_commits(self.repository, repo_type=KIND, revision=BRANCH)
        return next((c.commit_id for c in commits if c.title == title), None)

    def create(self, private: bool) -> None:
        """Create the repository if it does not exist."""
        self.api.create_repo(self.repository, repo_type=KIND, private=private, exist_ok=True)

    def commit(self, parent: str, title: str, description: str, add: Mapping[str, Path], delete: Sequence[str]) -> str:
        """Commit on top of ``parent`` and return the commit id. The Hub answers 412 if ``parent`` is not the head."""
        from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete

        operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
            *(CommitOperationAdd(path, str(file)) for path, file in sorted(add.items())),
            *(CommitOperationDelete(path) for path in sorted(delete)),
        ]
        made = self.api.create_commit(
            self.repository,
            operations,
            commit_message=title,
            commit_description=description,
            repo_type=KIND,
            revision=BRANCH,
            parent_commit=parent,
        )
        return str(made.oid)

    def tag(self, name: str, commit: str, message: str) -> None:
        """Create a tag on a commit."""
        self.api.create_tag(self.repository, tag=name, revision=commit, tag_message=message, repo_type=KIND)

    def fetch(self, revision: str, paths: Sequence[str], folder: Path) -> None:
        """Download files of a commit into a folder; files that are already complete there are not downloaded again.

        Raises ``ConnectionError`` if the Hub did not answer.
        """
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            self.api.snapshot_download(
                self.repository, repo_type=KIND, revision=revision, local_dir=folder, allow_patterns=list(paths)
            )
        except LocalEntryNotFoundError as error:
            raise ConnectionError(message_of(error, self.secrets)) from error

    def explained(self, error: Exception, action: str) -> ReadbenchError:
        """Map a Hub error to a ``ReadbenchError`` with actionable advice: no permission, not found, disk full, or the
        Hub's own message.
        """
        from huggingface_hub.errors import OfflineModeIsEnabled

        status = status_of(error)
        if isinstance(error, OfflineModeIsEnabled):
            return ReadbenchError(
                f"{self.repository}: the Hub's client is offline (HF_HUB_OFFLINE): unset it for {action}"
            )
        if status in (401, 403):
            advice = "set HF_TOKEN or run `hf auth login` with a token that has write access there"
            return ReadbenchError(f"{self.repository}: {action} is not allowed ({status}): {advice}")
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            where = f"{error.filename2 or error.filename}: " if error.filename else ""
            return ReadbenchError(f"{where}no space left on the device: free some and run the same command again")
        return ReadbenchError(f"{self.repository}: {action} failed ({message_of(error, self.secrets)})")


@contextmanager
def quiet(bars: bool) -> Iterator[None]:
    """Suppress the client's own log lines, which show signed URLs, and its progress bars unless ``bars`` is set."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    log = logging.getLogger("huggingface_hub")
    level, hidden = log.level, are_progress_bars_disabled()
    log.setLevel(logging.CRITICAL)
    if not bars:
        disable_progress_bars()
    try:
        yield
    finally:
        log.setLevel(level)
        if not bars and not hidden:
            enable_progress_bars()
