"""The window index: one row per window considered, with the evidence for its label.

Labels, splits, sampling, audit, leak checks and version diffs all work on this table. Values are cut from the
curated recordings only for the selected windows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from readbench_data.entry import entry_id
from readbench_data.recordings.recording import Event
from readbench_data.recordings.segment import Segment, SegmentInfo
from readbench_data.recordings.segment_row import Identity, identity
from readbench_data.windows.columns import INDEX_COLUMNS, VOTE, arrow_schema
from readbench_data.windows.fingerprint import NO_PRINTS, SKETCH_SIZE, Fingerprints, fingerprint
from readbench_data.windows.labeling import LabelMap, Rule, Votes, WindowLabels, apply_rule, count_votes
from readbench_data.windows.outcomes import Reason
from readbench_data.windows.window_units import WindowUnits
from readbench_data.windows.windowing import WindowPlan

INDEX_SCHEMA = arrow_schema(INDEX_COLUMNS)
"""Arrow schema of the index; what its columns mean: ``readbench_data.windows.columns``."""


@dataclass(frozen=True, slots=True)
class IndexRows:
    """The n windows of one segment, by start, with the evidence for each label; :func:`index_table` makes rows of them.

    Holds none of the segment's arrays. ``rows`` and ``context`` int64 [2][n]: starts and stops in the original file.
    ``times``: start and (exclusive) stop as text. ``events``: those of the segment, where a label comes from one.
    ``filled`` and ``masked`` int64 [n]: cells.
    """

    dataset: str
    segment: Identity
    rule: str
    starts: np.ndarray
    stops: np.ndarray
    rows: np.ndarray
    context: np.ndarray
    times: tuple[Sequence[str | None], Sequence[str | None]]
    units: WindowUnits
    votes: Votes
    labels: WindowLabels
    events: tuple[Event, ...]
    filled: np.ndarray
    masked: np.ndarray
    prints: Fingerprints

    def __len__(self) -> int:
        return len(self.starts)


def label_windows(
    segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, rule: Rule, label_map: LabelMap
) -> tuple[Votes, WindowLabels, WindowUnits]:
    """Votes, labels and units of the windows [start, stop) of a segment; a window that crosses units has no class.

    Raises ``KeyError`` for a code without a class.
    """
    votes = count_votes(segment.evidence, starts, stops, label_map)
    labels = apply_rule(rule, segment.evidence, votes, starts, stops)
    units = WindowUnits.find(segment.unit, starts, stops)
    return votes, labels.dropped(units.crossing, Reason.CROSSES_UNITS) if units.crossing.any() else labels, units


def index_rows(dataset: str, segment: Segment, plan: WindowPlan, rule: Rule, label_map: LabelMap) -> IndexRows | None:
    """Cut and label the windows of one curated segment; None where it is shorter than a window.

    Raises ``KeyError`` for a code without a class.
    """
    (rows,) = index_batch(dataset, [segment], plan, rule, label_map)
    return rows


def index_batch(
    dataset: str, segments: Sequence[Segment], plan: WindowPlan, rule: Rule, label_map: LabelMap
) -> list[IndexRows | None]:
    """:func:`index_rows` of every segment. Windows that are alone in their segment are fingerprinted together."""
    parts = [_without_prints(dataset, segment, plan, rule, label_map) for segment in segments]
    alone: dict[tuple[tuple[str, ...], int], list[int]] = {}
    for at, (segment, part) in enumerate(zip(segments, parts, strict=True)):
        if part is not None and len(part) == 1 and part.labels.class_label[0] is not None:
            alone.setdefault((segment.channels, int(part.stops[0] - part.starts[0])), []).append(at)
        elif part is not None:
            labelled = np.array([label is not None for label in part.labels.class_label], bool)
            prints = _fingerprints(segment, part.starts, part.stops, labelled)
            parts[at] = replace(part, prints=prints)
    for (channels, length), places in alone.items():
        found = [(at, part) for at in places if (part := parts[at]) is not None]
        values = np.concatenate([segments[at].values[part.starts[0] : part.stops[0]] for at, part in found])
        starts = np.arange(len(found)) * length
        prints = fingerprint(values, channels, starts, starts + length)
        for (at, part), own in zip(found, prints.one_by_one(), strict=True):
            parts[at] = replace(part, prints=own)
    return parts


def _without_prints(
    dataset: str, segment: Segment, plan: WindowPlan, rule: Rule, label_map: LabelMap
) -> IndexRows | None:
    starts, stops = plan.bounds(segment)
    if len(starts) == 0:
        return None
    votes, labels, units = label_windows(segment, starts, stops, rule, label_map)
    rows = np.stack(segment.row_span(starts, stops))
    clock = segment.clock
    nothing = [None] * len(starts)
    return IndexRows(
        dataset=dataset,
        segment=identity(segment),
        rule=rule.name,
        starts=starts,
        stops=stops,
        rows=rows,
        context=_context(segment, starts, stops, rows),
        times=(nothing, nothing) if clock is None else (clock.text(starts), clock.text(stops)),
        units=units,
        votes=votes,
        labels=labels,
        events=segment.evidence.spans if (labels.event >= 0).any() else (),
        filled=_sum_between(segment.filled, starts, stops),
        masked=_sum_between(segment.masked, starts, stops),
        prints=NO_PRINTS,
    )


def index_table(parts: Sequence[IndexRows]) -> pa.Table:
    """The rows of many segments as one table of ``INDEX_SCHEMA``, in their order."""
    if not parts:
        return INDEX_SCHEMA.empty_table()
    part_of = pa.array(np.repeat(np.arange(len(parts)), [len(part) for part in parts]))

    def of_part(name: str) -> pa.Array:
        values = [getattr(part if name in ("dataset", "rule") else part.segment, name) for part in parts]
        return pa.array(values, INDEX_SCHEMA.field(name).type).take(part_of)

    def joined(arrays: Sequence[np.ndarray]) -> pa.Array:
        return pa.array(np.concatenate(arrays), from_pandas=True)

    def listed(lists: Iterable[Iterable[str | None]]) -> pa.Array:
        return pa.array([item for items in lists for item in items], pa.string())

    cells = [(part.stops - part.starts) * len(part.segment.channels) for part in parts]
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
        "majority_share": joined([part.labels.majority_share for part in parts]),
        "event_id": event_id,
        "event_coverage": joined([part.labels.coverage for part in parts]),
        "class_label": listed([part.labels.class_label for part in parts]),
        "reason": listed([part.labels.reason for part in parts]),
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
    return [entry_id(part.dataset, part.segment.recording_id, first, last) for first, last in spans]


def _context(segment: SegmentInfo, starts: np.ndarray, stops: np.ndarray, rows: np.ndarray) -> np.ndarray:
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
    """Where each part starts once the parts are concatenated."""
    return np.cumsum([0, *sizes[:-1]])


def _unit_column(parts: Sequence[IndexRows]) -> pa.Array:
    base = _bases([len(part.units.names) for part in parts])
    names = pa.array([name for part in parts for name in part.units.names], pa.string())
    return names.take(pa.array(np.concatenate([part.units.unit + at for part, at in zip(parts, base, strict=True)])))


def _vote_column(votes: Sequence[Votes]) -> pa.Array:
    """One list per window: the codes that voted in it, by code."""
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
    """Id, target and affected components of the event each label comes from; null, null and empty for none."""
    spans = [event for part in parts for event in part.events]
    base = _bases([len(part.events) for part in parts])
    event = np.concatenate(
        [np.where(p.labels.event < 0, len(spans), p.labels.event + at) for p, at in zip(parts, base, strict=True)]
    )
    at = pa.array(event)
    ids = pa.array([s.event_id or None for s in spans] + [None], pa.string()).take(at)
    target = pa.array([s.rca_target for s in spans] + [None], pa.string()).take(at)
    affected = pa.array([s.rca_affected for s in spans] + [()], pa.list_(pa.string())).take(at)
    return ids, target, affected


def _fingerprints(segment: Segment, starts: np.ndarray, stops: np.ndarray, kept: np.ndarray) -> Fingerprints:
    """Fingerprints of the retained windows; empty ones for the others, whose values are never used."""
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
