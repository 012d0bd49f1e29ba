"""Whether a lane is finished for the present original files, settings and code: its keys answer, no stage runs."""

from __future__ import annotations

from readbench_data.dataset.status import LaneStatus
from readbench_data.lane.base import Lane
from readbench_data.lane.stage_benchmark import benchmark_key
from readbench_data.lane.stage_raw import find
from readbench_data.lane.stage_recordings import recordings_key
from readbench_data.lane.stage_windows import windows_key
from readbench_data.release.lane_records import LaneState, lane_state


def keys(lane: Lane) -> dict[str, str]:
    """Return the key that each stage has for the present files, settings and code.

    Raises what stage raw raises: ``NoData``, or ``BadInput`` for a file with a wrong checksum.
    """
    found = {"raw": find(lane).key}
    found["recordings"] = recordings_key(lane, found["raw"])
    found["windows"] = windows_key(lane, found["recordings"])
    found["benchmark"] = benchmark_key(lane, found["windows"])
    return found


def standing(lane: Lane) -> LaneState | None:
    """Return the state of the lane if running it would reuse every stage and change nothing, otherwise None."""
    wanted = keys(lane)
    for name, key in wanted.items():
        record = lane.stage(name).current()
        if record is None or record.key != key:
            return None
    state = LaneState(status=LaneStatus.OK, reason=None, **wanted)
    return state if lane_state(lane.store, lane.name) == state else None
