"""The window plan: where windows start and stop in a segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from readbench_data.recordings.segment import SegmentInfo


@dataclass(frozen=True)
class WindowPlan:
    """How the series of a source are cut into windows.

    ``length`` and ``stride`` in timesteps; without a stride, windows follow one another without overlap. With
    ``length`` None every segment is one window (the source's own windows, whose length may vary). Where a recording
    has window starts of its own, they replace the stride.

    Raises ValueError for a length or stride below 1.

    Examples
    --------
    >>> WindowPlan(length=256, stride=32)
    WindowPlan(length=256, stride=32)
    """

    length: int | None
    stride: int | None = None

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise ValueError("a window has at least one step")
        if self.stride is not None and self.stride < 1:
            raise ValueError("a stride is at least one step")

    def bounds(self, segment: SegmentInfo) -> tuple[np.ndarray, np.ndarray]:
        """Return the half-open step ranges of a segment's windows: int64 starts [n] and stops [n], sorted.

        Only complete windows: steps after the last one, and segments shorter than a window, are left out.
        """
        if self.length is None:
            n = 1 if segment.steps else 0
            return np.zeros(n, np.int64), np.full(n, segment.steps, np.int64)
        if segment.window_starts is not None:
            starts = np.sort(np.asarray(segment.window_starts, np.int64))
            starts = starts[(starts >= 0) & (starts + self.length <= segment.steps)]
        else:
            starts = np.arange(0, segment.steps - self.length + 1, self.stride or self.length, dtype=np.int64)
        return starts, starts + self.length
