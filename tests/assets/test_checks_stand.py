"""Checks of stages that did no work: not run again, and recorded with the names, gates and observed values of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import expectations
from assets.checks import COMPLETE, HAS_DATA
from assets.instance import open_instance
from assets.refresh import GRAPH
from assets.workspace import PlainWorkspace
from readbench_data.cli.runner import Runner
from readbench_data.lane import Lane, raw
from readbench_data.release.lane_records import CheckResult, RawRecord
from tests.support import built
from tests.support.built import VERSION, Built

NAME = "mit_bih"
Seen = dict[str, dict[str, Any]]
"""By asset, then by check: passed, severity, and observed values."""


def recorded(data: Path) -> Seen:
    """The results that Dagster shows for a lane."""
    found: Seen = {}
    with open_instance(str(data)) as instance:
        for asset, declared in json.loads(GRAPH.read_text())["assets"].items():
            for check in declared["checks"] if asset.startswith(f"{NAME}/") else ():
                key = dg.AssetCheckKey(dg.AssetKey(asset.split("/")), check)
                [record] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
                shown: Any = record.event.dagster_event.event_specific_data  # type: ignore[union-attr]
                values = {name: value.value for name, value in shown.metadata.items()}
                found.setdefault(asset, {})[check] = (shown.passed, shown.severity.value, values)
    return found


def test_checks_of_a_reused_lane_are_those_of_its_suites_and_no_suite_runs(
    lite: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from expectations.docs import lane_projections

    monkeypatch.setenv("READBENCH_HOME", str(tmp_path / "home"))
    data = lite.copy(tmp_path / "data")
    expected: Seen = {}
    missing = list(stored(built.lane(NAME, data)).missing)
    for _, suite, table in lane_projections(built.lane(NAME, data)):
        asset = f"{NAME}/{'benchmark' if suite == 'leaks' else suite}"
        for one in expectations.run(suite, table):
            severity = "ERROR" if one.blocking else "WARN"
            expected.setdefault(asset, {})[one.check] = (one.passed, severity, one.observed)
    assert sum(len(checks) for checks in expected.values()) > 30

    def refused(*_: object) -> list[CheckResult]:
        raise AssertionError("a suite runs although no stage has work to do")

    monkeypatch.setattr(expectations, "run", refused)
    with Runner(PlainWorkspace(data=str(data), version=VERSION)) as runner:
        runner.run_lane(NAME)
    seen = recorded(data)
    assert seen[f"{NAME}/raw"].pop(HAS_DATA) == (True, "WARN", {"reason": "-"})
    assert seen[f"{NAME}/raw"].pop(COMPLETE) == (
        not missing,
        "WARN",
        {"missing": missing, "missing_count": len(missing)},
    )
    for checks in seen.values():
        for _, _, observed in checks.values():
            observed.pop("examples", None)  # the gate adds them to a warning about leaks
    assert seen == expected


def test_another_suite_checks_the_original_files_again(lite: Built, tmp_path: Path) -> None:
    lane = built.lane(NAME, lite.copy(tmp_path / "data"))
    asked: list[RawRecord] = []

    def gate(record: RawRecord) -> list[CheckResult]:
        asked.append(record)
        return [CheckResult(check="c", description="d", passed=True, blocking=True, observed={})]

    first = stored(lane)
    assert [one.check for one in first.checks][:1] == ["files_there"]
    assert raw(lane, gate, first.gate).checks == first.checks
    assert asked == []
    again = raw(lane, gate, "another")
    assert (again.key, again.reused, len(asked)) == (first.key, True, 1)
    assert [one.check for one in stored(lane).checks] == ["c"]
    assert raw(lane, gate, "another").checks == again.checks
    assert len(asked) == 1


def test_a_failed_check_of_the_original_files_promotes_nothing(lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "cache")

    def gate(record: RawRecord) -> list[CheckResult]:
        raise expectations.CheckFailed(
            "raw", NAME, [CheckResult(check="c", description="d", passed=False, blocking=True, observed={})]
        )

    lane = built.lane(NAME, data)
    with pytest.raises(expectations.CheckFailed, match="mit_bih: check raw/c failed: d"):
        raw(lane, gate, "1")
    assert lane.stage("raw").current() is None


def stored(lane: Lane) -> RawRecord:
    found = lane.stage("raw").current(RawRecord)
    assert found is not None
    return found
