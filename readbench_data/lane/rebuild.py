"""Rebuilds a release from its manifest and the original files, and compares it byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from readbench_data.dataset.config import BenchmarkConfig
from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Source
from readbench_data.dataset.status import LaneStatus
from readbench_data.lane import Lane, run_lane
from readbench_data.release.build import build_release
from readbench_data.release.guards import other_code, stages_in_words
from readbench_data.release.lane_records import LaneState, set_lane_state
from readbench_data.release.manifest import BuiltDataset, Manifest
from readbench_data.release.reading import read_manifest
from readbench_data.store.store import Store

MakeLane = Callable[[str, OriginKind, BenchmarkConfig, bool], Lane]
"""(dataset, origin, settings, whether with the pool) -> its lane on an empty data root."""


@dataclass
class Rebuilt:
    """The differences. ``bytes``: paths whose bytes differ; ``content``: those whose logical content differs too, or
    that exist on one side only. ``note``: a possible reason."""

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
    """Rebuild the release in folder ``release`` in the empty data root ``store``, with the settings of its manifest.

    ``make_lane`` raises ``NoData`` if original files are not available.
    """
    stated = read_manifest(release)
    other: dict[str, list[str]] = {}
    pooled = any("/pool/" in path for path in stated.files)
    for name, dataset in stated.datasets.items():
        if isinstance(dataset, BuiltDataset):
            progress(f"rebuilding {name}")
            lane = make_lane(name, dataset.origin, _settings(name, dataset), pooled)
            if dataset.code and (stages := other_code(dataset.code, lane.versions())):
                other[name] = stages
            run_lane(lane)
            set_lane_state(store, name, lane.state())
        elif dataset.status != LaneStatus.NOT_SELECTED:
            set_lane_state(store, name, LaneState(status=dataset.status, reason=dataset.reason))
    config = BenchmarkConfig.from_json(stated.config)
    made = build_release(store, dict(sources), stated.version, config, code)
    return _compare(stated, made, code, other)


def _settings(name: str, dataset: BuiltDataset) -> BenchmarkConfig:
    """Return the settings a dataset was built with, as recorded in the manifest."""
    settings = dataset.settings.to_json()
    own = {k: v for k, v in settings.items() if k != "options"} | settings.get("options", {})
    own = {k: v for k, v in own.items() if v is not None}  # None: not set, and never can be
    return BenchmarkConfig.from_json({**dataset.config.to_json(), "datasets": {name: own}})


def _compare(stated: Manifest, made: Manifest, code: str, other: Mapping[str, list[str]]) -> Rebuilt:
    old, new = stated.files, made.files
    found = Rebuilt(len(old))
    for path in sorted({*old, *new}):
        if path not in old or path not in new:
            found.bytes.append(path)
            found.content.append(path)
        elif old[path].sha256 != new[path].sha256:
            found.bytes.append(path)
            if old[path].content_sha256 != new[path].content_sha256:
                found.content.append(path)
    if other:
        found.note = f"the release was built by another version of the code ({stages_in_words(other)})"
    elif stated.code_version != code:
        found.note = "the release was built by another version of the code"
    return found
