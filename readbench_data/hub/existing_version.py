"""Checks whether a version already at the target is the same release.

The card and the changelog of a version describe the versions before it, as known on the day it was published. The
comparison therefore ignores them; if everything else is equal, the published card and changelog are kept.
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from readbench_data.errors import ReadbenchError
from readbench_data.hub.address import Target
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.retries import Progress, no_report, with_retries
from readbench_data.hub.retry_policy import RetryPolicy
from readbench_data.hub.stores import open_target, target_errors
from readbench_data.hub.view import CHANGELOG
from readbench_data.release import layout
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.store.records import JsonObject

PROSE = (layout.CARD, CHANGELOG, layout.CROISSANT)
"""Files that are written for each target and publication from the other files."""


def adopt_published(
    target: Target,
    tag: str,
    view: Path,
    made: Manifest,
    endpoint: str | None = None,
    policy: RetryPolicy | None = None,
    report: Progress = no_report,
) -> Manifest | None:
    """Copy prose and manifest of the published ``tag`` into ``view`` if everything else is equal.

    ``made``: the manifest of ``view``. Returns the published manifest; returns None, and changes nothing, if any other
    content differs or the published version is incomplete.
    """
    with tempfile.TemporaryDirectory(prefix="readbench-published-") as temporary:
        there = Path(temporary)
        _fetch(target, tag, there, endpoint, policy, report)
        try:
            manifest = read_manifest(there)
            if _without_prose(manifest) != _without_prose(made):
                return None
            prose = {path: (there / path).read_bytes() for path in PROSE if path in manifest.files}
            if any(hashlib.sha256(text).hexdigest() != manifest.files[p].sha256 for p, text in prose.items()):
                return None
        except (ReadbenchError, OSError):
            return None  # not a manifest of a release, or its files are missing: other content
        for path, text in (prose | {layout.MANIFEST: (there / layout.MANIFEST).read_bytes()}).items():
            (view / path).write_bytes(text)
    return manifest


def _without_prose(manifest: Manifest) -> JsonObject:
    return manifest.changed(files={path: f for path, f in manifest.files.items() if path not in PROSE}).to_json()


def _fetch(
    target: Target,
    tag: str,
    folder: Path,
    endpoint: str | None,
    policy: RetryPolicy | None,
    report: Progress,
) -> None:
    """Fetch the manifest and the prose of a published version; missing files are skipped."""
    names, action = (layout.MANIFEST, *PROSE), f"reading {tag}"
    if target.on_hub:
        hub = Hub(target.name, endpoint)
        with quiet(bars=False):
            with_retries(hub, lambda: hub.fetch(hub.commit_id(tag), names, folder), policy, report, action)
        return
    store = open_target(target, endpoint)
    with target_errors(store, action):
        for name in names:
            if store.exists(f"{tag}/{name}"):
                (folder / name).write_bytes(store.read_bytes(f"{tag}/{name}"))
