"""Which split unit each window belongs to, and which windows reach from one unit into the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from readbench_data.recordings.recording import UnitSpans


@dataclass(frozen=True)
class WindowUnits:
    """``names`` of the units of a segment; ``unit`` int64 [n], the number in ``names`` of the unit in which each window
    starts; ``crossing`` bool [n]: the window ends in another unit."""

    names: tuple[str, ...]
    unit: np.ndarray
    crossing: np.ndarray

    @classmethod
    def find(cls, unit: str | UnitSpans, starts: np.ndarray, stops: np.ndarray) -> WindowUnits:
        """The units of the windows [start, stop) of a segment whose unit, or sequence of units, is ``unit``."""
        n = len(starts)
        if isinstance(unit, str):
            return cls((unit,), np.zeros(n, np.int64), np.zeros(n, bool))
        first = np.searchsorted(unit.starts, starts, side="right") - 1
        last = np.searchsorted(unit.starts, stops - 1, side="right") - 1
        names = np.array(unit.names, object)
        return cls(unit.names, first, names[first] != names[last])
