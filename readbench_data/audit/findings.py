"""The audit findings of a dataset, for the page and for ``readbench audit --json``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from readbench_data.audit import tallies
from readbench_data.audit.channels import channel_tally
from readbench_data.audit.lane_files import lane_files
from readbench_data.audit.yardstick import Yardstick, verdict, yardstick
from readbench_data.entry import unnest
from readbench_data.lane import INDEX, SHARD
from readbench_data.leakage import shifted_copies
from readbench_data.leakage.facts import from_release, from_store, is_current
from readbench_data.leakage.leaks import LeakReport, find_leaks
from readbench_data.leakage.shortcuts import Shortcut, find_shortcuts
from readbench_data.recordings.stretches import SharedStretch, shared_stretches
from readbench_data.release import layout
from readbench_data.release.manifest import BuiltDataset, Manifest
from readbench_data.release.reading import iter_entries, read_audit, read_manifest
from readbench_data.store.records import JsonObject
from readbench_data.store.store import Stage, Store
from readbench_data.windows.labeling import LabelMap, Rule
from readbench_data.windows.outcomes import SELECTED
from readbench_data.windows.sensitivity import CHANGES, FRAGILE, Variant, fragile, sweep

Values = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""(channels, values [T][C]) by entry_id."""


@dataclass(frozen=True)
class Findings:
    """``audit``: the columns ``tallies.COLUMNS`` of every window considered; ``margins`` as returned by
    :func:`tallies.margins`; ``values`` of the published windows. ``here``: whether the data root has the lane; if so,
    all its windows were searched for leaks. Otherwise ``stretches``, ``channels`` and ``variants`` are None.
    ``variants`` is also None without a label map, and empty if windows and classes are the source's own.
    ``yardstick`` is None without queries. ``fragile``: windows whose class changes if they are moved by a few steps;
    None where ``variants`` is."""

    manifest: Manifest
    dataset: str
    here: bool
    audit: pl.DataFrame
    margins: pl.DataFrame
    values: Values
    leaks: LeakReport
    shortcuts: list[Shortcut]
    yardstick: Yardstick | None
    stretches: list[SharedStretch] | None
    variants: list[Variant] | None
    fragile: pl.DataFrame | None
    channels: pl.DataFrame | None

    def to_json(self, borderline: int = 100) -> JsonObject:
        """Return everything except the windows' values as plain data. Of the windows closest to another label, the
        first ``borderline`` and their total number."""
        purity, fill = tallies.purity(self.audit), tallies.fill(self.audit)
        return {
            "looked_among": "all windows considered" if self.here else "the published windows",
            "funnel": tallies.funnel(self.audit).rename(lambda n: n.replace(" ", "_")).to_dicts(),
            "purity": purity,
            "borderline": {
                "windows": self.margins.height,
                "closest": self.margins.head(borderline).to_dicts(),
            },
            "fragile": None
            if self.fragile is None
            else {
                "windows": tallies.by_move(self.fragile).to_dicts(),
                "closest": self.fragile.head(borderline).to_dicts(),
            },
            "units": tallies.units(self.audit).to_dicts(),
            "leaks": [
                {"kind": f.kind, "what": f.what, "count": f.count, "blocking": f.blocking, "examples": list(f.examples)}
                for f in self.leaks.findings
            ],
            "near_duplicates": {
                "sees": shifted_copies.LIMITS,
                "does_not_see": shifted_copies.OUT_OF_REACH,
                "pairs": self.leaks.near.to_dicts(),
            },
            "shared_stretches": None
            if self.stretches is None
            else [
                {"steps": s.steps, "a": s.a, "a_start": s.a_start, "b": s.b, "b_start": s.b_start}
                for s in self.stretches
            ],
            "shortcuts": [
                {
                    "trait": s.trait,
                    "kind": s.kind,
                    "says": s.says,
                    "ndcg": s.ndcg,
                    "random": s.random,
                    "exchanged": s.exchanged,
                    "p": s.p,
                    "units": s.units,
                    "queries": s.queries,
                    "verdict": s.verdict,
                    "clear": s.clear,
                }
                for s in self.shortcuts
            ],
            "solved_by": None if self.yardstick is None else verdict(self.shortcuts, self.yardstick),
            "yardstick": None
            if self.yardstick is None
            else {"random": self.yardstick.chance, **dict(self.yardstick.methods)},
            "sensitivity": None
            if self.variants is None
            else [
                {
                    "setting": v.setting,
                    "windows": v.windows,
                    "compared": v.compared,
                    "changed": v.changed,
                    "changes": dict(zip(CHANGES, v.changes, strict=True)),
                    "published": v.published,
                    "published_changed": v.published_changed,
                    "classes": {name: {"before": a, "after": b} for name, (a, b) in v.classes.items()},
                }
                for v in self.variants
            ],
            "fill": fill.to_dicts(),
            "published_channels": tallies.channel_stats(list(self.values.values())),
        }


