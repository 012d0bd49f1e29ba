"""Which windows and events share steps, and which event of a window is the longest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from readbench_data.recordings.recording import Event


@dataclass(frozen=True)
class Overlaps:
    """Pairs of a window and an event that share a step, one element per pair, by window within each event.

    ``window`` and ``event`` int64 [n]: their numbers. ``steps`` int64 [n]: how many steps they share. ``covered``
    float64 [n]: the share of the event's own extent that is inside the window.
    """

    window: np.ndarray
    event: np.ndarray
    steps: np.ndarray
    covered: np.ndarray

    @classmethod
    def find(cls, events: Sequence[Event], starts: np.ndarray, stops: np.ndarray) -> Overlaps:
        """Every pair of an event and a window [start, stop); ``starts`` and ``stops`` are sorted."""
        first = np.fromiter((e.start for e in events), np.int64, len(events))
        last = np.fromiter((e.stop for e in events), np.int64, len(events))
        low = np.searchsorted(stops, first, side="right")
        high = np.searchsorted(starts, last, side="left")
        number = np.maximum(high - low, 0)
        event = np.repeat(np.arange(len(events)), number)
        offset = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
        window = low[event] + offset
        steps = np.minimum(stops[window], last[event]) - np.maximum(starts[window], first[event])
        return cls(window, event, steps, steps / (last - first)[event]).only(steps > 0)

    def only(self, chosen: np.ndarray) -> Overlaps:
        """The chosen pairs: a mask bool [n], or their positions in the wanted order."""
        return Overlaps(self.window[chosen], self.event[chosen], self.steps[chosen], self.covered[chosen])

    def longest(self) -> Overlaps:
        """One pair per window: the event with most steps in it, the earlier event where several have as many."""
        ordered = self.only(np.lexsort((self.event, -self.steps, self.window)))
        return ordered.only(np.flatnonzero(np.diff(ordered.window, prepend=-1)))

    def as_long_as(self, longest: Overlaps) -> Overlaps:
        """The pairs whose event has as many steps in its window as the longest one there."""
        place = np.searchsorted(longest.window, self.window)
        return self.only(self.steps == longest.steps[place])
