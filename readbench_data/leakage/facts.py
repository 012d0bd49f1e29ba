"""The input of leak and shortcut checks: one row per window, and values only where two windows must be compared.

With a lane, everything comes from its window index. From a release alone (a pulled one, say) hashes and sketches are
computed from the published values of the selected windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from readbench_data.entry import unnest
from readbench_data.errors import ReadbenchError
from readbench_data.lane import INDEX, SHARD, Lane
from readbench_data.recordings import shards
from readbench_data.release import layout
from readbench_data.release.lane_records import BenchmarkRecord
from readbench_data.release.manifest import Manifest
from readbench_data.release.reading import iter_entries, read_audit, read_manifest
from readbench_data.store.records import field_of
from readbench_data.store.store import Stage, Store
from readbench_data.windows.fingerprint import SKETCH_SIZE, fingerprint
from readbench_data.windows.outcomes import SELECTED

WindowValues = dict[str, np.ndarray]
"""Values [T][C] by entry_id."""

Schema = dict[str, pl.DataType | type[pl.DataType]]

Opener = Callable[[], AbstractContextManager[IO[bytes]]]

AUDITED = ["entry_id", "recording_id", "unit", "side", "outcome", "reason", "class_label", "source_file", "row_start"]
AUDITED += ["row_stop", "time_start", "time_stop", "duplicate_of", "filled_fraction", "sentinel_count", "pollution"]
VALUES = ["entry_id", "channels", "ts_values"]
HASHED = ["entry_id", "channels", "content_hash", "shape_hash", "constant_mask"]


@dataclass(frozen=True)
class Facts:
    """The windows of a dataset as the checks need them.

    ``windows``: one row per window considered, with the columns ``AUDITED`` and ``HASHED``, ``steps`` and ``own_unit``
    (before units were joined). ``content_hash`` is null for windows without a class; channels and the other hashes are
    null for windows that are not selected. ``sketches`` float32 [n][64], one per row, 0 for windows that are not
    selected. ``values`` returns the values of the requested entry_ids.
    """

    dataset: str
    windows: pl.DataFrame
    sketches: np.ndarray
    values: Callable[[Iterable[str]], WindowValues]

    @cached_property
    def selected_values(self) -> WindowValues:
        """The values of all selected windows, read once."""
        return self.values(self.windows.filter(pl.col("outcome").is_in(SELECTED))["entry_id"])

    def only(self, chosen: pl.Series) -> Facts:
        """The facts of the windows for which a Boolean series is true."""
        return Facts(self.dataset, self.windows.filter(chosen), self.sketches[chosen.to_numpy()], self.values)


def from_index(dataset: str, stream: IO[bytes], audit: pl.DataFrame, segments: Opener | None = None) -> Facts:
    """Facts from a window index (a Parquet file) and its audit table; ``segments`` opens the curated recordings.

    Channels and sketches are read for the selected windows only, so memory does not grow with the pool's channels.
    """
    file = pq.ParquetFile(stream)
    narrow = file.read(columns=["entry_id", "content_hash", "segment", "start", "stop", "unit"])
    selected = audit.filter(pl.col("outcome").is_in(SELECTED)).select("entry_id")
    parts, rows = [], []
    for group in range(file.num_row_groups):
        wide = file.read_row_group(group, columns=["entry_id", "channels", "shape_hash", "constant_mask", "sketch"])
        at = (
            pl.DataFrame(wide.select(["entry_id"])).with_row_index("at").join(selected, on="entry_id", how="semi")["at"]
        )
        if len(at):
            chosen = wide.take(at.to_arrow())
            parts.append(pl.DataFrame(chosen.drop_columns("sketch")))
            flat = chosen["sketch"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            rows.append(flat.reshape(-1, SKETCH_SIZE))
    schema: Schema = dict.fromkeys(("entry_id", "shape_hash", "constant_mask"), pl.String)
    hashed = pl.concat(parts) if parts else pl.DataFrame(schema={**schema, "channels": pl.List(pl.String)})
    frame = (
        audit.select(AUDITED)
        .join(pl.DataFrame(narrow).rename({"unit": "own_unit"}), on="entry_id", how="left", maintain_order="left")
        .join(hashed.with_row_index("at"), on="entry_id", how="left", maintain_order="left")
        .with_columns(
            steps=pl.col("stop") - pl.col("start"),
            **{n: pl.when(pl.col(n) != "").then(n) for n in ("content_hash", "shape_hash", "constant_mask")},
        )
    )
    sketches = np.zeros((frame.height, SKETCH_SIZE), np.float32)
    if rows:
        there = frame["at"].is_not_null().to_numpy()
        sketches[there] = np.concatenate(rows)[frame["at"].drop_nulls().to_numpy()]
    frame = frame.drop("at")
    places = frame.select("entry_id", "recording_id", "segment", "start", "stop")

    def values(ids: Iterable[str]) -> WindowValues:
        requested = places.filter(pl.col("entry_id").is_in(list(ids)))
        groups: dict[tuple[str, int], list[tuple[str, int, int]]] = {}
        for name, recording, segment, start, stop in requested.iter_rows():
            groups.setdefault((recording, segment), []).append((name, start, stop))
        found: WindowValues = {}
        if groups and segments is not None:
            with segments() as stream:
                for key, piece in shards.read_values(stream, set(groups)):
                    for name, start, stop in groups[key]:
                        found[name] = piece[start:stop].copy()
        return found

    return Facts(dataset, frame, sketches, values)


def from_release(release: Path, dataset: str) -> Facts:
    """Facts from a release folder alone: hashes and sketches are computed from the published values.

    Where channels are compared by position, their names do not count: a copy under other names is a copy.
    """
    audit = read_audit(release, dataset, AUDITED)
    described = read_manifest(release).built.get(dataset)
    by_position = described is not None and field_of(described.settings, "alignment") == "position"
    parts, sketches = [], []
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(dataset, file)
        if (release / path).is_file():
            for table in iter_entries(release, path, VALUES):
                frame, sketch = _hash_entries(table, by_position)
                parts.append(frame)
                sketches.append(sketch)
    schema: Schema = {**dict.fromkeys(HASHED, pl.String), "channels": pl.List(pl.String), "steps": pl.Int64}
    hashed = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    hashed = hashed.with_row_index("at").unique("entry_id", keep="first", maintain_order=True)
    frame = audit.join(hashed, on="entry_id", how="left", maintain_order="left").with_columns(own_unit="unit")
    rows = np.zeros((frame.height, SKETCH_SIZE), np.float32)
    there = frame["at"].is_not_null().to_numpy()
    if parts:
        rows[there] = np.concatenate(sketches)[frame["at"].drop_nulls().to_numpy()]

    def values(ids: Iterable[str]) -> WindowValues:
        return read_values(release, dataset, ids)

    return Facts(dataset, frame.drop("at"), rows, values)


def read_values(release: Path, dataset: str, ids: Iterable[str]) -> WindowValues:
    """Published values of the given entries; entries that are in no file are left out."""
    wanted, found = set(ids), WindowValues()
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(dataset, file)
        if (release / path).is_file() and wanted - set(found):
            for table in iter_entries(release, path, ["entry_id", "ts_values"]):
                at = [i for i, name in enumerate(table["entry_id"].to_pylist()) if name in wanted]
                if at:
                    chosen = table.take(at)
                    windows = unnest(chosen["ts_values"])
                    found |= {n: w.copy() for n, w in zip(chosen["entry_id"].to_pylist(), windows, strict=True)}
    return found


def read_entry(release: Path, dataset: str, entry_id: str) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Values [T][C] and channels of one published entry; None if it is in no file."""
    for file in (layout.QUERIES, *layout.corpus_files(20)):
        path = layout.data(dataset, file)
        if (release / path).is_file():
            for table in iter_entries(release, path, VALUES):
                ids = table["entry_id"].to_pylist()
                if entry_id in ids:
                    row = table.slice(ids.index(entry_id), 1)
                    return unnest(row["ts_values"])[0], tuple(row["channels"].to_pylist()[0])
    return None


