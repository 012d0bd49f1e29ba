"""What ``metadata.yaml`` states, typed; the rules are in ``board/checks.py``, which an exported repository has too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from readbench_data.evaluation.submission.board import checks
from readbench_data.evaluation.task.supervision import Supervision


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

    @classmethod
    def read(cls, folder: Path) -> Metadata:
        """Return the metadata of a submission in which :func:`checks.problems` finds nothing."""
        found = checks.stated(checks.metadata(str(folder)))
        meant = {"supervision": Supervision(found["supervision"]), "arrays": Arrays(found["arrays"])}
        return cls(**{**found, **meant})
