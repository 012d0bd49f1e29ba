"""Labelling and indexing, in timesteps a second on one core (the aim is 20 million).

Labelling is evidence to votes to classes; the index row adds ids, positions, times, hashes and sketches of the
values. Each is timed on one long recording of each kind of evidence, best of three.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(name, "1")

import resource  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

from readbench_data.recordings.curation import Curation, curate  # noqa: E402
from readbench_data.recordings.recording import NULL_CODE, Clock, Event, Evidence, Recording  # noqa: E402
from readbench_data.recordings.segment import Segment  # noqa: E402
from readbench_data.windows.index import index_rows, index_table  # noqa: E402
from readbench_data.windows.labeling import LabelMap, Rule, apply_rule, count_votes  # noqa: E402
from readbench_data.windows.windowing import WindowPlan  # noqa: E402

STEPS = 5_000_000
PLAN = WindowPlan(256, 256)
LABELS = LabelMap({"0": "Normal", "1": "a", "101": "a", "2": "b", "N": "Normal", "V": "V"})


def dense(rng: np.random.Generator) -> tuple[Evidence, Rule]:
    codes = np.repeat(rng.choice([0, 1, 101, 2, NULL_CODE], STEPS // 500), 500)
    return Evidence.dense(codes), Rule("majority")


def events(rng: np.random.Generator) -> tuple[Evidence, Rule]:
    starts = np.sort(rng.integers(0, STEPS - 400, STEPS // 5000))
    spans = [Event(str(1 + i % 2), int(s), int(s) + 200, f"e{i}") for i, s in enumerate(starts)]
    return Evidence.events(spans), Rule("short_fault")


def points(rng: np.random.Generator) -> tuple[Evidence, Rule]:
    positions = np.sort(rng.integers(0, STEPS, STEPS // 280))
    return Evidence.points(positions, rng.choice(["N", "V"], positions.size, p=[0.8, 0.2]).tolist()), Rule(
        "majority_of_beats"
    )


def best(work: Callable[[], object], times: int = 3) -> float:
    spent = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def label(segment: Segment, rule: Rule) -> object:
    starts, stops = PLAN.bounds(segment)
    votes = count_votes(segment.evidence, starts, stops, LABELS)
    return apply_rule(rule, segment.evidence, votes, starts, stops)


def index(segment: Segment, rule: Rule) -> pa.Table:
    rows = index_rows("bench", segment, PLAN, rule, LABELS)
    assert rows is not None
    return index_table([rows])


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'evidence':10} {'channels':>8} {'labelling':>14} {'label + index':>14}   million steps a CPU second")
    for make in (dense, events, points):
        for channels in (2, 7):
            evidence, rule = make(rng)
            values = rng.standard_normal((STEPS, channels)).astype(np.float32)
            names = tuple(f"c{i}" for i in range(channels))
            recording = Recording("r", values, names, evidence, "u", "f", "0" * 64, clock=Clock(step=0.1))
            segment = next(curate(recording, Curation()))
            labelling = best(lambda s=segment, r=rule: label(s, r))
            indexing = best(lambda s=segment, r=rule: index(s, r))
            print(f"{make.__name__:10} {channels:8} {STEPS / labelling / 1e6:14.0f} {STEPS / indexing / 1e6:14.1f}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