def find(release: Path, dataset: str, store: Store | None = None, labels: LabelMap | None = None) -> Findings:
    """Run the audit of a dataset. ``store``: a data root. If it has the lane of this release, all its windows are
    searched for leaks and, with ``labels``, the sensitivity of the labels is computed."""
    audit = read_audit(release, dataset, tallies.COLUMNS)
    manifest = read_manifest(release)
    described = manifest.built[dataset]
    lane = store if store is not None and is_current(store, manifest, dataset) else None
    with lane_files(lane, dataset):
        facts = from_release(release, dataset) if lane is None else from_store(lane, dataset)
        shortcuts = list(find_shortcuts(facts))
        swept = (None, None) if lane is None or labels is None else _sweep(lane, dataset, described, labels)
        return Findings(
            manifest,
            dataset,
            lane is not None,
            audit,
            _with_moves(tallies.margins(audit, described.rule.coverage), swept[1]),
            _published(release, dataset),
            find_leaks(facts),
            shortcuts,
            yardstick(release, dataset, store, shortcuts),
            None if lane is None else _stretches(lane, dataset),
            swept[0],
            swept[1],
            None if lane is None else channel_tally(lane, dataset),
        )


def _with_moves(margins: pl.DataFrame, found: pl.DataFrame | None) -> pl.DataFrame:
    """Add ``moved``, the second margin: windows with equal votes come in the order of the steps that change them."""
    if found is None:
        return margins.with_columns(moved=pl.lit(None, pl.Int64))
    joined = margins.join(found.select("entry_id", "moved"), on="entry_id", how="left")
    return joined.sort("margin", pl.col("moved").abs(), "entry_id", nulls_last=True)


def _published(release: Path, dataset: str) -> Values:
    found: Values = {}
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(dataset, file)
        if (release / path).is_file():
            for rows in iter_entries(release, path, ["entry_id", "channels", "ts_values"]):
                names, channels = rows["entry_id"].to_pylist(), rows["channels"].to_pylist()
                for name, own, window in zip(names, channels, unnest(rows["ts_values"]), strict=True):
                    found[name] = tuple(own), window
    return found


def _stretches(store: Store, dataset: str) -> list[SharedStretch] | None:
    """Return the rows that two recordings share, whether or not a window was cut there."""
    stage = Stage(store, dataset, "recordings")
    record = stage.current()
    if record is None:
        return None
    with store.open_read(f"{stage.place(record.key)}/{SHARD}") as stream:
        return list(shared_stretches(stream))


def _sweep(store: Store, dataset: str, described: BuiltDataset, labels: LabelMap) -> tuple[list[Variant], pl.DataFrame]:
    """Return the sensitivity of the labels, and the fragile windows with their ``entry_id`` and outcome: the published
    ones first, those that move least first."""
    places = {}
    for name in ("recordings", "windows", "benchmark"):
        stage = Stage(store, dataset, name)
        record = stage.current()
        if record is None:
            return [], pl.DataFrame(schema=FRAGILE)
        places[name] = stage.place(record.key)
    with store.open_read(f"{places['windows']}/{INDEX}") as stream:
        index = pl.DataFrame(pq.read_table(stream, columns=["entry_id", "recording_id", "segment", "start"]))
    with store.open_read(f"{places['benchmark']}/audit.parquet") as stream:
        outcomes = pl.DataFrame(pq.read_table(stream, columns=["entry_id", "outcome"]))
    known = index.join(outcomes, on="entry_id", how="left").cast({"segment": pl.Int64, "start": pl.Int64})
    selected = known.filter(pl.col("outcome").is_in(SELECTED))
    published = {
        (str(recording), int(segment)): part["start"].to_numpy()
        for (recording, segment), part in selected.group_by("recording_id", "segment")
    }
    rule = Rule(described.rule.name, described.rule.coverage, described.rule.normal_purity)
    way = (labels, rule, described.settings.length, described.settings.stride)
    shard = f"{places['recordings']}/{SHARD}"
    with store.open_read(shard) as stream:
        variants = sweep(stream, *way, published)
    with store.open_read(shard) as stream:
        found = fragile(stream, *way)
    return variants, (
        found.join(known, on=["recording_id", "segment", "start"], how="left")
        .sort(~pl.col("outcome").is_in(SELECTED), pl.col("moved").abs(), "entry_id")
        .select("entry_id", "outcome", "class_label", "reason", "moved", "becomes")
    )
