"""The asset ``published`` with a target in its run configuration, and a stale Croissant description."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg

from assets.definitions import build_definitions
from assets.resources import Workspace
from tests.support.built import VERSION, Built, readbench
from tests.support.hub.releases import TOKEN
from tests.support.hub.standin import HubStandIn


def test_the_asset_publishes_where_its_run_says(hub: HubStandIn, lite: Built, tmp_path: Path) -> None:
    data = lite.copy(tmp_path / "data", "release")
    definitions = build_definitions(Workspace(data=str(data), version=VERSION))
    job = definitions.resolve_implicit_global_asset_job_def()
    config = {"to": "me/readbench", "endpoint": hub.url, "allow_miniatures": True}
    with dg.DagsterInstance.ephemeral() as instance:
        done = job.execute_in_process(
            instance=instance,
            asset_selection=[dg.AssetKey("published")],
            run_config={"ops": {"published": {"config": config}}},
        )
        metadata = done.asset_materializations_for_node("published")[0].metadata
        events = " ".join(str(e) for e in done.all_events)
    assert metadata["target"].value == f"me/readbench@{VERSION}"
    assert metadata["commit"].value == hub.repositories["me/readbench"].tags[VERSION]
    assert metadata["left_out"].value == ["ctsr"]
    assert TOKEN not in events
    assert VERSION in json.loads((data / "published" / "receipts.json").read_text())
    assert (data / "published" / VERSION / "data" / "ctsr" / "queries.parquet").is_file(), "the local copy is complete"


def test_a_stale_description_is_a_breach(lite: Built, tmp_path: Path) -> None:
    import hashlib

    release = tmp_path / "r"
    shutil.copytree(lite.release, release)
    path = release / "croissant.json"
    old = path.read_bytes()
    path.write_bytes(old.replace(f'"version": "{VERSION}"'.encode(), b'"version": "0.0.1"'))
    assert path.read_bytes() != old
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["files"]["croissant.json"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (release / "manifest.json").write_text(json.dumps(manifest))
    ran = readbench("verify", release)
    assert ran.code == 1
    assert "croissant.json: it does not describe the files of this release" in ran.err
