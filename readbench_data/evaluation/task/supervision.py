"""Which labels a method reads."""

from __future__ import annotations

from enum import StrEnum


class Supervision(StrEnum):
    """Weakest first: no label, which windows are Normal, the classes of a query's neighbours, the classes of the
    whole corpus. READ-Bench names the last two; the first two names are ours."""

    NONE = "none"
    NORMALS = "normals"
    NEIGHBOUR_LABELS = "neighbour-labels"
    SUPERVISED = "supervised"
