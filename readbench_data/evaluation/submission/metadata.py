"""What ``metadata.yaml`` states: name, family, supervision and the form of the values. Spellings that people use for a
supervision are accepted, and what they were taken for is reported.

The board publishes neither the names of the keys nor the word for methods without labels, so both are ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from readbench_data.evaluation.task.supervision import Supervision

KEYS = ("name", "family", "supervision", "authors", "links")
LONGEST = 80
"""Characters of a name, family or supervision."""

SPELLINGS = {
    **dict.fromkeys(
        ("unsupervised", "label-free", "labelfree", "zero-shot", "self-supervised", "no-labels", "untrained"),
        Supervision.NONE,
    ),
    **dict.fromkeys(("normal", "normal-only", "normals-only", "one-class"), Supervision.NORMALS),
    **dict.fromkeys(("neighbor-labels", "neighbour-label", "neighbor-label"), Supervision.NEIGHBOUR_LABELS),
    **dict.fromkeys(("fully-supervised", "labels", "labelled", "labeled"), Supervision.SUPERVISED),
    **{str(one): one for one in Supervision},
}
"""Spellings in lower case with hyphens. A self-supervised or zero-shot method reads no label of this corpus."""


class Arrays(StrEnum):
    """The form of ``ts_values``: lists of lists, as the board's contract types them, or float32 arrays [T][C]."""

    LISTS = "lists"
    NUMPY = "numpy"


@dataclass(frozen=True)
class Metadata:
    """The parsed keys. ``note``: what a spelling of the supervision was taken for, or None."""

    name: str
    family: str
    supervision: Supervision
    arrays: Arrays
    note: str | None


def supervision_of(text: str) -> Supervision | None:
    """The supervision that a spelling means; None if it is none of the known ones.

    >>> supervision_of("Zero shot"), supervision_of("neighbor_labels")
    (<Supervision.NONE: 'none'>, <Supervision.NEIGHBOUR_LABELS: 'neighbour-labels'>)
    """
    return SPELLINGS.get(re.sub(r"[\s_-]+", "-", text.strip().lower()))


def metadata_problems(found: Any) -> list[str]:
    """What is wrong with parsed ``metadata.yaml``, one line each, without the name of the file."""
    if not isinstance(found, dict):
        return [f"must contain the keys {', '.join(KEYS)}"]
    stated = _with_name(found)
    problems = [f"key {key!r} is missing or empty" for key in KEYS[:4] if not stated.get(key)]
    if found.get("method") and found.get("name") and found["method"] != found["name"]:
        problems.append("'name' and 'method' differ: give one of them")
    for key in ("name", "family", "supervision"):
        value = stated.get(key)
        if value and not (isinstance(value, str) and value.isprintable() and len(value) <= LONGEST):
            return [*problems, f"{key} must be one line of text, at most {LONGEST} characters"]
    supervision, arrays = stated.get("supervision"), stated.get("arrays", Arrays.LISTS)
    if supervision and supervision_of(supervision) is None:
        problems.append(f"supervision {supervision!r} is not one of {', '.join(Supervision)}")
    if arrays not in [*Arrays]:
        problems.append(f"arrays {arrays!r} is not one of {', '.join(Arrays)}")
    return problems


def metadata_of(found: dict[str, Any]) -> Metadata:
    """Return the metadata from a mapping in which :func:`metadata_problems` finds nothing."""
    stated = _with_name(found)
    meant = supervision_of(stated["supervision"])
    assert meant is not None
    note = None if stated["supervision"] == meant else f"supervision {stated['supervision']!r} is taken as {meant}"
    return Metadata(stated["name"], stated["family"], meant, Arrays(stated.get("arrays", Arrays.LISTS)), note)


def _with_name(found: dict[str, Any]) -> dict[str, Any]:
    """``method:`` is read as ``name:``."""
    return {**found, "name": found.get("name") or found.get("method")}
