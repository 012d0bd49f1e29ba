"""Rows and series known to be shared in the real original files are reported, with the known counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from readbench_data import lane as stages
from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.lane import SHARD
from readbench_data.leakage.facts import from_lane
from readbench_data.leakage.leaks import find_leaks
from readbench_data.recordings.stretches import shared_stretches
from tests.support import built

RealData = Callable[[str], Path]


def recordings(name: str, tmp_path: Path, realdata: RealData) -> Path:
    """The curated recordings of the real files."""
    made = built.lane(name, tmp_path, mirror=realdata(name).parent, config=BenchmarkConfig())
    stages.raw(made)
    record = stages.recordings(made)
    return tmp_path / made.stage("recordings").place(record.key) / SHARD


@pytest.mark.parametrize(
    ("name", "first", "second", "steps"),
    [
        ("tennessee_eastman", "d04_te/before-onset", "d05_te/before-onset", 160),
        ("petrobras_3w", "4/WELL-00001_20170316110203", "4/WELL-00001_20170316130000", 3601),
    ],
)
def test_rows_that_two_recordings_share(
    name: str, first: str, second: str, steps: int, tmp_path: Path, realdata: RealData
) -> None:
    with recordings(name, tmp_path, realdata).open("rb") as stream:
        found = shared_stretches(stream)
    assert (first, second, steps) in [(s.a, s.b, s.steps) for s in found]


def test_series_that_several_sets_hold(tmp_path: Path, realdata: RealData) -> None:
    made = built.lane("ctsr", tmp_path, mirror=realdata("ctsr").parent, config=BenchmarkConfig())
    built.run_lane(made)
    facts = from_lane(made)
    report = find_leaks(facts)
    assert report.breaches == []
    sets: dict[str, set[str]] = {}
    for recording, content in facts.windows.select("recording_id", "content_hash").rows():
        sets.setdefault(content, set()).add(recording.split("/")[0])
    shared = [" ".join(sorted(s)) for s in sets.values() if len(s) > 1]
    known = {
        "DistalPhalanxOutlineAgeGroup DistalPhalanxOutlineCorrect DistalPhalanxTW": 539,
        "GesturePebbleZ1 GesturePebbleZ2": 304,
        "DodgerLoopDay DodgerLoopGame DodgerLoopWeekend": 158,
    }
    assert {s: shared.count(s) for s in set(shared)} == known
    # Each shared series is in every one of its sets, with the classes of that set.
    assert report["conflicting_duplicate"].count == 3 * 539 + 2 * 304 + 3 * 158
    pairs = " ".join(report["shared_between_recordings"].examples)
    for family in ("DistalPhalanx", "GesturePebble", "DodgerLoop"):
        assert family in pairs
