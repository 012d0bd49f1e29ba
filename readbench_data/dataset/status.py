"""Status of a dataset: how its lane ended, and so what a release holds of it."""

from __future__ import annotations

from enum import StrEnum


class LaneStatus(StrEnum):
    """``WITHHELD`` is given at publication: built, but not redistributed."""

    OK = "ok"
    NO_DATA = "no_data"
    FAILED = "failed"
    NOT_SELECTED = "not_selected"
    WITHHELD = "withheld"

    @property
    def words(self) -> str:
        """The status as people read it."""
        return self.replace("_", " ")
