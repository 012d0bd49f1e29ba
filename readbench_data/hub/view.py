"""The publishable view of a release: everything except datasets that may not be redistributed.

The release folder is never changed. The view is a second folder with links to the same Parquet files and with its own
manifest, composition, card, Croissant description and changelog, so that `readbench verify` accepts it by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError
from readbench_data.release import layout
from readbench_data.release.card import Published, card
from readbench_data.release.composition import ComposedDataset, ReleaseComposition
from readbench_data.release.croissant import croissant
from readbench_data.release.manifest import FileEntry, Manifest, UnbuiltDataset, text_entry
from readbench_data.release.reading import read_composition, read_manifest
from readbench_data.store.store import Store, json_bytes

SETTING = "--with-unlicensed"
CHANGELOG = "CHANGELOG.md"


@dataclass(frozen=True)
class Changes:
    """What changed since the previous version: that version's tag, a Markdown summary, and its changelog."""

    since: str
    summary: str
    older: str = ""


def withheld(manifest: Manifest, sources: Mapping[str, Source], allowed: Iterable[str]) -> dict[str, str]:
    """Return the datasets that may not be redistributed, each with the reason; ``allowed`` are published anyway.

    Raises ``ReadbenchError`` if no dataset is left, or if ``allowed`` names a dataset whose licence permits it.
    """
    built = list(manifest.built)
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
) -> Manifest:
    """Write the view of ``release`` into the empty folder ``into`` and return its manifest."""
    manifest, composition = read_manifest(release), read_composition(release)
    for name, reason in leave_out.items():
        withheld_dataset = UnbuiltDataset(status=LaneStatus.WITHHELD, reason=reason, origin=None, partial=False)
        manifest = manifest.changed(datasets={**manifest.datasets, name: withheld_dataset})
        composition = composition.changed(datasets={**composition.datasets, name: _withheld(composition, name, reason)})
    own = {layout.COMPOSITION, layout.CARD, layout.CROISSANT, CHANGELOG}
    prefixes = tuple(p for n in leave_out for p in (f"data/{n}/", layout.audit(n), layout.licence(n)))
    files = {p: f for p, f in manifest.files.items() if p not in own and not p.startswith(prefixes or ("\0",))}
    for path in files:
        _link(release / path, into / path)
    manifest = manifest.changed(files=files)
    files[layout.COMPOSITION] = _write(into, layout.COMPOSITION, json_bytes(composition.to_json()))
    files[CHANGELOG] = _write(into, CHANGELOG, changelog(manifest, changes).encode())
    files[layout.CROISSANT] = _write(into, layout.CROISSANT, json_bytes(croissant(manifest, sources)))
    since = None if changes is None else (changes.since, changes.summary)
    text = card(manifest, composition, dict(sources), published, since)
    files[layout.CARD] = _write(into, layout.CARD, text.encode())
    manifest = manifest.changed(files=dict(sorted(files.items())))
    Store(str(into)).write_json(layout.MANIFEST, manifest.to_json())
    return manifest


def _withheld(composition: ReleaseComposition, name: str, reason: str) -> ComposedDataset:
    """Return the composition of a dataset that is left out: without what was built."""
    known = composition.datasets[name]
    return ComposedDataset(
        status=LaneStatus.WITHHELD,
        reason=reason,
        domain=known.domain,
        row=known.row,
        printed=known.printed,
        built=None,
        origin=None,
        partial=False,
    )


def changelog(manifest: Manifest, changes: Changes | None) -> str:
    """Return the changelog that is published with the data: this version on top of the earlier ones."""
    head = "# Changelog\n\nOne section per published version, newest first.\n"
    version = manifest.version
    if changes is None:
        return f"{head}\n## {version}\n\nFirst published version.\n"
    older = changes.older.split("\n## ", 1)
    rest = f"\n## {older[1]}" if len(older) == 2 else ""
    return f"{head}\n## {version}\n\nSince {changes.since}:\n\n{changes.summary.strip()}\n{rest}"


def _link(source: Path, target: Path) -> None:
    """Link a file into the view, so that the view needs no disk space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(source.resolve(), target)


def _write(folder: Path, path: str, data: bytes) -> FileEntry:
    Store(str(folder)).write_bytes(path, data)
    return text_entry(data)
