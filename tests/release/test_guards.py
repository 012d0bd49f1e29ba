"""A release does not shrink, take data of a failed lane or mix code, unless the user allows it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import sources
from assets.resources import stage_versions
from readbench_data.dataset.config import LITE
from readbench_data.dataset.status import LaneStatus
from readbench_data.release.build import build_release
from readbench_data.release.code import release_code
from readbench_data.release.diff import diff_releases
from readbench_data.release.guards import Insist, ReleaseRefused, version_order
from readbench_data.release.lane_records import LaneState, lane_state, set_lane_failed, set_lane_state
from readbench_data.release.manifest import BuiltDataset, Manifest
from readbench_data.release.receipts import Receipt, keep_receipt
from readbench_data.store.store import Store
from tests.support.built import THREE, VERSION, Built


def build(
    store: Store,
    version: str = VERSION,
    insist: Insist = Insist(),  # noqa: B008 - frozen
    code: Callable[[str], Mapping[str, str]] = stage_versions,
) -> Manifest:
    return build_release(store, sources.all_sources(), version, LITE, release_code(), current_code=code, insist=insist)


@pytest.fixture
def store(lite: Built, tmp_path: Path) -> Store:
    made = Store(str(lite.copy(tmp_path / "data")))
    build(made)
    return made


def without(store: Store, name: str) -> None:
    set_lane_state(store, name, LaneState(status=LaneStatus.NO_DATA, reason="the mirror has no folder"))


def test_a_release_never_loses_a_dataset_silently(store: Store) -> None:
    before = store.read_bytes(f"release/{VERSION}/manifest.json")
    without(store, "ctsr")
    with pytest.raises(ReleaseRefused, match=r"would lose 1 dataset that the release it replaces has: ctsr: .*"):
        build(store)
    assert store.read_bytes(f"release/{VERSION}/manifest.json") == before, "the release before it stays"
    with pytest.raises(ReleaseRefused, match="--allow-fewer ctsr"):
        build(store, insist=Insist(fewer=("mit_bih",)))
    assert set(build(store, insist=Insist(fewer=("ctsr",))).built) == {"mit_bih", "petrobras_3w"}
    assert set(build(store).built) == {"mit_bih", "petrobras_3w"}, "compared with the release it replaces now"


def test_a_new_version_is_compared_with_the_last_published_one(store: Store) -> None:
    store.copy(f"release/{VERSION}/manifest.json", f"published/{VERSION}/manifest.json")
    without(store, "ctsr")
    build(store, "0.10.0-lite", Insist(fewer=("ctsr",)))
    store.remove("release/0.10.0-lite")
    assert set(build(store, "0.10.0-lite").built) == {"mit_bih", "petrobras_3w"}, "nothing is published yet"
    keep_receipt(store, Receipt(content="x", target="folder", version=VERSION))
    store.remove("release/0.10.0-lite")
    with pytest.raises(ReleaseRefused, match=f"the last published version {VERSION} has: ctsr"):
        build(store, "0.10.0-lite")
    assert set(build(store, "0.10.0").built) == {"mit_bih", "petrobras_3w"}, "a full release is no lite one"


def test_versions_are_compared_by_their_numbers() -> None:
    assert max(["0.9.0-lite", "0.10.0-lite", "0.2.11-lite"], key=version_order) == "0.10.0-lite"
    assert max(["1.0.0", "2.0.0", "10.0.0"], key=version_order) == "10.0.0"


def test_earlier_data_of_a_failed_lane_are_not_taken_silently(store: Store) -> None:
    set_lane_failed(store, "ctsr", "row 3:\n no number")
    state = lane_state(store, "ctsr")
    assert state is not None
    assert (state.status, state.reason) == (LaneStatus.FAILED, "row 3: no number")
    assert state.benchmark is not None, "the earlier results are still known"
    with pytest.raises(ReleaseRefused, match=r"last run of 1 lane failed.*\(ctsr: row 3: no number\).*--keep-failed"):
        build(store)
    kept = build(store, insist=Insist(failed=True))
    ctsr, mit_bih = kept.datasets["ctsr"], kept.datasets["mit_bih"]
    assert isinstance(ctsr, BuiltDataset)
    assert isinstance(mit_bih, BuiltDataset)
    assert (ctsr.last_run_failed, mit_bih.last_run_failed) == (True, False)
    with pytest.raises(ReleaseRefused, match="would lose 1 dataset"):
        build(store, insist=Insist(without_failed=True))
    left = build(store, insist=Insist(without_failed=True, fewer=("ctsr",)))
    assert left.datasets["ctsr"].status == LaneStatus.FAILED


def test_a_lane_that_never_succeeded_is_recorded_as_failed(store: Store) -> None:
    set_lane_failed(store, "hai", "no such column")
    made = build(store)
    assert (made.datasets["hai"].status, made.datasets["hai"].reason) == (LaneStatus.FAILED, "no such column")


def test_datasets_of_different_code_are_not_mixed_silently(store: Store) -> None:
    def changed(name: str) -> dict[str, str]:
        return stage_versions(name) | ({"windows": "other"} if name == "ctsr" else {})

    with pytest.raises(ReleaseRefused, match=r"another version of the code \(ctsr: windows\).*--dataset ctsr"):
        build(store, code=changed)
    mixed = build(store, insist=Insist(mixed_code=True), code=changed)
    ctsr = mixed.built["ctsr"]
    assert ctsr.code == stage_versions("ctsr"), "the manifest states the code that made the data"


def test_the_manifest_states_the_code_of_each_dataset_and_diff_names_it(store: Store, tmp_path: Path) -> None:
    release = Path(store.url(f"release/{VERSION}"))
    stated = json.loads((release / "manifest.json").read_text())["datasets"]
    assert {name: stated[name]["code"] for name in THREE} == {name: stage_versions(name) for name in THREE}
    other = Store(str(tmp_path / "other"))
    shutil.copytree(release, tmp_path / "other" / "b")
    stated["ctsr"]["code"]["windows"] = "0123456789ab"
    whole = json.loads((release / "manifest.json").read_text()) | {"datasets": stated}
    other.write_json("b/manifest.json", whole)
    found = {d.dataset: d.causes for d in diff_releases(release, tmp_path / "other" / "b").datasets}
    was = stage_versions("ctsr")["windows"]
    assert found["ctsr"] == (f"code of windows {was} -> 0123456789ab",)
    assert found["mit_bih"] == ()
