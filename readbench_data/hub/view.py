"""The publishable view of a release: everything except datasets that may not be redistributed.

The release folder is never changed. The view is a second folder with links to the same Parquet files and with its own
manifest, composition, card, Croissant description and changelog, so that `readbench verify` accepts it by itself.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readbench_data.dataset.source import Source
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.card import Published, card
from readbench_data.release.croissant import croissant
from readbench_data.store.store import Store, json_bytes

WITHHELD = "withheld"
SETTING = "--with-unlicensed"
CHANGELOG = "CHANGELOG.md"


@dataclass(frozen=True)
class Changes:
    """What changed since the previous version: that version's tag, a Markdown summary, and its changelog."""

    since: str
    summary: str
    older: str = ""


def withheld(manifest: Mapping[str, Any], sources: Mapping[str, Source], allowed: Iterable[str]) -> dict[str, str]:
    """Return the datasets that may not be redistributed, each with the reason; ``allowed`` are published anyway.

    Raises ``ReadbenchError`` if no dataset is left, or if ``allowed`` names a dataset whose licence permits it.
    """
    built = [name for name, dataset in manifest["datasets"].items() if dataset["status"] == "ok"]
    barred = {n: sources[n].licence.name for n in built if not sources[n].licence.redistributable}
    allowed = set(allowed)
    if needless := sorted(allowed - set(barred)):
        known = ", ".join(sorted(barred)) or "none here"
        raise ReadbenchError(
            f"{SETTING} {needless[0]}: only for datasets without a licence that permits redistribution ({known})"
        )
    out = {
        name: f"not published, because no licence permits redistributing it ({licence})"
        for name, licence in barred.items()
        if name not in allowed
    }
    if len(out) == len(built):
        raise ReadbenchError(
            f"nothing to publish: no licence permits redistributing {', '.join(sorted(out))}; if you have the owner's "
            f"consent, add {SETTING} {min(out, default='NAME')}"
        )
    return out


def make_view(
    release: Path,
    into: Path,
    sources: Mapping[str, Source],
    leave_out: Mapping[str, str],
    published: Published,
    changes: Changes | None = None,
) -> dict[str, Any]:
    """Write the view of ``release`` into the empty folder ``into`` and return its manifest."""
    manifest = json.loads((release / layout.MANIFEST).read_text(encoding="utf-8"))
    composition = json.loads((release / layout.COMPOSITION).read_text(encoding="utf-8"))
    for name, reason in leave_out.items():
        manifest["datasets"][name] = {
            "status": WITHHELD,
            "reason": reason,
            "origin": None,
            "partial": False,
        }
        retained = {k: composition["datasets"][name][k] for k in ("domain", "row", "printed")}
        composition["datasets"][name] = retained | {
            "status": WITHHELD,
            "reason": reason,
            "built": None,
            "origin": None,
            "partial": False,
        }
    own = {layout.COMPOSITION, layout.CARD, layout.CROISSANT, CHANGELOG}
    removed = {name: (f"data/{name}/", layout.audit(name), layout.licence(name)) for name in leave_out}
    prefixes = tuple(p for parts in removed.values() for p in parts)
    files = {p: f for p, f in manifest["files"].items() if p not in own and not p.startswith(prefixes or ("\0",))}
    for path in files:
        _link(release / path, into / path)
    manifest["files"] = files
    files[layout.COMPOSITION] = _write(into, layout.COMPOSITION, json_bytes(composition))
    files[CHANGELOG] = _write(into, CHANGELOG, changelog(manifest, changes).encode())
    files[layout.CROISSANT] = _write(into, layout.CROISSANT, json_bytes(croissant(manifest, sources)))
    since = None if changes is None else (changes.since, changes.summary)
    text = card(manifest, composition, dict(sources), published, since)
    files[layout.CARD] = _write(into, layout.CARD, text.encode())
    manifest["files"] = dict(sorted(files.items()))
    Store(str(into)).write_json(layout.MANIFEST, manifest)
    return manifest


def changelog(manifest: Mapping[str, Any], changes: Changes | None) -> str:
    """Return the changelog that is published with the data: this version on top of the earlier ones."""
    head = "# Changelog\n\nOne section per published version, newest first.\n"
    version = manifest["version"]
    if changes is None:
        return f"{head}\n## {version}\n\nFirst published version.\n"
    older = changes.older.split("\n## ", 1)
    rest = f"\n## {older[1]}" if len(older) == 2 else ""
    return f"{head}\n## {version}\n\nSince {changes.since}:\n\n{changes.summary.strip()}\n{rest}"


def _link(source: Path, target: Path) -> None:
    """Link a file into the view, so that the view needs no disk space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(source.resolve(), target)


def _write(folder: Path, path: str, data: bytes) -> dict[str, Any]:
    Store(str(folder)).write_bytes(path, data)
    sha = hashlib.sha256(data).hexdigest()
    return {"sha256": sha, "bytes": len(data), "rows": None, "content_sha256": sha}
