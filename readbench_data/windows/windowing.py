"""Where windows start and stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from readbench_data.recordings.segment import SegmentInfo


@dataclass(frozen=True)
class WindowPlan:
    """How a source's series become windows.

    ``length`` and ``stride`` in timesteps. ``length`` None keeps every recording whole, as one window
    (the source's own windows, whose length may vary). Where a recording names its own window starts,
    they replace the stride.
    """

    length: int | None
    stride: int | None = None

    def __post_init__(self) -> None:
        if self.length is not None and self.length < 1:
            raise ValueError("a window has at least one step")
        if self.stride is not None and self.stride < 1:
            raise ValueError("a stride is at least one step")

    def bounds(self, segment: SegmentInfo) -> tuple[np.ndarray, np.ndarray]:
        """Half-open step ranges of a segment's windows: int64 starts [n] and stops [n], by start.

        Only whole windows: what remains after the last one, and segments shorter than a window, are left.
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
