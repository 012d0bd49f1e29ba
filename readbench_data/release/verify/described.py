"""What describes a release to readers and machines: card, licence notes and croissant.json tell what is there."""

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
"""Beside the card of a published release; the card repeats what its newest section says."""

_ON_THE_HUB = re.compile(r'load_dataset\("([^"/]+/[^"/]+)", .*revision="([^"]+)"')
_SINCE = re.compile(r"\n## [^\n]+\n\nSince ([^\n]+):\n\n(.*?)\n(?:\n## |\Z)", re.DOTALL)


def check_card(check: Check, sources: Mapping[str, Source] | None = None) -> None:
    """The card's configs are exactly the files that are there, it names this version, and it is the card that is made
    of this manifest and composition: byte for byte with ``sources``, else in its numbers and settings."""
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
    told: str | None = "it cannot be made again from the manifest and composition.json"
    if check.composition is not None:
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            told = _first_wrong(check, text, check.composition, sources)
    if told:
        check.breach(layout.CARD, "unlisted", f"{told}: the card is stale")


def _first_wrong(
    check: Check, text: str, composition: ReleaseComposition, sources: Mapping[str, Source] | None
) -> str | None:
    manifest, lines = check.manifest, text.split("\n")
    if sources is not None:
        cards = _cards(check, text, composition, sources)
        same = max(_same_lines(lines, right.split("\n")) for right in cards)
        return None if text in cards else f"line {same + 1} is not what this release's card says"
    if not any(_has_rows(lines, table([], table_rows(composition, absent))[2:]) for absent in (False, True)):
        return "its composition table is not that of composition.json"
    settings = [row[:2] for row in setting_rows(manifest)]
    there = [_cells(line)[:2] for line in lines if _is_row(line)]
    missing = [cells for cells in settings if cells not in there]
    if missing:
        return f"its setting {missing[0][0]} is not that of the manifest"
    version = version_line(manifest)
    return (
        None
        if any(line.startswith(version) for line in lines)
        else "its version, seed or configuration is not that of the manifest"
    )


def _cards(check: Check, text: str, composition: ReleaseComposition, sources: Mapping[str, Source]) -> list[str]:
    """The card as the build writes it, with the datasets in the order of the declarations, and as it is published, with
    those of the manifest's JSON. Where it is read on the Hub is taken from itself."""
    found = _ON_THE_HUB.search(text)
    where = Published(found[1], found[2]) if found else None

    def ordered(stated: T) -> T:
        return stated.changed(datasets={n: stated.datasets[n] for n in sources if n in stated.datasets})

    pairs = ((ordered(check.manifest), ordered(composition)), (check.manifest, composition))
    return [card(*pair, sources, where, _since(check)) for pair in pairs]


def _has_rows(lines: list[str], rows: list[str]) -> bool:
    """Whether one table of the card holds exactly these rows."""
    first = lines.index(rows[0]) if rows[0] in lines else 0
    return lines[first : first + len(rows)] == rows and not _is_row(lines[first + len(rows)])


def _same_lines(found: list[str], right: list[str]) -> int:
    """How many lines agree from the top on."""
    return next((n for n, (a, b) in enumerate(zip_longest(found, right)) if a != b), len(right))


def _is_row(line: str) -> bool:
    return line.startswith("| ")


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def _since(check: Check) -> tuple[str, str] | None:
    """The version before and what has changed, as the changelog's newest section has it."""
    if CHANGELOG not in check.manifest.files:
        return None
    text = _text(check, CHANGELOG)
    newest = text.find("\n## ")
    found = _SINCE.match(text, newest) if newest >= 0 else None
    return (found[1], found[2]) if found else None


def check_licences(check: Check, sources: Mapping[str, Source] | None = None) -> None:
    """Every dataset's note names the licence that the manifest states, and so does the card; with ``sources`` the note
    equals the text made from them, byte for byte."""
    text = _text(check, layout.CARD) if check.release.exists(layout.CARD) else ""
    for name, dataset in check.manifest.built.items():
        path, licence = layout.licence(name), dataset.licence
        if not _as_listed(check, path):
            continue
        note = _text(check, path)
        if not note.strip():
            check.breach(path, "unlisted", "it is empty: it says neither licence nor citation")
        elif not licence or f"- Licence: {licence} (" not in note:
            check.breach(path, "unlisted", f"it does not name the licence that the manifest states ({licence})")
        elif sources is not None and name in sources and note != licence_note(name, sources[name], dataset):
            check.breach(path, "unlisted", "it is not the note of this dataset's declaration")
        if text and not re.search(
            rf"^\| {re.escape(name)} \| .*\| \[{re.escape(str(licence))}\]\(", text, re.MULTILINE
        ):
            check.breach(layout.CARD, "unlisted", f"it does not name the licence of {name} ({licence})")


def _as_listed(check: Check, path: str) -> bool:
    """Whether a file is there with the checksum of the manifest; otherwise a breach has been reported."""
    return check.release.exists(path) and not check.file(path).counts["checksum_error"]


def _text(check: Check, path: str) -> str:
    return check.release.read_bytes(path).decode("utf-8", errors="replace")


def check_croissant(check: Check) -> None:
    """croissant.json, where there is one, describes exactly the data files that are there, and this version."""
    if layout.CROISSANT not in check.manifest.files or not check.release.exists(layout.CROISSANT):
        return
    try:
        told = check.release.read_json(layout.CROISSANT)
        described = {f["contentUrl"] for f in told["distribution"]}
    except (ValueError, KeyError, TypeError, AttributeError):
        check.breach(layout.CROISSANT, "schema_error", "cannot be read as a description of a release")
        return
    data = {path for path in check.manifest.files if path.startswith("data/")}
    if described != data or told.get("version") != check.manifest.version:
        check.breach(layout.CROISSANT, "unlisted", "it does not describe the files of this release: it is stale")
