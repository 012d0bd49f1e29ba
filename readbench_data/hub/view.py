"""What of a release is published: a view of it without the datasets nobody may pass on.

A release folder is never changed. The view is a folder beside it with links to the same Parquet files and with its
own manifest, composition, card, Croissant description and changelog, so that it verifies by itself.
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
    """What is new since the version before: its tag, the words for people, and its own changelog."""

    since: str
    words: str
    older: str = ""


def withheld(manifest: Manifest, sources: Mapping[str, Source], allowed: Iterable[str]) -> dict[str, str]:
    """Datasets of a release that nobody may pass on, with the reason; ``allowed`` are published all the same.

    Raises ``ReadbenchError`` where nothing is left or ``allowed`` names a dataset that needs no such setting.
    """
    built = list(manifest.built)
    barred = {n: sources[n].licence.name for n in built if not sources[n].licence.redistributable}
    allowed = set(allowed)
    if needless := sorted(allowed - set(barred)):
        known = ", ".join(sorted(barred)) or "none here"
        raise ReadbenchError(f"{SETTING} {needless[0]}: it is for datasets without a licence to pass on ({known})")
    out = {
        name: f"left out of what is published, as no licence allows it to be passed on ({licence})"
        for name, licence in barred.items()
        if name not in allowed
    }
    if len(out) == len(built):
        raise ReadbenchError(
            f"nothing may be published: no licence allows {', '.join(sorted(out))} to be passed on; who has the right "
            f"to says so with {SETTING} {min(out, default='NAME')}"
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
        gone = UnbuiltDataset(status=LaneStatus.WITHHELD, reason=reason, origin=None, partial=False)
        manifest = manifest.changed(datasets={**manifest.datasets, name: gone})
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
    since = None if changes is None else (changes.since, changes.words)
    text = card(manifest, composition, dict(sources), published, since)
    files[layout.CARD] = _write(into, layout.CARD, text.encode())
    manifest = manifest.changed(files=dict(sorted(files.items())))
    Store(str(into)).write_json(layout.MANIFEST, manifest.to_json())
    return manifest


def _withheld(composition: ReleaseComposition, name: str, reason: str) -> ComposedDataset:
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
    """The changelog that travels with the data: this version on top of those before it."""
    head = "# Changelog\n\nOne section a published version, the newest first.\n"
    version = manifest.version
    if changes is None:
        return f"{head}\n## {version}\n\nFirst published version.\n"
    older = changes.older.split("\n## ", 1)
    rest = f"\n## {older[1]}" if len(older) == 2 else ""
    return f"{head}\n## {version}\n\nSince {changes.since}:\n\n{changes.words.strip()}\n{rest}"


def _link(source: Path, target: Path) -> None:
    """The same bytes under another name: a link, so that a view costs no space."""
    target.parent.mkdir(parents=True, exist_ok=True)
    os.symlink(source.resolve(), target)


def _write(folder: Path, path: str, data: bytes) -> FileEntry:
    Store(str(folder)).write_bytes(path, data)
    return text_entry(data)
