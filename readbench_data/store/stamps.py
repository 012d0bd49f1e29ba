"""Stamps of files: what changes when a file is written, so that an unchanged file need not be read to know that."""

from __future__ import annotations

from readbench_data.store.store import Store

_FACTS = ("size", "mtime", "created", "ino", "ETag", "etag", "LastModified", "last_modified", "updated", "generation")
"""Of a local file: its size, the times of its last change and of the last change of its entry, and its number; of an
object: its size, its hash, and the time it was written."""


def stamps(store: Store, *paths: str) -> dict[str, str]:
    """Return the stamp of every file at or below the given paths of a store, by path; a missing path adds none.

    A file whose store states nothing but its size has an empty stamp.
    """
    fs, root = store.fs, store.url()
    fs.invalidate_cache()
    found: dict[str, str] = {}
    for path in paths:
        for name, info in fs.find(store.url(path), detail=True).items():
            facts = [str(info[fact]) for fact in _FACTS if info.get(fact) is not None]
            found[name.removeprefix(root).lstrip("/")] = " ".join(facts) if len(facts) > 1 else ""
    return found


def unchanged(before: dict[str, str], now: dict[str, str]) -> bool:
    """Return whether the same files are there with the same stamps; an empty stamp proves nothing."""
    return before == now and all(now.values())
