"""The whole graph as a snapshot: a change of lineage is visible in review (``make refresh`` rewrites it)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import sources
from assets.definitions import MAIN_JOB, RELEASE_JOB, build_definitions, lane_job
from assets.evaluation import FAMILIES
from assets.refresh import GRAPH, graph_snapshot
from assets.resources import Workspace
from readbench_data.errors import UsageError
from readbench_data.store import code_version as codeversion

STAGES = ("raw", "recordings", "windows", "benchmark")


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions()


@pytest.fixture(scope="module")
def snapshot(definitions: dg.Definitions) -> dict[str, Any]:
    return graph_snapshot(definitions)


def _nodes(definitions: dg.Definitions) -> dict[str, Any]:
    graph = definitions.get_repository_def().asset_graph
    return {key.to_user_string(): graph.get(key) for key in graph.get_all_asset_keys()}


def test_the_snapshot_holds(snapshot: dict[str, Any]) -> None:
    stored = json.loads(GRAPH.read_text(encoding="utf-8"))
    assert stored == snapshot, "the graph has changed: if that is meant, run `make refresh` and commit what it writes"


def test_a_lane_has_its_dataset_as_prefix_and_group(snapshot: dict[str, Any]) -> None:
    for name in sources.all_sources():
        lane = {key: asset for key, asset in snapshot["assets"].items() if asset["group"] == name}
        assert sorted(lane) == sorted(f"{name}/{stage}" for stage in STAGES)
        for before, after in zip(STAGES, STAGES[1:], strict=False):
            assert lane[f"{name}/{after}"]["deps"] == [f"{name}/{before}"]


def test_the_lanes_meet_in_the_release(snapshot: dict[str, Any]) -> None:
    assets = snapshot["assets"]
    assert assets["release"]["deps"] == sorted(f"{name}/benchmark" for name in sources.all_sources())
    families = [f"evaluation/{family}" for family in sorted(FAMILIES)]
    assert assets["published"]["deps"] == ["release"]
    assert all(assets[family]["deps"] == ["published"] for family in families)
    assert assets["evaluation"]["deps"] == families
    assert assets["leaderboard"]["deps"] == ["evaluation"]


def test_every_asset_says_what_it_is_and_is_checked(definitions: dg.Definitions) -> None:
    for key, node in _nodes(definitions).items():
        assert node.description, key
        assert node.code_version, key
        assert node.kinds, key
        assert node.check_keys, key


def test_every_check_says_what_it_asks(definitions: dg.Definitions) -> None:
    graph = definitions.get_repository_def().asset_graph
    for check in graph.asset_check_keys:
        assert graph.get_check_spec(check).description, check


def test_what_must_stop_the_rest_blocks(snapshot: dict[str, Any]) -> None:
    for key, asset in snapshot["assets"].items():
        stage = key.split("/")[-1]
        blocking = [name for name, effect in asset["checks"].items() if effect == "blocks"]
        assert bool(blocking) == (stage in (*STAGES, "release")), key


def test_one_job_a_lane_one_for_the_release_and_one_for_all(snapshot: dict[str, Any]) -> None:
    names = list(sources.all_sources())
    assert sorted(snapshot["jobs"]) == sorted([MAIN_JOB, RELEASE_JOB, *(lane_job(name) for name in names)])
    for name in names:
        assert snapshot["jobs"][lane_job(name)] == sorted(f"{name}/{stage}" for stage in STAGES)
    families = [f"evaluation/{family}" for family in FAMILIES]
    assert snapshot["jobs"][RELEASE_JOB] == sorted([*families, "evaluation", "leaderboard", "published", "release"])
    assert snapshot["jobs"][MAIN_JOB] == sorted(snapshot["assets"])


def test_a_description_shows_the_settings_in_force_and_not_the_declared_ones(definitions: dg.Definitions) -> None:
    changed = ["hai.length=512", "hai.pairs=drop", "hai.test_fraction=0.4", "coverage=0.7", "seed=7", "query_cap=33"]
    of = {
        name: {key: str(node.description) for key, node in _nodes(made).items()}
        for name, made in (
            ("declared", definitions),
            ("set", build_definitions(Workspace(profile="lite", settings=changed), ["hai"])),
        )
    }
    for stage, declared, in_force in (
        ("recordings", 'pairs = "first", normal_stride = 256', 'pairs = "drop", normal_stride = 512'),
        (
            "windows",
            "length 256, stride 32; rule short_fault with a coverage of more than 0.5",
            "length 512, stride 32; ",
        ),
        ("windows", "more than 0.5", "more than 0.7"),
        ("benchmark", "Queries (at most 20)", "Queries (at most 33)"),
        ("benchmark", "by seed 42; 0.1 of each class", "by seed 7; 0.4 of each class"),
    ):
        assert declared in of["declared"][f"hai/{stage}"]
        assert declared not in of["set"][f"hai/{stage}"]
        assert in_force in of["set"][f"hai/{stage}"]
    for name in ("mit_bih", "ctsr"):
        assert "coverage" not in of["declared"][f"{name}/windows"], "a rule without coverage names none"


def test_definitions_of_settings_that_no_build_can_use_are_refused() -> None:
    with pytest.raises(UsageError, match=r"hai\.stride = 0: it takes a whole number from 1 to"):
        build_definitions(Workspace(settings=["hai.stride=0"]), ["mit_bih"])


@pytest.mark.parametrize(("changed", "suffix"), [("hai", ".py"), ("mit_bih", ".py"), ("mit_bih", ".toml")])
def test_a_changed_source_makes_only_its_own_lane_stale(
    changed: str, suffix: str, definitions: dg.Definitions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {key: node.code_version for key, node in _nodes(definitions).items()}
    module = sources.module_names(changed)[0]
    original = codeversion._file(module)
    assert original is not None
    edited = tmp_path / original.name
    for part in (original, original.with_suffix(".toml")):
        (tmp_path / part.name).write_bytes(part.read_bytes() + (b"\n# a change\n" if part.suffix == suffix else b""))
    (tmp_path / "tables").symlink_to(original.parent / "tables")
    find = codeversion._file
    monkeypatch.setattr(codeversion, "_file", lambda name: edited if name == module else find(name))
    codeversion.code_version.cache_clear()
    try:
        after = {key: node.code_version for key, node in _nodes(build_definitions()).items()}
    finally:
        codeversion.code_version.cache_clear()
    assert {key for key in before if before[key] != after[key]} == {f"{changed}/{stage}" for stage in STAGES}


def test_a_changed_miniature_makes_no_lane_stale(
    definitions: dg.Definitions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {key: node.code_version for key, node in _nodes(definitions).items()}
    module = sources.module_names("hai")[1]
    edited = tmp_path / "hai.py"
    edited.write_bytes(b"# another generator\n")
    find = codeversion._file
    monkeypatch.setattr(codeversion, "_file", lambda name: edited if name == module else find(name))
    assert {key: node.code_version for key, node in _nodes(build_definitions()).items()} == before
