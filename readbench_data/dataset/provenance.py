"""Where a value comes from: stated in the paper, recovered from its numbers, or our own choice."""

from __future__ import annotations

from enum import StrEnum


class Provenance(StrEnum):
    """Where a declared value comes from.

    ``STATED``: the paper or its dataset card states it. ``RECOVERED``: it follows from numbers the paper prints.
    ``OURS``: this project's choice, where nothing is known.
    """

    STATED = "stated"
    RECOVERED = "recovered"
    OURS = "ours"


STATED, RECOVERED, OURS = Provenance.STATED, Provenance.RECOVERED, Provenance.OURS
