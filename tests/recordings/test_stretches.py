"""Stretches that two recordings share are found with their exact bounds, wherever they start."""

from __future__ import annotations

import io

import numpy as np

from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.recordings.shards import SegmentWriter
from readbench_data.recordings.stretches import shared_stretches


def shard(series: dict[str, np.ndarray]) -> io.BytesIO:
    stream = io.BytesIO()
    with SegmentWriter(stream) as writer:
        for name, values in series.items():
            made = Recording(name, values, ("a", "b"), Evidence.native("x", len(values)), name, f"{name}.csv", "0" * 64)
            for segment in curate(made, Curation()):
                writer.write(segment)
    stream.seek(0)
    return stream


def noise(seed: int, steps: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((steps, 2)).astype(np.float32)


def test_a_shared_stretch_is_found_at_any_place() -> None:
    one, two, common = noise(1, 900), noise(2, 700), noise(3, 240)
    one[101:341], two[450:690] = common, common
    found = shared_stretches(shard({"one": one, "two": two, "three": noise(4, 800)}))
    assert [(s.a, s.b, s.a_start, s.a_stop, s.b_start) for s in found] == [("one", "two", 101, 341, 450)]
    assert str(found[0]) == "one and two share 240 steps (from step 101 and 450)"


def test_constant_stretches_are_not_reported() -> None:
    still = np.ones((500, 2), np.float32)
    assert shared_stretches(shard({"one": still, "two": still})) == []


def test_nothing_shared_and_nothing_there() -> None:
    assert shared_stretches(shard({"one": noise(1, 500), "two": noise(2, 500)})) == []
    assert shared_stretches(shard({"one": noise(1, 20), "two": noise(1, 20)})) == [], "shorter than a stretch"
