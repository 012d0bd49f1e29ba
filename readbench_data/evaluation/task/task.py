"""One dataset as a task, and the view of it a method gets at one level of pollution.

Corpora nest, so what concerns one pair of windows (a distance) or one window (an embedding) is computed once,
for the largest corpus, and cut out for the smaller ones. What is fitted on a corpus, or ranked within it, is
done on the view and so again at every level.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.scoring.ties import rank, tie_keys
from readbench_data.evaluation.task.arrays import ArrayCache, Costs, LevelCache
from readbench_data.evaluation.task.release_data import Release, TaskLabels, normal_positions
from readbench_data.evaluation.task.windows import (
    NAME,
    POSITION,
    Aligned,
    Scale,
    Windows,
    align,
    by_position,
    channel_scale,
)

T = TypeVar("T")

AT_LEVEL = "at level "
"""Marks the costs of what is kept for a level and not in a file."""


@dataclass(frozen=True)
class Task:
    """Queries and the largest corpus of one dataset.

    ``reference`` holds the normal reference (the Normal windows of the 20 % corpus): an argument of its own at
    every level, never ranked unless it is in the corpus. ``alignment`` is how channels are compared
    (``task.windows.ALIGNMENTS``); aligned by position, channels are named 1 to C and their own names are hidden.
    ``data_hash`` names data and alignment.
    """

    dataset: str
    data_hash: str
    labels: TaskLabels
    queries: Windows
    corpus: Windows
    reference: Windows
    cache: ArrayCache = field(default_factory=ArrayCache, compare=False)
    level_cache: LevelCache = field(default_factory=LevelCache, compare=False)
    alignment: str = NAME

    @classmethod
    def load(
        cls, release: Release, dataset: str, cache: ArrayCache | None = None, alignment: str | None = None
    ) -> Task:
        """The task of a release's dataset; ``alignment`` None: the one that the release states.

        UsageError where windows cannot be aligned by position.
        """
        info, labels = release.info(dataset), release.labels(dataset)
        way = alignment or info.alignment
        queries, corpus = release.windows(dataset)
        if way == POSITION:
            both = by_position(queries + corpus)
            queries, corpus = both.take(range(len(queries))), both.take(range(len(queries), len(both)))
        reference = corpus.take(normal_positions(labels))
        kept = cache or ArrayCache()
        return cls(dataset, f"{info.data_hash}-{way}", labels, queries, corpus, reference, kept, alignment=way)

    def only(self, rho: int) -> Task:
        """The task whose whole corpus is the one at ``rho``; the normal reference stays."""
        members = self.labels.members(rho)
        labels = TaskLabels(
            self.labels.query_ids,
            self.labels.query_labels,
            tuple(self.labels.corpus_ids[i] for i in members),
            self.labels.corpus_labels[members],
            self.labels.level[members],
        )
        corpus = self.corpus.take(members)
        name = f"{self.data_hash}-only-{rho}"
        return Task(self.dataset, name, labels, self.queries, corpus, self.reference, alignment=self.alignment)

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """Every channel of the task, in order of first appearance in the corpus at rho = 0, then others."""
        clean = self.corpus.take(self.labels.members(0))
        seen = dict.fromkeys(c for w in (clean, self.queries, self.corpus, self.reference) for c in _names(w))
        return tuple(seen)

    @cached_property
    def length(self) -> int:
        """Time steps every window is brought to by linear interpolation: the longest window of the corpus at
        rho = 0 (ours). Only variable-length data (ctsr) is touched. Queries and levels have no say in it."""
        return max(len(self.corpus.values[i]) for i in self.labels.members(0))

    @cached_property
    def scale(self) -> Scale:
        """Channel means and deviations over the faults of the corpus, the part that every level holds (ours):
        the same at every level, and never computed from a query."""
        return channel_scale(self.corpus.take(np.flatnonzero(self.labels.corpus_labels != NORMAL)))

    @cached_property
    def aligned_queries(self) -> Aligned:
        return align(self.queries, self.channels, self.length, self.scale)

    @cached_property
    def aligned_corpus(self) -> Aligned:
        return align(self.corpus, self.channels, self.length, self.scale)

    @cached_property
    def aligned_reference(self) -> Aligned:
        return align(self.reference, self.channels, self.length, self.scale)

    def view(self, rho: int, seed: int = 0) -> View:
        return View(self, rho, seed)


def _names(windows: Windows) -> dict[str, None]:
    return dict.fromkeys(name for names in dict.fromkeys(windows.channels) for name in names)


@dataclass
class View:
    """What a method sees: one dataset at one level. Arrays are standardised by channel and aligned as the task is.

    ``reused_wall_s`` and ``reused_cpu_s`` gather what those shared things had cost that were used here but made
    before, so that a method's time does not depend on who ran first. (Shared arrays are made for the largest corpus.)
    """

    task: Task
    rho: int
    seed: int = 0
    reused_wall_s: float = 0.0
    reused_cpu_s: float = 0.0
    _used: Costs = field(default_factory=dict)
    _making: list[Costs] = field(default_factory=list)
    _made: tuple[float, float] = (0.0, 0.0)

    @cached_property
    def members(self) -> np.ndarray:
        """Positions of this level's corpus in the largest one."""
        return self.task.labels.members(self.rho)

    @property
    def n_queries(self) -> int:
        return len(self.task.queries)

    @property
    def n_corpus(self) -> int:
        return len(self.members)

    @property
    def corpus_labels(self) -> np.ndarray:
        """Classes of this level's corpus. Only methods that declare a supervision may read them."""
        return self.task.labels.corpus_labels[self.members]

    @property
    def queries(self) -> Aligned:
        return self.task.aligned_queries

    @cached_property
    def corpus(self) -> Aligned:
        return self.task.aligned_corpus.take(self.members)

    @cached_property
    def tie_keys(self) -> np.ndarray:
        """The hash that orders equal scores, one of each item of this level's corpus."""
        return tie_keys([self.task.labels.corpus_ids[i] for i in self.members])

    def rank(self, scores: np.ndarray) -> np.ndarray:
        """int32 [nq, n]: this level's corpus by descending score, ties by hash."""
        return rank(scores, self.tie_keys)

    def at_level(self, key: str, compute: Callable[[], T]) -> T:
        """``compute()``, done once for this level, whatever method asks: vectors fitted to its corpus and the like.

        ``key`` names parameters and code, and the seed if it has a part. Do not change the result. It is kept in
        memory until another level is used.
        """
        kept = self.task.level_cache.at(self.rho)
        if key not in kept:
            costs: Costs = {}
            self._making.append(costs)
            wall, cpu = time.perf_counter(), time.process_time()
            before = self._made
            try:
                value = compute()
            finally:
                self._making.pop()
            inner = self._made[0] - before[0], self._made[1] - before[1]
            own = time.perf_counter() - wall - inner[0], time.process_time() - cpu - inner[1]
            costs[AT_LEVEL + key] = own
            kept[key] = value, costs
            self._use(costs, fresh=own)
            return value
        value, costs = kept[key]
        self._use(costs)
        return value

    def pairwise(self, key: str, compute: Callable[[Aligned, Aligned], np.ndarray]) -> np.ndarray:
        """[nq, n] of ``compute(queries, corpus)``, which computes each pair on its own.

        Computed once for the largest corpus under ``key`` (method, parameters and code), cut to this level.
        """
        task = self.task
        full = self.shared(key, lambda: compute(task.aligned_queries, task.aligned_corpus))
        return full[:, self.members]

    def shared(self, key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """An array of the whole task, computed once under ``key`` and the task's data hash."""
        entry, fresh = self.task.cache.get(self._shared_key(key), compute)
        cost = entry.wall_s, entry.cpu_s
        self._use({key: cost}, fresh=cost if fresh else None)
        return entry.array

    def _use(self, costs: Costs, fresh: tuple[float, float] | None = None) -> None:
        """Note what is used, here and for what is being made of it; ``fresh``: the cost of what was made just now."""
        if fresh is not None:
            self._made = self._made[0] + fresh[0], self._made[1] + fresh[1]
        for key, (wall, cpu) in costs.items():
            if fresh is None and key not in self._used:
                self.reused_wall_s += wall
                self.reused_cpu_s += cpu
        for noted in (self._used, *self._making):
            noted.update(costs)

    def _shared_key(self, key: str) -> str:
        return f"{self.task.dataset}/{self.task.data_hash}/{key}"

    @property
    def shared_files(self) -> list[str]:
        """Names, below the folder of shared arrays, of the files that were read or written for this view."""
        path = self.task.cache._path
        paths = (path(self._shared_key(key)) for key in self._used if not key.startswith(AT_LEVEL))
        return sorted(f"{path.parent.name}/{path.name}" for path in paths if path is not None)
