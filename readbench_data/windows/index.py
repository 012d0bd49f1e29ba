"""The window index: one row for every window considered, with the proof of its label.

Labels, splits, sampling, audit, leak checks and version diffs all work on this table. Values are cut from the
curated recordings only for the windows that are kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from readbench_data.entry import entry_id
from readbench_data.recordings.curation import Segment
from readbench_data.recordings.recording import Event, UnitSpans
from readbench_data.windows.fingerprint import SKETCH_SIZE, Fingerprints, fingerprint
from readbench_data.windows.labeling import LabelMap, Labels, Rule, Votes, apply_rule, count_votes
from readbench_data.windows.outcomes import Reason
from readbench_data.windows.windowing import WindowPlan

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


@dataclass(frozen=True, slots=True)
class IndexRows:
    """The n windows of one segment with the proof of each label, by start; :func:`index_table` makes rows of them.

    Holds none of the segment's values. ``rows``, ``context`` int64 [2][n]; ``unit`` int64 [n] into ``units``;
    ``filled`` and ``masked`` int64 [n] cells; ``times`` the text of each window's first and last step.
    """

    dataset: str
    recording_id: str
    segment: int
    native_split: str | None
    source_file: str
    source_sha256: str
    channels: tuple[str, ...]
    extras: str
    rule: str
    starts: np.ndarray
    stops: np.ndarray
    rows: np.ndarray
    context: np.ndarray
    times: tuple[Sequence[str | None], Sequence[str | None]]
    units: tuple[str, ...]
    unit: np.ndarray
    votes: Votes
    outcome: Labels
    spans: tuple[Event, ...]
    filled: np.ndarray
    masked: np.ndarray
    prints: Fingerprints

    def __len__(self) -> int:
        return len(self.starts)


def index_rows(dataset: str, segment: Segment, plan: WindowPlan, rule: Rule, labels: LabelMap) -> IndexRows | None:
    """Cut and label the windows of one curated segment; None where it is shorter than a window.

    Raises ``KeyError`` for a code without a class.
    """
    starts, stops = plan.bounds(segment)
    if len(starts) == 0:
        return None
    votes = count_votes(segment.evidence, starts, stops, labels)
    outcome = apply_rule(rule, segment.evidence, votes, starts, stops)
    units, unit, crossing = _units(segment.unit, starts, stops)
    outcome.class_label[crossing] = None
    outcome.reason[crossing] = Reason.CROSSES_UNITS
    rows = np.stack(segment.row_span(starts, stops))
    labelled = np.array([label is not None for label in outcome.class_label], bool)
    clock = segment.clock
    nothing = [None] * len(starts)
    return IndexRows(
        dataset=dataset,
        recording_id=segment.recording_id,
        segment=segment.number,
        native_split=segment.native_split,
        source_file=segment.source_file,
        source_sha256=segment.source_sha256,
        channels=segment.channels,
        extras=json.dumps(segment.extras, sort_keys=True, ensure_ascii=False),
        rule=rule.name,
        starts=starts,
        stops=stops,
        rows=rows,
        context=_context(segment, starts, stops, rows),
        times=(nothing, nothing) if clock is None else (clock.text(starts), clock.text(stops - 1)),
        units=units,
        unit=unit,
        votes=votes,
        outcome=outcome,
        spans=segment.evidence.spans if (outcome.event >= 0).any() else (),
        filled=_sum_between(segment.filled, starts, stops),
        masked=_sum_between(segment.masked, starts, stops),
        prints=_fingerprints(segment, starts, stops, labelled),
    )


def index_table(parts: Sequence[IndexRows]) -> pa.Table:
    """The rows of many segments as one table of ``INDEX_SCHEMA``, in their order."""
    if not parts:
        return INDEX_SCHEMA.empty_table()
    part_of = pa.array(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))

    def of_part(name: str) -> pa.Array:
        field = INDEX_SCHEMA.field(name)
        return pa.array([getattr(part, field.name) for part in parts], field.type).take(part_of)

    def joined(arrays: Sequence[np.ndarray]) -> pa.Array:
        return pa.array(np.concatenate(arrays), from_pandas=True)

    def listed(lists: Iterable[Iterable[str | None]]) -> pa.Array:
        return pa.array([item for items in lists for item in items], pa.string())

    cells = [(part.stops - part.starts) * len(part.channels) for part in parts]
    row_start, row_stop = np.concatenate([part.rows for part in parts], axis=1)
    context_start, context_stop = np.concatenate([part.context for part in parts], axis=1)
    event_id, target, affected = _event_columns(parts)
    sketch = np.concatenate([part.prints.sketch for part in parts]).reshape(-1)
    columns = {
        "entry_id": listed([_ids(part) for part in parts]),
        "start": joined([part.starts for part in parts]),
        "stop": joined([part.stops for part in parts]),
        "unit": _unit_column(parts),
        "row_start": pa.array(row_start),
        "row_stop": pa.array(row_stop),
        "context_start": pa.array(context_start),
        "context_stop": pa.array(context_stop),
        "time_start": listed([part.times[0] for part in parts]),
        "time_stop": listed([part.times[1] for part in parts]),
        "votes": _vote_column([part.votes for part in parts]),
        "majority_share": joined([part.outcome.majority_share for part in parts]),
        "event_id": event_id,
        "event_coverage": joined([part.outcome.coverage for part in parts]),
        "class_label": listed([part.outcome.class_label for part in parts]),
        "reason": listed([part.outcome.reason for part in parts]),
        "rca_target": target,
        "rca_affected": affected,
        "filled_fraction": joined([part.filled / count for part, count in zip(parts, cells, strict=True)]),
        "sentinel_count": joined([part.masked for part in parts]),
        "content_hash": listed([part.prints.content_hash for part in parts]),
        "shape_hash": listed([part.prints.shape_hash for part in parts]),
        "sketch": pa.FixedSizeListArray.from_arrays(pa.array(sketch), SKETCH_SIZE),
        "constant_mask": listed([part.prints.constant_mask for part in parts]),
    }
    return pa.table([columns[n] if n in columns else of_part(n) for n in INDEX_SCHEMA.names], schema=INDEX_SCHEMA)


def _ids(part: IndexRows) -> list[str]:
    spans = zip(part.rows[0].tolist(), part.rows[1].tolist(), strict=True)
    return [entry_id(part.dataset, part.recording_id, first, last) for first, last in spans]


def _units(
    unit: str | UnitSpans, starts: np.ndarray, stops: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Names, the number of every window's unit in them, and which windows reach from one unit into the next."""
    n = len(starts)
    if isinstance(unit, str):
        return (unit,), np.zeros(n, np.int64), np.zeros(n, bool)
    first = np.searchsorted(unit.starts, starts, side="right") - 1
    last = np.searchsorted(unit.starts, stops - 1, side="right") - 1
    names = np.array(unit.names, object)
    return unit.names, first, names[first] != names[last]


