"""What several evaluations of one release share within a process, so that each file is read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from readbench_data.evaluation.run.results_store import ResultsStore
from readbench_data.evaluation.task.arrays import ArrayCache
from readbench_data.evaluation.task.release_data import DatasetInfo, Release
from readbench_data.evaluation.task.task import Task

KEPT_BYTES = 1 << 30
"""Most bytes of windows that are kept between evaluations; a dataset that does not fit is loaded by each of them."""


@dataclass
class Session:
    """A release and its results, with what was read of them: datasets, labels, stored units.

    A stored unit is read again when its file changes; a release that changes needs a new session.
    """

    release: Release
    store: ResultsStore
    limit: int = KEPT_BYTES
    _tasks: dict[tuple[str, str], Task] = field(default_factory=dict)
    _bytes: int = 0

    @classmethod
    def open(cls, release: Path, out: Path) -> Self:
        """Return the session of a release folder and a folder of results. Raises UsageError if there is no release."""
        return cls(Release(release), ResultsStore(out))

    def task(self, info: DatasetInfo) -> Task:
        """Return a dataset, aligned as ``info`` states; loaded once if it fits into the limit."""
        key = info.name, info.alignment
        if key not in self._tasks:
            task = Task.load(self.release, info.name, ArrayCache(self.store.shared), info.alignment)
            size = 2 * sum(v.nbytes for v in (*task.queries.values, *task.corpus.values))  # as released, and aligned
            if self._bytes + size > self.limit:
                return task
            self._bytes += size
            self._tasks[key] = task
        return self._tasks[key]
