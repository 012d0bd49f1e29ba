"""A version that stands at the target already: is it this release?

What a version says of the versions before it (card, changelog) was true on the day it was published. Whether the same
release is published again is therefore asked of everything else; its words are then those that stand there.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from readbench_data.errors import ReadbenchError
from readbench_data.hub.address import Target
from readbench_data.hub.attempts import patiently, silent
from readbench_data.hub.client import Hub, quiet
from readbench_data.hub.patience import Patience
from readbench_data.hub.stores import open_target, reached
from readbench_data.hub.view import CHANGELOG
from readbench_data.release import layout
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.store.records import JsonObject

PROSE = (layout.CARD, CHANGELOG, layout.CROISSANT)
"""Files that are written anew for each target and each day, from all the others."""


def as_published(
    target: Target,
    tag: str,
    view: Path,
    made: Manifest,
    endpoint: str | None = None,
    patience: Patience | None = None,
    say: Callable[[str], None] = silent,
) -> Manifest | None:
    """Give ``view`` (of manifest ``made``) the prose and the manifest of the published ``tag`` if all else is the same.

    The published manifest; None, and nothing changed, where anything else differs or what stands there is not whole.
    """
    with tempfile.TemporaryDirectory(prefix="readbench-standing-") as temporary:
        there = Path(temporary)
        _fetch(target, tag, there, endpoint, patience, say)
        try:
            manifest = read_manifest(there)
            if _without_prose(manifest) != _without_prose(made):
                return None
            prose = {path: (there / path).read_bytes() for path in PROSE if path in manifest.files}
            if any(hashlib.sha256(text).hexdigest() != manifest.files[p].sha256 for p, text in prose.items()):
                return None
        except (ReadbenchError, OSError):
            return None  # no manifest of ours, or its files are not there: it is other content
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
    patience: Patience | None,
    say: Callable[[str], None],
) -> None:
    """The manifest and the prose of a published version, as far as they are there."""
    names, doing = (layout.MANIFEST, *PROSE), f"looking at {tag}"
    if target.on_hub:
        hub = Hub(target.name, endpoint)
        with quiet(bars=False):
            patiently(hub, lambda: hub.fetch(hub.commit_id(tag), names, folder), patience, say, doing)
        return
    store = open_target(target, endpoint)
    with reached(store, doing):
        for name in names:
            if store.exists(f"{tag}/{name}"):
                (folder / name).write_bytes(store.read_bytes(f"{tag}/{name}"))