def _context(segment: Segment, starts: np.ndarray, stops: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if segment.context is None:
        return rows
    bounds = list(zip(starts.tolist(), stops.tolist(), strict=True))
    first = np.array([segment.context[a:b, 0].min() for a, b in bounds])
    last = np.array([segment.context[a:b, 1].max() for a, b in bounds])
    low, _ = segment.row_span(first, first + 1)
    _, high = segment.row_span(last - 1, last)
    return np.stack([low, high])


def _sum_between(per_step: np.ndarray | None, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    if per_step is None:
        return np.zeros(len(starts), np.int64)
    total = np.concatenate([[0], np.cumsum(per_step, dtype=np.int64)])
    return total[stops] - total[starts]


def _bases(sizes: Sequence[int]) -> np.ndarray:
    """Where each part begins once the parts stand one after the other."""
    return np.cumsum([0, *sizes[:-1]])


def _unit_column(parts: Sequence[IndexRows]) -> pa.Array:
    base = _bases([len(part.units) for part in parts])
    names = pa.array([name for part in parts for name in part.units], pa.string())
    return names.take(pa.array(np.concatenate([part.unit + at for part, at in zip(parts, base, strict=True)])))


def _vote_column(votes: Sequence[Votes]) -> pa.Array:
    """One list a window of the codes that voted in it, by code."""
    base = _bases([len(v.codes) for v in votes])
    voted = [np.nonzero(v.counts) for v in votes]
    code = np.concatenate([column + at for (_, column), at in zip(voted, base, strict=True)])
    counts = np.concatenate([v.counts[where] for v, where in zip(votes, voted, strict=True)])
    sizes = np.concatenate(
        [np.bincount(window, minlength=len(v.counts)) for v, (window, _) in zip(votes, voted, strict=True)]
    )
    take = pa.array(code)
    struct = pa.StructArray.from_arrays(
        [
            pa.array([c for v in votes for c in v.codes], pa.string()).take(take),
            pa.array([c for v in votes for c in v.labels], pa.string()).take(take),
            pa.array(counts),
        ],
        fields=list(VOTE),
    )
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), struct)


def _event_columns(parts: Sequence[IndexRows]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Id, target and affected channels of the event that stands for each window; null, null, empty for none."""
    spans = [span for part in parts for span in part.spans]
    base = _bases([len(part.spans) for part in parts])
    event = np.concatenate(
        [np.where(p.outcome.event < 0, len(spans), p.outcome.event + at) for p, at in zip(parts, base, strict=True)]
    )
    at = pa.array(event)
    ids = pa.array([s.event_id or None for s in spans] + [None], pa.string()).take(at)
    target = pa.array([s.rca_target for s in spans] + [None], pa.string()).take(at)
    affected = pa.array([s.rca_affected for s in spans] + [()], pa.list_(pa.string())).take(at)
    return ids, target, affected


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
