"""Checks that the card, the licence notes and croissant.json describe the release correctly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import zip_longest
from typing import TypeVar

import yaml

from readbench_data.dataset.source import Source
from readbench_data.release import layout
from readbench_data.release.card import Published, card, configs, licence_note
from readbench_data.release.card_parts import setting_rows, table, version_line
from readbench_data.release.composition import ReleaseComposition, table_rows
from readbench_data.release.manifest import Manifest
from readbench_data.release.verify.report import Check

T = TypeVar("T", Manifest, ReleaseComposition)

CHANGELOG = "CHANGELOG.md"
"""Next to the card of a published release; the card repeats its newest section."""

_ON_THE_HUB = re.compile(r'load_dataset\("([^"/]+/[^"/]+)", .*revision="([^"]+)"')
_SINCE = re.compile(r"\n## [^\n]+\n\nSince ([^\n]+):\n\n(.*?)\n(?:\n## |\Z)", re.DOTALL)


def check_card(check: Check, sources: Mapping[str, Source] | None = None) -> None:
    """Check that the card's configs list exactly the files of the release, that it names this version, and that it
    matches the manifest and the composition: the whole text with ``sources``, else its numbers and settings."""
    if not _as_listed(check, layout.CARD):
        return
    text = _text(check, layout.CARD)
    parts = text.split("---\n", 2)
    try:
        front = yaml.safe_load(parts[1]) if len(parts) == 3 else None
    except yaml.YAMLError:
        front = None
    before = len(check.report.problems)
    if not isinstance(front, dict) or front.get("configs") != configs(check.manifest):
        check.breach(layout.CARD, "unlisted", "its configs are not the files of this release: the card is stale")
    if f"version {check.manifest.version}" not in text:
        check.breach(layout.CARD, "unlisted", "it does not name this version: the card is stale")
    if before == len(check.report.problems):
        _compare(check, text, sources)


def _compare(check: Check, text: str, sources: Mapping[str, Source] | None) -> None:
    problem: str | None = "it cannot be generated from the manifest and composition.json"
    if check.composition is not None:
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            problem = _first_wrong(check, text, check.composition, sources)
    if problem:
        check.breach(layout.CARD, "unlisted", f"{problem}: the card is stale")


def _first_wrong(
    check: Check, text: str, composition: ReleaseComposition, sources: Mapping[str, Source] | None
) -> str | None:
    manifest, lines = check.manifest, text.split("\n")
    if sources is not None:
        cards = _cards(check, text, composition, sources)
        same = max(_same_lines(lines, right.split("\n")) for right in cards)
        return None if text in cards else f"line {same + 1} differs from the generated card"
    if not any(_has_rows(lines, table([], table_rows(composition, absent))[2:]) for absent in (False, True)):
        return "its composition table does not match composition.json"
    settings = [row[:2] for row in setting_rows(manifest)]
    there = [_cells(line)[:2] for line in lines if _is_row(line)]
    missing = [cells for cells in settings if cells not in there]
    if missing:
        return f"its setting {missing[0][0]} does not match the manifest"
    version = version_line(manifest)
    return (
        None
        if any(line.startswith(version) for line in lines)
        else "its version, seed or configuration does not match the manifest"
    )


def _cards(check: Check, text: str, composition: ReleaseComposition, sources: Mapping[str, Source]) -> list[str]:
    """Return the card as the build writes it, with the datasets in the order of the declarations, and as it is
    published, in the order of the manifest's JSON. The address on the Hub is taken from the card itself."""
    found = _ON_THE_HUB.search(text)
    where = Published(found[1], found[2]) if found else None

    def ordered(record: T) -> T:
        return record.changed(datasets={n: record.datasets[n] for n in sources if n in record.datasets})

    pairs = ((ordered(check.manifest), ordered(composition)), (check.manifest, composition))
    return [card(*pair, sources, where, _since(check)) for pair in pairs]


def _has_rows(lines: list[str], rows: list[str]) -> bool:
    """Return whether a table of the card has exactly these rows."""
    first = lines.index(rows[0]) if rows[0] in lines else 0
    return lines[first : first + len(rows)] == rows and not _is_row(lines[first + len(rows)])


def _same_lines(found: list[str], right: list[str]) -> int:
    """Return how many lines agree, counted from the top."""
    return next((n for n, (a, b) in enumerate(zip_longest(found, right)) if a != b), len(right))


def _is_row(line: str) -> bool:
    return line.startswith("| ")


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def _since(check: Check) -> tuple[str, str] | None:
    """Return the previous version and the changes since, from the newest section of the changelog."""
    if CHANGELOG not in check.manifest.files:
        return None
    text = _text(check, CHANGELOG)
    newest = text.find("\n## ")
    found = _SINCE.match(text, newest) if newest >= 0 else None
    return (found[1], found[2]) if found else None


def check_licences(check: Check, sources: Mapping[str, Source] | None = None) -> None:
    """Check that every dataset's note and the card name the licence in the manifest; with ``sources``, also that the
    note is byte-for-byte identical to the generated one."""
    text = _text(check, layout.CARD) if check.release.exists(layout.CARD) else ""
    for name, dataset in check.manifest.built.items():
        path, licence = layout.licence(name), dataset.licence
        if not _as_listed(check, path):
            continue
        note = _text(check, path)
        if not note.strip():
            check.breach(path, "unlisted", "it is empty: licence and citation are missing")
        elif not licence or f"- Licence: {licence} (" not in note:
            check.breach(path, "unlisted", f"it does not name the licence in the manifest ({licence})")
        elif sources is not None and name in sources and note != licence_note(name, sources[name], dataset):
            check.breach(path, "unlisted", "it differs from the note generated from the declaration")
        if text and not re.search(
            rf"^\| {re.escape(name)} \| .*\| \[{re.escape(str(licence))}\]\(", text, re.MULTILINE
        ):
            check.breach(layout.CARD, "unlisted", f"it does not name the licence of {name} ({licence})")


def _as_listed(check: Check, path: str) -> bool:
    """Return whether a file is there with the checksum in the manifest; if not, that is already reported."""
    return check.release.exists(path) and not check.file(path).counts["checksum_error"]


def _text(check: Check, path: str) -> str:
    return check.release.read_bytes(path).decode("utf-8", errors="replace")


def check_croissant(check: Check) -> None:
    """Check that croissant.json, if present, describes this version and exactly the data files that are there."""
    if layout.CROISSANT not in check.manifest.files or not check.release.exists(layout.CROISSANT):
        return
    try:
        croissant = check.release.read_json(layout.CROISSANT)
        described = {f["contentUrl"] for f in croissant["distribution"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        check.breach(layout.CROISSANT, "schema_error", "cannot be read as a description of a release")
        return
    data = {path for path in check.manifest.files if path.startswith("data/")}
    if described != data or croissant.get("version") != check.manifest.version:
        check.breach(layout.CROISSANT, "unlisted", "it does not describe the files of this release: it is stale")
