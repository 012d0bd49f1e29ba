"""One dataset as a task, and the view of it that a method gets at one level of pollution.

Corpora nest, so what concerns one pair of windows (a distance) or one window (an embedding) is computed once, for the
largest corpus, and cut to the smaller ones. What is fitted on a corpus, or ranked within it, is computed on the view
and so again at every level.
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

    ``reference`` is the normal reference (the Normal windows of the 20 % corpus): a separate argument at every level,
    never ranked unless it is in the corpus. ``alignment`` states how channels are compared
    (``task.windows.ALIGNMENTS``); aligned by position, channels are named 1 to C and their own names are hidden.
    ``data_hash`` identifies data and alignment.
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
        """Load the task of one dataset of a release.

        Parameters
        ----------
        alignment : str, optional
            None: the one that the release states.

        Raises
        ------
        UsageError
            The windows cannot be aligned by position.
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
        """Return the task whose whole corpus is the one at level ``rho``; the normal reference stays."""
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
        """Every channel of the task, in order of first appearance in the corpus at rho = 0, then the others."""
        clean = self.corpus.take(self.labels.members(0))
        seen = dict.fromkeys(c for w in (clean, self.queries, self.corpus, self.reference) for c in _names(w))
        return tuple(seen)

    @cached_property
    def length(self) -> int:
        """Time steps of every window after interpolation: the longest window of the corpus at rho = 0 (ours).

        Interpolation is linear and changes only variable-length data (ctsr). Queries and levels do not affect it.
        """
        return max(len(self.corpus.values[i]) for i in self.labels.members(0))

    @cached_property
    def scale(self) -> Scale:
        """Channel means and deviations over the faults of the corpus, which are in the corpus of every level (ours).

        They are the same at every level and never computed from a query.
        """
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

    def drop_caches(self) -> None:
        """Drop the arrays of methods from memory; the windows stay, aligned or not."""
        self.cache.release()
        self.level_cache.release()

    def view(self, rho: int, seed: int = 0) -> View:
        return View(self, rho, seed)


def _names(windows: Windows) -> dict[str, None]:
    return dict.fromkeys(name for names in dict.fromkeys(windows.channels) for name in names)


@dataclass
class View:
    """What a method sees: one dataset at one level. Arrays are standardised by channel and aligned as the task is.

    ``reused_wall_s`` and ``reused_cpu_s`` add up the costs of shared arrays that were used here but computed before, so
    that a method's time does not depend on which method ran first. (Shared arrays are computed for the largest corpus.)
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
        """Positions of the corpus of this level in the largest one, int [n]."""
        return self.task.labels.members(self.rho)

    @property
    def n_queries(self) -> int:
        return len(self.task.queries)

    @property
    def n_corpus(self) -> int:
        return len(self.members)

    @property
    def corpus_labels(self) -> np.ndarray:
        """Classes of the corpus of this level, str [n]. Only methods that declare a supervision may read them."""
        return self.task.labels.corpus_labels[self.members]

    @property
    def queries(self) -> Aligned:
        return self.task.aligned_queries

    @cached_property
    def corpus(self) -> Aligned:
        return self.task.aligned_corpus.take(self.members)

    @cached_property
    def tie_keys(self) -> np.ndarray:
        """The hash that orders equal scores, one per item of the corpus of this level: uint64 [n]."""
        return tie_keys([self.task.labels.corpus_ids[i] for i in self.members])

    def rank(self, scores: np.ndarray) -> np.ndarray:
        """Return the corpus of this level by descending score, ties by hash: int32 [nq, n]."""
        return rank(scores, self.tie_keys)

    def at_level(self, key: str, compute: Callable[[], T]) -> T:
        """Return ``compute()``, computed once for this level and shared by all methods.

        An example are vectors fitted to its corpus. ``key`` names parameters and code, and the seed if it matters. Do
        not change the result. It stays in memory until another level is used.
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
        """Return ``compute(queries, corpus)`` [nq, n], where ``compute`` treats each pair on its own.

        It is computed once for the largest corpus under ``key`` (method, parameters and code) and cut to this level.
        """
        task = self.task
        full = self.shared(key, lambda: compute(task.aligned_queries, task.aligned_corpus))
        return full[:, self.members]

    def shared(self, key: str, compute: Callable[[], np.ndarray]) -> np.ndarray:
        """Return an array of the whole task, computed once under ``key`` and the task's data hash."""
        entry, fresh = self.task.cache.get(self._shared_key(key), compute)
        cost = entry.wall_s, entry.cpu_s
        self._use({key: cost}, fresh=cost if fresh else None)
        return entry.array

    def _use(self, costs: Costs, fresh: tuple[float, float] | None = None) -> None:
        """Record what is used, here and for what is being computed from it.

        ``fresh``: the cost of what was computed just now.
        """
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
