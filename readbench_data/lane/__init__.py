"""The stages of one dataset's lane: raw, recordings, windows, benchmark.

Each stage has a key: the hash of its inputs, settings and code version. A stage whose key is already complete is
skipped. A stage reads and writes only through the store and returns the record that it writes to ``done.json``.
"""

from __future__ import annotations

from readbench_data.lane.base import (
    CHANNELS,
    INDEX,
    SHARD,
    STAGES,
    SUMMARY,
    AuditGate,
    Checks,
    Gate,
    Lane,
    Progress,
    require,
)
from readbench_data.lane.stage_benchmark import benchmark
from readbench_data.lane.stage_raw import raw
from readbench_data.lane.stage_recordings import recordings
from readbench_data.lane.stage_windows import load_index, windows
from readbench_data.release.lane_records import BenchmarkRecord

__all__ = [
    "CHANNELS",
    "INDEX",
    "SHARD",
    "STAGES",
    "SUMMARY",
    "AuditGate",
    "Checks",
    "Gate",
    "Lane",
    "Progress",
    "benchmark",
    "load_index",
    "raw",
    "recordings",
    "require",
    "run_lane",
    "windows",
]


def run_lane(lane: Lane) -> BenchmarkRecord:
    """Run all stages of a lane without gates; for tests and scripts (the pipeline runs them as assets)."""
    raw(lane)
    recordings(lane)
    windows(lane)
    return benchmark(lane)