def _hash_entries(table: pa.Table, by_position: bool) -> tuple[pl.DataFrame, np.ndarray]:
    """Hashes and sketches of one row group of entries, window by window: lengths and channels may differ."""
    names, channels = table["entry_id"].to_pylist(), table["channels"].to_pylist()
    windows = unnest(table["ts_values"])
    zero = np.zeros(1, np.int64)
    prints = [
        fingerprint(w, c, zero, np.array([len(w)]), named=not by_position)
        for w, c in zip(windows, channels, strict=True)
    ]
    frame = pl.DataFrame(
        {
            "entry_id": names,
            "channels": channels,
            "content_hash": [p.content_hash[0] for p in prints],
            "shape_hash": [p.shape_hash[0] for p in prints],
            "constant_mask": [p.constant_mask[0] for p in prints],
            "steps": [len(w) for w in windows],
        },
        schema_overrides={"channels": pl.List(pl.String)},
    )
    return frame, np.concatenate([p.sketch for p in prints])


def from_lane(lane: Lane, audit: pl.DataFrame | None = None) -> Facts:
    """Facts from a built lane; ``audit`` while its own is not written yet."""
    return from_store(lane.store, lane.name, audit)


def from_store(store: Store, dataset: str, audit: pl.DataFrame | None = None) -> Facts:
    """Facts from the current lane of a dataset in a data root. Raises ReadbenchError if it is not built there."""
    stages = {name: Stage(store, dataset, name) for name in ("recordings", "windows", "benchmark")}
    done = {name: stage.current() for name, stage in stages.items()}
    place = {name: stages[name].place(record.key) for name, record in done.items() if record is not None}
    missing = [name for name in ("recordings", "windows") if name not in place]
    if missing or (audit is None and "benchmark" not in place):
        raise ReadbenchError(f"{dataset} is not built here: run `readbench build --dataset {dataset}`")
    if audit is None:
        with store.open_read(f"{place['benchmark']}/audit.parquet") as stream:
            audit = pl.DataFrame(pq.read_table(stream, columns=AUDITED))
    shard = f"{place['recordings']}/{SHARD}"
    with store.open_read(f"{place['windows']}/{INDEX}") as stream:
        return from_index(dataset, stream, audit, lambda: store.open_read(shard))


def is_current(store: Store, manifest: Manifest, dataset: str) -> bool:
    """Whether a release was made from the current lane of a data root."""
    before = [Stage(store, dataset, name).current() for name in ("recordings", "windows")]
    benchmark = Stage(store, dataset, "benchmark").current(BenchmarkRecord)
    if benchmark is None or any(record is None for record in before):
        return False
    built, stated = (files.get(layout.audit(dataset)) for files in (benchmark.files, manifest.files))
    return built is not None and stated is not None and built.content_sha256 == stated.content_sha256
