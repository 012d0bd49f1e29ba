"""The window index: one row for every window considered, with the proof of its label.

Labels, splits, sampling, audit, leak checks and version diffs all work on this table. Values are cut from the
curated recordings only for the windows that are kept.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from readbench_data.curation import Segment
from readbench_data.entry import entry_id
from readbench_data.fingerprint import SKETCH_SIZE, Fingerprints, fingerprint
from readbench_data.labeling import LabelMap, Rule, Votes, apply_rule, count_votes
from readbench_data.recording import Evidence, UnitSpans
from readbench_data.windowing import WindowPlan

CROSSES_UNITS = "crosses_units"

VOTE = pa.struct([("code", pa.string()), ("class_label", pa.string()), ("count", pa.int64())])

INDEX_SCHEMA = pa.schema(
    [
        ("entry_id", pa.string()),
        ("dataset", pa.string()),
        ("recording_id", pa.string()),
        ("segment", pa.int32()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("unit", pa.string()),
        ("native_split", pa.string()),
        ("source_file", pa.string()),
        ("source_sha256", pa.string()),
        ("row_start", pa.int64()),
        ("row_stop", pa.int64()),
        ("context_start", pa.int64()),
        ("context_stop", pa.int64()),
        ("time_start", pa.string()),
        ("time_stop", pa.string()),
        ("rule", pa.string()),
        ("votes", pa.list_(VOTE)),
        ("majority_share", pa.float64()),
        ("event_id", pa.string()),
        ("event_coverage", pa.float64()),
        ("class_label", pa.string()),
        ("reason", pa.string()),
        ("rca_target", pa.string()),
        ("rca_affected", pa.list_(pa.string())),
        ("filled_fraction", pa.float64()),
        ("sentinel_count", pa.int64()),
        ("channels", pa.list_(pa.string())),
        ("content_hash", pa.string()),
        ("shape_hash", pa.string()),
        ("sketch", pa.list_(pa.float32(), SKETCH_SIZE)),
        ("constant_mask", pa.string()),
        ("extras", pa.string()),
    ]
)
"""Columns of the index. ``start``/``stop`` count steps of the curated segment, ``row_*`` and ``context_*``
positions in the original file. ``reason`` is null for labelled windows, and the other way round."""


def index_segment(dataset: str, segment: Segment, plan: WindowPlan, rule: Rule, labels: LabelMap) -> pa.Table:
    """Index rows of one curated segment, by start. Raises ``KeyError`` for a code without a class."""
    starts, stops = plan.bounds(segment)
    n = len(starts)
    if n == 0:
        return INDEX_SCHEMA.empty_table()
    votes = count_votes(segment.evidence, starts, stops, labels)
    outcome = apply_rule(rule, segment.evidence, votes, starts, stops)
    label, reason = outcome.class_label, outcome.reason
    unit, crossing = _units(segment.unit, starts, stops)
    label[crossing] = None
    reason[crossing] = CROSSES_UNITS
    row_start, row_stop = segment.row_span(starts, stops)
    context_start, context_stop = _context(segment, starts, stops, row_start, row_stop)
    ids = [
        entry_id(dataset, segment.recording_id, a, b)
        for a, b in zip(row_start.tolist(), row_stop.tolist(), strict=True)
    ]
    prints = _fingerprints(segment, starts, stops, np.array([x is not None for x in label]))
    event_id, target, affected = _event_columns(segment.evidence, outcome.event)
    clock = segment.clock
    columns = {
        "entry_id": pa.array(ids, pa.string()),
        "dataset": _repeat(dataset, n),
        "recording_id": _repeat(segment.recording_id, n),
        "segment": pa.array(np.full(n, segment.number, np.int32)),
        "start": pa.array(starts),
        "stop": pa.array(stops),
        "unit": unit,
        "native_split": _repeat(segment.native_split, n),
        "source_file": _repeat(segment.source_file, n),
        "source_sha256": _repeat(segment.source_sha256, n),
        "row_start": pa.array(row_start),
        "row_stop": pa.array(row_stop),
        "context_start": pa.array(context_start),
        "context_stop": pa.array(context_stop),
        "time_start": _repeat(None, n) if clock is None else pa.array(clock.text(starts), pa.string()),
        "time_stop": _repeat(None, n) if clock is None else pa.array(clock.text(stops - 1), pa.string()),
        "rule": _repeat(rule.name, n),
        "votes": _vote_column(votes),
        "majority_share": pa.array(outcome.majority_share, from_pandas=True),
        "event_id": event_id,
        "event_coverage": pa.array(outcome.coverage, from_pandas=True),
        "class_label": pa.array(label.tolist(), pa.string()),
        "reason": pa.array(reason.tolist(), pa.string()),
        "rca_target": target,
        "rca_affected": affected,
        "filled_fraction": pa.array(
            _sum_between(segment.filled, starts, stops) / ((stops - starts) * len(segment.channels))
        ),
        "sentinel_count": pa.array(_sum_between(segment.masked, starts, stops)),
        "channels": _repeat_list(segment.channels, n),
        "content_hash": pa.array(prints.content_hash, pa.string()),
        "shape_hash": pa.array(prints.shape_hash, pa.string()),
        "sketch": pa.FixedSizeListArray.from_arrays(pa.array(prints.sketch.reshape(-1)), SKETCH_SIZE),
        "constant_mask": pa.array(prints.constant_mask, pa.string()),
        "extras": _repeat(json.dumps(segment.extras, sort_keys=True, ensure_ascii=False), n),
    }
    return pa.table(columns, schema=INDEX_SCHEMA)


def _repeat(value: str | None, n: int) -> pa.Array:
    return pa.nulls(n, pa.string()) if value is None else pa.repeat(pa.scalar(value, pa.string()), n)


def _repeat_list(items: tuple[str, ...], n: int) -> pa.Array:
    flat = pa.array(list(items), pa.string())
    offsets = np.arange(0, (n + 1) * len(items), len(items), dtype=np.int32) if items else np.zeros(n + 1, np.int32)
    indices = np.tile(np.arange(len(items)), n)
    return pa.ListArray.from_arrays(pa.array(offsets), flat.take(pa.array(indices)))


def _units(unit: str | UnitSpans, starts: np.ndarray, stops: np.ndarray) -> tuple[pa.Array, np.ndarray]:
    """Unit of every window, and which windows reach from one unit into the next."""
    if isinstance(unit, str):
        return _repeat(unit, len(starts)), np.zeros(len(starts), bool)
    first = np.searchsorted(unit.starts, starts, side="right") - 1
    last = np.searchsorted(unit.starts, stops - 1, side="right") - 1
    names = pa.array(list(unit.names), pa.string())
    crossing = np.array([unit.names[a] != unit.names[b] for a, b in zip(first, last, strict=True)], bool)
    return names.take(pa.array(first)), crossing


def _context(
    segment: Segment, starts: np.ndarray, stops: np.ndarray, row_start: np.ndarray, row_stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if segment.context is None:
        return row_start, row_stop
    bounds = list(zip(starts.tolist(), stops.tolist(), strict=True))
    first = np.array([segment.context[a:b, 0].min() for a, b in bounds])
    last = np.array([segment.context[a:b, 1].max() for a, b in bounds])
    low, _ = segment.row_span(first, first + 1)
    _, high = segment.row_span(last - 1, last)
    return low, high


def _sum_between(per_step: np.ndarray | None, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    if per_step is None:
        return np.zeros(len(starts), np.int64)
    total = np.concatenate([[0], np.cumsum(per_step, dtype=np.int64)])
    return total[stops] - total[starts]


def _vote_column(votes: Votes) -> pa.Array:
    window, code = np.nonzero(votes.counts)
    offsets = np.searchsorted(window, np.arange(len(votes.counts) + 1)).astype(np.int32)
    take = pa.array(code)
    struct = pa.StructArray.from_arrays(
        [
            pa.array(list(votes.codes), pa.string()).take(take),
            pa.array(list(votes.labels), pa.string()).take(take),
            pa.array(votes.counts[window, code]),
        ],
        fields=list(VOTE),
    )
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def _event_columns(evidence: Evidence, event: np.ndarray) -> tuple[pa.Array, pa.Array, pa.Array]:
    none = pa.array(np.where(event < 0, 0, event), mask=event < 0)
    spans = evidence.spans if (event >= 0).any() else ()
    if not spans:
        n = len(event)
        return pa.nulls(n, pa.string()), pa.nulls(n, pa.string()), _repeat_list((), n)
    ids = pa.array([s.event_id or None for s in spans], pa.string()).take(none)
    target = pa.array([s.rca_target for s in spans], pa.string()).take(none)
    empty = len(spans)
    affected = pa.array([list(s.rca_affected) for s in spans] + [[]], pa.list_(pa.string()))
    return ids, target, affected.take(pa.array(np.where(event < 0, empty, event)))


def _fingerprints(segment: Segment, starts: np.ndarray, stops: np.ndarray, kept: np.ndarray) -> Fingerprints:
    """Fingerprints of the labelled windows; empty ones for the others, whose values are never used."""
    some = fingerprint(segment.values, segment.channels, starts[kept], stops[kept])
    if kept.all():
        return some
    sketch = np.zeros((len(kept), SKETCH_SIZE), np.float32)
    sketch[kept] = some.sketch
    spread = []
    for column in (some.content_hash, some.shape_hash, some.constant_mask):
        values = iter(column)
        spread.append([next(values) if keep else "" for keep in kept])
    return Fingerprints(spread[0], spread[1], sketch, spread[2])
