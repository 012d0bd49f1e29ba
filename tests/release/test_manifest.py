"""The records of lanes and releases: reading and writing them again gives byte-for-byte identical files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.status import LaneStatus
from readbench_data.errors import ReadbenchError
from readbench_data.release.lane_records import (
    BenchmarkRecord,
    LaneState,
    RawRecord,
    RecordingsRecord,
    WindowsRecord,
    lane_state,
    set_lane_state,
)
from readbench_data.release.manifest import BuiltDataset, UnbuiltDataset, parse_manifest
from readbench_data.release.reading import composition_in, manifest_in, read_composition, read_manifest
from readbench_data.release.receipts import RECEIPTS, Receipt, keep_receipt, receipts
from readbench_data.store.records import Record, StageRecord
from readbench_data.store.store import Stage, Store, json_bytes
from tests.support import built

STAGES: dict[str, type[StageRecord]] = {
    "raw": RawRecord,
    "recordings": RecordingsRecord,
    "windows": WindowsRecord,
    "benchmark": BenchmarkRecord,
}


def test_a_manifest_and_a_composition_are_written_again_as_they_were_read(lite: built.Built) -> None:
    assert json_bytes(read_manifest(lite.release).to_json()) == (lite.release / "manifest.json").read_bytes()
    assert json_bytes(read_composition(lite.release).to_json()) == (lite.release / "composition.json").read_bytes()


def test_the_same_from_a_store(lite: built.Built) -> None:
    store, folder = Store(str(lite.data)), f"release/{built.VERSION}"
    assert manifest_in(store, folder) == read_manifest(lite.release)
    assert composition_in(store, folder) == read_composition(lite.release)


@pytest.mark.parametrize("name", built.THREE)
def test_the_records_of_a_lane_are_written_again_as_they_were_read(lite: built.Built, name: str) -> None:
    store = Store(str(lite.data))
    for stage_name, kind in STAGES.items():
        stage = Stage(store, name, stage_name)
        record = stage.current(kind)
        assert record is not None
        stored = (lite.data / stage.place(record.key) / "done.json").read_bytes()
        assert json_bytes(record.to_json()) == stored
        assert not _unknown(record), "every field of a stage is a field of its record"
    state = lane_state(store, name)
    assert state is not None
    assert (state.ok, state.reason) == (True, None)
    assert json_bytes(state.to_json()) == (lite.data / "lanes" / name / "status.json").read_bytes()


def _unknown(record: Record) -> set[str]:
    return set(record.model_extra or {})


def test_every_field_of_a_manifest_is_a_field_of_its_record(lite: built.Built) -> None:
    manifest, composition = read_manifest(lite.release), read_composition(lite.release)
    records = [manifest, *manifest.datasets.values(), *manifest.files.values(), composition]
    records += [*composition.datasets.values(), *(d.built for d in composition.datasets.values() if d.built)]
    assert [r for r in records if _unknown(r)] == []


def test_datasets_with_data_are_distinguished_from_those_without(lite: built.Built) -> None:
    manifest = read_manifest(lite.release)
    assert sorted(manifest.built) == sorted(built.THREE)
    assert all(one.miniature for one in manifest.built.values())
    absent = manifest.datasets["hai"]
    assert isinstance(absent, UnbuiltDataset)
    assert (absent.status, absent.origin) == (LaneStatus.NOT_SELECTED, None)


def plain(lite: built.Built) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((lite.release / "manifest.json").read_text())
    return found


def test_unknown_fields_of_a_later_version_are_retained(lite: built.Built) -> None:
    found = plain(lite)
    found["attestation"] = {"by": "somebody"}
    found["datasets"]["ctsr"]["stages"] = {"raw": "0a1b"}
    manifest = parse_manifest(found, "here")
    assert manifest.to_json() == found
    ctsr = manifest.datasets["ctsr"]
    assert isinstance(ctsr, BuiltDataset)
    assert manifest.changed(datasets={"ctsr": ctsr.changed(partial=True)}).to_json()["datasets"]["ctsr"] == {
        **found["datasets"]["ctsr"],
        "partial": True,
    }


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("status", "finished", "datasets.ctsr.status is missing or of another kind"),
        ("origin", "memory", "datasets.ctsr.origin is missing or of another kind"),
        ("rule", {"name": "vote", "coverage": 0.5}, "datasets.ctsr.rule.name is missing or of another kind"),
    ],
)
def test_an_unknown_status_or_origin_is_refused(lite: built.Built, field: str, value: object, message: str) -> None:
    found = plain(lite)
    found["datasets"]["ctsr"][field] = value
    with pytest.raises(ReadbenchError) as raised:
        parse_manifest(found, "here")
    assert str(raised.value) == f"here: not the manifest of a release ({message})"


def test_a_composition_that_is_damaged_is_one_line(lite: built.Built, tmp_path: Path) -> None:
    for text in (None, "{", '{"version": "1"}'):
        if text is not None:
            (tmp_path / "composition.json").write_text(text)
        with pytest.raises(ReadbenchError, match=r"composition\.json: .*`readbench verify .*` lists all") as raised:
            read_composition(tmp_path)
        assert "\n" not in str(raised.value)


def test_a_damaged_status_of_a_lane_is_one_line(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    assert lane_state(store, "plant") is None
    set_lane_state(store, "plant", LaneState(status=LaneStatus.NO_DATA, reason="the mirror has no folder plant"))
    state = lane_state(store, "plant")
    assert state is not None
    assert (state.ok, state.reason) == (False, "the mirror has no folder plant")
    store.write_json("lanes/plant/status.json", {"status": "lost", "reason": None})
    with pytest.raises(ReadbenchError, match=r"status\.json: cannot be read as a record of plant \(status is missing"):
        lane_state(store, "plant")


def test_receipts_make_the_first_content_final_and_list_further_targets(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    first = Receipt(version="1.0.0", target="a/b@1.0.0", content="c1", commit="0" * 40)
    for receipt in (first, first, first.changed(target="./out@1.0.0"), first.changed(target="./out@1.0.0")):
        keep_receipt(store, receipt)
    assert receipts(store) == {"1.0.0": first.changed(also=("./out@1.0.0",))}
    (tmp_path / RECEIPTS).write_text('{"1.0.0": {"target": "x"}}')
    with pytest.raises(ReadbenchError, match=r"receipts\.json: cannot be read as receipts \(content is missing"):
        receipts(store)


def test_statuses_and_origins() -> None:
    assert [*LaneStatus] == ["ok", "no_data", "failed", "not_selected", "withheld"]
    assert LaneStatus.NOT_SELECTED.words == "not selected"
    assert [*OriginKind] == ["miniature", "download", "mirror"]
