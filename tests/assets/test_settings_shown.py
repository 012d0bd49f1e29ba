"""What a run of a lane shows in the lineage view is the settings in force, not the declared ones."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from assets.definitions import build_definitions, lane_job
from assets.resources import Workspace


def test_the_materializations_of_a_lane_show_the_settings_in_force(tmp_path: Path) -> None:
    changed = ["seed=7", "ctsr.min_length=9", 'ctsr.sets=["ArrowHead", "ECG200"]']
    definitions = build_definitions(Workspace(data=str(tmp_path), profile="lite", settings=changed), ["ctsr"])
    with dg.DagsterInstance.ephemeral() as instance:
        ran = definitions.resolve_job_def(lane_job("ctsr")).execute_in_process(instance=instance)
    shown = {
        event.asset_key.path[-1]: event.materialization.metadata
        for event in ran.get_asset_materialization_events()
        if event.asset_key is not None
    }
    assert set(shown) == {"raw", "recordings", "windows", "benchmark"}
    for stage in ("recordings", "windows", "benchmark"):
        settings = shown[stage]["settings"].value
        assert settings["seed"] == 7
        assert settings["corpus_cap"] == 120
        assert settings["options"] == {"min_length": 9, "sets": ["ArrowHead", "ECG200"]}
    assert shown["raw"]["files"].value == 4
