"""Publishing to a versioned local folder.

``publish_local`` copies each version to ``published/<version>/``. Until ``readbench publish`` has recorded a receipt
for a version, it is a preview and the next build of that version replaces it. From then on its content is final: a
build with other content is refused.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.reading import manifest_in
from readbench_data.release.receipts import receipts
from readbench_data.store.store import Store


@dataclass(frozen=True)
class LocalCopy:
    """A version in the local folder. ``content``: hash of the release; ``unchanged``: it was already there."""

    version: str
    target: str
    content: str
    unchanged: bool


def publish_local(store: Store, version: str) -> LocalCopy:
    """Copy a release to the local versioned folder, unless the same content is already there."""
    release = f"release/{version}"
    target = f"published/{version}"
    if not store.exists(f"{release}/{layout.MANIFEST}"):
        raise ReadbenchError(f"{store.url(release)}: no {layout.MANIFEST}: build the release first")
    manifest = manifest_in(store, release)
    content = manifest.content
    if store.exists(f"{target}/{layout.MANIFEST}"):
        if manifest_in(store, target).content == content:
            return LocalCopy(version, store.url(target), content, unchanged=True)
        if version in receipts(store):
            raise ReadbenchError(f"version {version} is published with other content: choose another with --version")
    staging = f"published/.publishing-{uuid.uuid4().hex[:8]}" if store.is_local else target
    for path in sorted(manifest.files):
        store.copy(f"{release}/{path}", f"{staging}/{path}")
    store.copy(f"{release}/{layout.MANIFEST}", f"{staging}/{layout.MANIFEST}")
    if staging != target:
        store.swap(staging, target)
    return LocalCopy(version, store.url(target), content, unchanged=False)
