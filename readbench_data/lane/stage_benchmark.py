"""Stage benchmark: splits and selects windows, copies their values; writes queries, corpora and the audit table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import polars as pl

from readbench_data.entry import NORMAL
from readbench_data.lane.base import SHARD, AuditGate, Lane, histogram, require, staged
from readbench_data.lane.stage_windows import load_index
from readbench_data.recordings.shards import read_values
from readbench_data.release import layout
from readbench_data.release.lane_records import (
    BenchmarkRecord,
    DatasetSettings,
    RawRecord,
    RuleSettings,
    WrittenFile,
    shared_settings,
)
from readbench_data.release.parquet import AUDIT_SCHEMA, Entry, Written, write_entries, write_table
from readbench_data.release.pool import write_pool
from readbench_data.selection.sampling import compose
from readbench_data.store.records import StageRecord
from readbench_data.store.store import digest
from readbench_data.windows.outcomes import SELECTED, Outcome, Side


def benchmark(lane: Lane, gate: AuditGate | None = None) -> BenchmarkRecord:
    """Split by unit, select by seed, copy the values; write queries, corpora and the audit table.

    ``gate`` receives the audit table (polars). If it raises, the earlier result stays current.
    """
    before = require(lane, "windows", StageRecord)
    key = benchmark_key(lane, before.key)
    return staged(lane, "benchmark", key, BenchmarkRecord, lambda place: _write_benchmark(lane, place, gate))


def benchmark_key(lane: Lane, windows: str) -> str:
    """Return the key of the stage from the key of stage windows."""
    return digest(
        {
            "windows": windows,
            "config": shared_settings(lane.config).to_json(),
            "settings": lane.settings.to_json(),
            "pool": lane.pool,
            "code": lane.version("benchmark"),
        }
    )


def _write_benchmark(lane: Lane, place: str, gate: AuditGate | None) -> BenchmarkRecord:
    index = load_index(lane)
    composition = compose(index.filter(pl.col("class_label").is_not_null()), lane.config, lane.settings)
    audit = _audit_frame(index, composition.windows)
    checks = gate(audit) if gate is not None else []
    written: dict[str, Written] = {}
    drawn = audit.filter(pl.col("outcome").is_in(SELECTED))
    cut = _cut(lane, index, drawn)
    sets = {layout.QUERIES: drawn.filter(pl.col("outcome") == Outcome.QUERY)}
    sets[layout.ANOMALIES] = drawn.filter((pl.col("outcome") == Outcome.CORPUS) & (pl.col("pollution") == 0))
    for rho in lane.config.pollution[1:]:
        sets[layout.normals(rho)] = drawn.filter((pl.col("outcome") == Outcome.CORPUS) & (pl.col("pollution") == rho))
    for file, rows in sets.items():
        if rows.height:
            ids = sorted(rows["entry_id"])
            with lane.store.open_write(f"{place}/{file}") as stream:
                written[layout.data(lane.name, file)] = write_entries(stream, lane.name, (cut[i] for i in ids))
    if lane.pool:
        lane.progress("writing the pool")
        retained = audit.filter(pl.col("outcome") != Outcome.DROPPED)
        entries = _stream_entries(lane, index, retained)
        parts = write_pool(lane.store, f"{place}/pool", lane.name, entries, _value_bytes(index, retained))
        written |= {layout.data(lane.name, f"pool/{name}"): part for name, part in parts.items()}
    table = audit.to_arrow().cast(AUDIT_SCHEMA)
    with lane.store.open_write(f"{place}/audit.parquet") as stream:
        written[layout.audit(lane.name)] = write_table(stream, table)
    return BenchmarkRecord(
        raw=require(lane, "raw", RawRecord),
        settings=DatasetSettings.parse(lane.settings.to_json()),
        config=shared_settings(lane.config),
        rule=RuleSettings(**asdict(lane.rule)),
        files={path: WrittenFile(**asdict(w)) for path, w in written.items()},
        wanted_normals={str(k): v for k, v in composition.wanted.items()},
        shortfall={str(k): v for k, v in composition.shortfall.items()},
        without_query=composition.without_query,
        outcomes=histogram(audit["outcome"]),
        reasons=histogram(audit["reason"]),
        checks=tuple(checks),
        code=lane.versions(),
    )


def _audit_frame(index: pl.DataFrame, drawn: pl.DataFrame) -> pl.DataFrame:
    """Return one row per window considered, in the order of the index."""
    joined = index.rename({"reason": "label_reason"}).join(
        drawn.rename({"unit": "joined_unit"}), on="entry_id", how="left", maintain_order="left"
    )
    return joined.with_columns(
        unit=pl.coalesce("joined_unit", "unit"),
        outcome=pl.col("outcome").fill_null(Outcome.DROPPED),
        reason=pl.coalesce("label_reason", "reason"),
    ).select(AUDIT_SCHEMA.names)


def _value_bytes(index: pl.DataFrame, rows: pl.DataFrame) -> int:
    """Return the size in bytes of the values of the given windows."""
    cells = (pl.col("stop") - pl.col("start")) * pl.col("channels").list.len()
    return 4 * int(index.join(rows.select("entry_id"), on="entry_id", how="semi").select(cells.sum()).item())


def _cut(lane: Lane, index: pl.DataFrame, rows: pl.DataFrame) -> dict[str, Entry]:
    return {entry.entry_id: entry for entry in _stream_entries(lane, index, rows)}


def _stream_entries(lane: Lane, index: pl.DataFrame, rows: pl.DataFrame) -> Iterator[Entry]:
    """Yield the entries of the given audit rows in the order of the curated recordings."""
    places = index.select("entry_id", "segment", "start", "stop", "channels", "rca_target", "rca_affected", "extras")
    wanted = rows.select("entry_id", "recording_id", "class_label", "side").join(places, on="entry_id", how="left")
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in wanted.iter_rows(named=True):
        groups.setdefault((row["recording_id"], row["segment"]), []).append(row)
    shard = f"{lane.stage('recordings').place(require(lane, 'recordings', StageRecord).key)}/{SHARD}"
    with lane.store.open_read(shard) as stream:
        for key, values in read_values(stream, set(groups)):
            for row in sorted(groups[key], key=lambda r: r["start"]):
                normal = row["class_label"] == NORMAL
                yield Entry(
                    entry_id=row["entry_id"],
                    values=values[row["start"] : row["stop"]].copy(),
                    channels=tuple(row["channels"]),
                    label="normal" if normal else "anomaly",
                    class_label=row["class_label"],
                    rca_target=None if normal else row["rca_target"],
                    rca_affected=() if normal else tuple(row["rca_affected"] or ()),
                    native_split="test" if row["side"] == Side.QUERY else "train",
                    extras=_extras(lane, row["extras"]),
                )


def _extras(lane: Lane, text: str) -> str:
    extras = json.loads(text)
    if lane.source.sampling_rate_hz is not None:
        extras.setdefault("sampling_rate_hz", lane.source.sampling_rate_hz)
    extras["origin"] = lane.files.origin
    return json.dumps(extras, sort_keys=True, ensure_ascii=False)
