"""Compilation before measurement: each method is run once per process on a tiny task whose result is discarded.

numba compiles a kernel at its first call (and keeps the machine code on disk for the next process). That time belongs
to the machine, not to the method, and is not part of its cost.
"""

from __future__ import annotations

import contextlib

import numpy as np

from readbench_data.entry import NORMAL
from readbench_data.evaluation.methods.base import Method
from readbench_data.evaluation.task.release_data import TaskLabels
from readbench_data.evaluation.task.task import Task
from readbench_data.evaluation.task.windows import Windows

_warm: set[str] = set()


def warm_up(scorer: Method) -> None:
    """Run ``scorer`` on the tiny task, unless this process has already done so. Exceptions there are ignored."""
    key = scorer.key()
    if key not in _warm:
        _warm.add(key)
        view = tiny_task().view(20)
        with contextlib.suppress(Exception):
            scorer.score(view, scorer.fit(view))


def tiny_task() -> Task:
    """Return a task of two queries and eleven corpus windows of three classes and Normal; 16 steps, two channels."""
    rng = np.random.default_rng(0)
    classes = np.array(["A", "B", "C"] * 3 + [NORMAL] * 2)
    corpus, queries = (_noise(rng, n, prefix) for n, prefix in ((len(classes), "c"), (2, "q")))
    labels = TaskLabels(
        queries.entry_ids, np.array(["A", "B"]), corpus.entry_ids, classes, np.array([0] * 9 + [10, 20])
    )
    return Task("tiny", "tiny", labels, queries, corpus, corpus.take([9, 10]))


def _noise(rng: np.random.Generator, n: int, prefix: str) -> Windows:
    values = tuple(rng.normal(size=(n, 16, 2)).astype(np.float32))
    return Windows(tuple(f"{prefix}{i}" for i in range(n)), values, (("one", "two"),) * n)
