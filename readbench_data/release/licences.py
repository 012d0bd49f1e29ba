"""What may be done with the whole, from the licences of its parts.

A release is a collection: it puts parts side by side and does not merge them, so each part stays under its own
licence (CC BY-SA 4.0 and CC BY-NC-SA 4.0, section 1, call only what is derived from a work adapted material). One
licence can cover the whole only if it asks for everything that any part asks for.
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
"""Name of a licence in a source's declaration -> its identifier on the Hub."""

FREE = ("CC0 1.0",)
CREDIT = ("CC BY 4.0",)


@dataclass(frozen=True)
class Overall:
    """``identifier`` on the Hub (``other`` where no single licence covers all), and in words why."""

    identifier: str
    name: str
    reason: str


def non_commercial(licence: Licence) -> bool:
    """Whether a part may not be used commercially."""
    return "-NC" in licence.name


def share_alike(licence: Licence) -> bool:
    """Whether what is made of a part must keep its licence."""
    return "-SA" in licence.name


def overall(parts: Mapping[str, Licence]) -> Overall:
    """The licence of a release that holds ``parts`` (dataset -> its licence), with the reason."""
    silent = sorted(n for n, licence in parts.items() if not licence.redistributable)
    closed = sorted(n for n, licence in parts.items() if non_commercial(licence))
    alike: dict[str, list[str]] = {}
    for name, licence in sorted(parts.items()):
        if share_alike(licence):
            alike.setdefault(licence.name, []).append(name)
    names = {licence.name for licence in parts.values()}
    words = _words(closed, alike)
    if silent:
        statement = f"{', '.join(silent)} state no licence: only their owners may redistribute them"
        return Overall("other", "each part under its own terms", "; ".join([statement, *words]))
    if len(names) == 1:
        name = next(iter(names))
        return Overall(IDENTIFIERS.get(name, "other"), name, "; ".join(["all parts are under it", *words]))
    if len(alike) == 1 and not _stricter(names, next(iter(alike))):
        name = next(iter(alike))
        why = [*words, "the other parts ask for no more than credit, which it asks for too"]
        return Overall(IDENTIFIERS.get(name, "other"), name, "; ".join(why))
    if not alike and not closed and names <= {*FREE, *CREDIT}:
        return Overall("cc-by-4.0", "CC BY 4.0", "parts under it ask for credit, the others for nothing")
    reason = [*words] or [f"its parts are under {', '.join(sorted(names))}"]
    reason.append("no single licence says all of this, so each part keeps its own")
    return Overall("other", "each part under its own licence", "; ".join(reason))


def _words(closed: list[str], alike: Mapping[str, list[str]]) -> list[str]:
    words = []
    if closed:
        words.append(f"the whole is for non-commercial use only, because of {', '.join(closed)}")
    for licence, names in alike.items():
        words.append(f"what is made of {', '.join(names)} must be shared under {licence} (ShareAlike)")
    return words


def _stricter(names: set[str], chosen: str) -> bool:
    """Whether another part asks for something that the chosen share-alike licence does not."""
    return any("-NC" in name and "-NC" not in chosen for name in names)
