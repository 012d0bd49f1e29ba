"""Derives the licence of a whole release from the licences of its parts.

A release is a collection of separate parts, so each part stays under its own licence (by section 1 of CC BY-SA 4.0
and CC BY-NC-SA 4.0, only material derived from a work is adapted material). One licence can cover the whole only if it
requires everything that any part requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from readbench_data.dataset.source import Licence

IDENTIFIERS = {
    "CC0 1.0": "cc0-1.0",
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC BY-NC 4.0": "cc-by-nc-4.0",
    "CC BY-NC-SA 4.0": "cc-by-nc-sa-4.0",
    "MIT": "mit",
    "ODC-By 1.0": "odc-by",
}
"""The Hub's identifier of a licence, by its name in a source's declaration."""

FREE = ("CC0 1.0",)
CREDIT = ("CC BY 4.0",)


@dataclass(frozen=True)
class Overall:
    """``identifier`` on the Hub (``other`` if no single licence covers all parts), ``name``, and the ``reason``."""

    identifier: str
    name: str
    reason: str


def non_commercial(licence: Licence) -> bool:
    """Whether the licence of a part forbids commercial use."""
    return "-NC" in licence.name


def share_alike(licence: Licence) -> bool:
    """Whether works derived from a part must be shared under the same licence."""
    return "-SA" in licence.name


def overall(parts: Mapping[str, Licence]) -> Overall:
    """Return the licence of a release that consists of ``parts`` (licence by dataset), with the reason."""
    silent = sorted(n for n, licence in parts.items() if not licence.redistributable)
    closed = sorted(n for n, licence in parts.items() if non_commercial(licence))
    alike: dict[str, list[str]] = {}
    for name, licence in sorted(parts.items()):
        if share_alike(licence):
            alike.setdefault(licence.name, []).append(name)
    names = {licence.name for licence in parts.values()}
    words = _words(closed, alike)
    if silent:
        closing = f"{', '.join(silent)}: no licence is stated, so only the owners may redistribute the data"
        return Overall("other", "each part under its own terms", "; ".join([closing, *words]))
    if len(names) == 1:
        name = next(iter(names))
        return Overall(IDENTIFIERS.get(name, "other"), name, "; ".join(["all parts are under it", *words]))
    if len(alike) == 1 and not _stricter(names, next(iter(alike))):
        name = next(iter(alike))
        why = [*words, "the other parts require at most credit, and this licence requires credit too"]
        return Overall(IDENTIFIERS.get(name, "other"), name, "; ".join(why))
    if not alike and not closed and names <= {*FREE, *CREDIT}:
        return Overall("cc-by-4.0", "CC BY 4.0", "parts under it require credit, the others require nothing")
    reason = [*words] or [f"its parts are under {', '.join(sorted(names))}"]
    reason.append("no single licence requires all of this, so each part keeps its own")
    return Overall("other", "each part under its own licence", "; ".join(reason))


def _words(closed: list[str], alike: Mapping[str, list[str]]) -> list[str]:
    words = []
    if closed:
        words.append(f"the whole is for non-commercial use only, because of {', '.join(closed)}")
    for licence, names in alike.items():
        words.append(f"works derived from {', '.join(names)} must be shared under {licence} (ShareAlike)")
    return words


def _stricter(names: set[str], chosen: str) -> bool:
    """Whether another part has a requirement that the chosen share-alike licence does not have."""
    return any("-NC" in name and "-NC" not in chosen for name in names)
