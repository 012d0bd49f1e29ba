"""What becomes of a window, and why: every name used in the audit table, with its explanation for people.

Code that decides uses the members; reports show ``words``. A new reason is added only here.
"""

from __future__ import annotations

from enum import StrEnum


class Side(StrEnum):
    """Side of the split that a unit, and each of its windows, belongs to."""

    QUERY = "query"
    CORPUS = "corpus"


class _Explained(StrEnum):
    """A name with ``words``, its explanation."""

    words: str

    def __new__(cls, value: str, words: str = "") -> _Explained:
        member = str.__new__(cls, value)
        member._value_ = value
        member.words = words
        return member


class Outcome(_Explained):
    """What a window is in a release. ``DROPPED``: it has no class that can be used."""

    QUERY = "query", "query: drawn from the query (test) side"
    CORPUS = "corpus", "corpus: drawn from the corpus (train) side"
    POOL = "pool", "retained, not selected"
    DROPPED = "dropped", "dropped"


SELECTED = (Outcome.QUERY, Outcome.CORPUS)
"""Outcomes of the windows that are published as queries or corpus entries."""


class Reason(_Explained):
    """Why a window is dropped, or retained and not selected.

    The first four are decided from its label evidence, the fifth from identical windows; the others are those of
    windows that are retained.
    """

    AMBIGUOUS = "ambiguous", "two faults tie, so no class has the majority"
    MIXED = "mixed", "Normal has the most votes, but fewer than normal_purity requires"
    UNLABELLED = "unlabelled", "it covers a step without a label, or nothing in it votes"
    CROSSES_UNITS = "crosses_units", "it reaches from one split unit into the next"
    CONFLICTING_DUPLICATE = "conflicting_duplicate", "an identical window has another class"
    DUPLICATE = "duplicate", "an identical window of the same class represents it"
    NORMAL_NOT_DRAWN = "normal_not_drawn", "a Normal window beyond what the pollution levels need"
    NORMAL_ON_QUERY_SIDE = "normal_on_query_side", "a Normal window on the query side; Normal windows are never queries"
    CLASS_NOT_DRAWN = "class_not_drawn", "no window of its class is drawn on this side"
    OVER_CAP = "over_cap", "not drawn: its class had already reached its share of the cap"


def explained(reason: str) -> str:
    """Explanation of a reason; the reason itself where another version of this code gave it."""
    return next((known.words for known in Reason if known == reason), reason)
