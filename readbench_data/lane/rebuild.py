"""A release built again from original files, and compared byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.source import Source
from readbench_data.lane import STAGES, Lane, run
from readbench_data.release import layout
from readbench_data.release.build import build_release, set_lane_status
from readbench_data.store.store import Store

MakeLane = Callable[[str, str, BenchmarkConfig, bool], Lane]
"""(dataset, origin, settings, whether with the pool) -> its lane on an empty data root."""


@dataclass
class Rebuilt:
    """What differs: ``bytes`` paths whose bytes differ, ``content`` those of them whose logical content differs too
    or that are in one only. ``note``: why they may differ."""

    files: int
    bytes: list[str] = field(default_factory=list)
    content: list[str] = field(default_factory=list)
    note: str = ""

    @property
    def same(self) -> bool:
        return not self.bytes


def rebuild(
    release: Path,
    store: Store,
    sources: Mapping[str, Source],
    make_lane: MakeLane,
    code: str,
    progress: Callable[[str], None] = lambda _: None,
) -> Rebuilt:
    """Build the release in folder ``release`` again in the empty data root ``store``, with its own settings.

    ``make_lane`` raises ``NoData`` where original files cannot be had.
    """
    stated = json.loads((release / layout.MANIFEST).read_text(encoding="utf-8"))
    pooled = any("/pool/" in path for path in stated["files"])
    for name, dataset in stated["datasets"].items():
        if dataset["status"] == "ok":
            progress(f"building {name} again")
            lane = make_lane(name, dataset["origin"], _settings(name, dataset), pooled)
            run(lane)
            keys = {stage: (lane.stage(stage).current() or {})["key"] for stage in STAGES}
            set_lane_status(store, name, {"status": "ok", "reason": None, **keys})
        elif dataset["status"] != "not_selected":
            set_lane_status(store, name, {"status": dataset["status"], "reason": dataset["reason"]})
    config = BenchmarkConfig.from_json(stated["config"])
    made = build_release(store, dict(sources), stated["version"], config, code)
    return _compare(stated, made, code)


def _settings(name: str, dataset: Mapping[str, Any]) -> BenchmarkConfig:
    """The settings a dataset was built with, as the manifest records them."""
    own = {**dataset["settings"], **dataset["settings"]["options"]}
    own = {k: v for k, v in own.items() if k != "options" and v is not None}  # None: not set, and never can be
    return BenchmarkConfig.from_json({**dataset["config"], "datasets": {name: own}})


def _compare(stated: Mapping[str, Any], made: Mapping[str, Any], code: str) -> Rebuilt:
    old, new = stated["files"], made["files"]
    found = Rebuilt(len(old))
    for path in sorted({*old, *new}):
        if path not in old or path not in new:
            found.bytes.append(path)
            found.content.append(path)
        elif old[path]["sha256"] != new[path]["sha256"]:
            found.bytes.append(path)
            if old[path]["content_sha256"] != new[path]["content_sha256"]:
                found.content.append(path)
    if stated["code_version"] != code:
        found.note = "the release was gathered by another version of the code"
    return found
