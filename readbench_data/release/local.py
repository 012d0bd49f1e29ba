"""Publishing: a versioned local folder.

``publish_local`` keeps each version under ``published/<version>/``. A release that holds miniatures is a preview
and is replaced by the next build of its version; so is any version until ``readbench publish`` has recorded a
receipt for it. From then on its content is final: a build that differs is refused.
"""

from __future__ import annotations

import uuid
from typing import Any

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.build import RECEIPTS, release_content
from readbench_data.store.store import Store


def publish_local(store: Store, version: str) -> dict[str, Any]:
    """Copy a release into the local versioned folder; nothing is done where it is there already."""
    release = f"release/{version}"
    target = f"published/{version}"
    manifest = _manifest(store, release)
    content = release_content(manifest)
    receipt = {"version": version, "target": store.url(target), "content": content}
    if store.exists(f"{target}/{layout.MANIFEST}"):
        if release_content(_manifest(store, target)) == content:
            return {**receipt, "unchanged": True}
        final = store.read_json(RECEIPTS) if store.exists(RECEIPTS) else {}
        if version in final:
            raise ReadbenchError(f"version {version} is published with other content: choose another with --version")
    staging = f"published/.publishing-{uuid.uuid4().hex[:8]}" if store.is_local else target
    for path in sorted(manifest["files"]):
        store.copy(f"{release}/{path}", f"{staging}/{path}")
    store.copy(f"{release}/{layout.MANIFEST}", f"{staging}/{layout.MANIFEST}")
    if staging != target:
        store.swap(staging, target)
    return {**receipt, "unchanged": False}


def _manifest(store: Store, folder: str) -> dict[str, Any]:
    path = f"{folder}/{layout.MANIFEST}"
    if not store.exists(path):
        raise ReadbenchError(f"{store.url(folder)}: no {layout.MANIFEST}: build the release first")
    manifest: dict[str, Any] = store.read_json(path)
    return manifest
