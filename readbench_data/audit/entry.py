"""Why one window has its label, from the audit table of a release and, if available, from its lane."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from readbench_data.audit.lane_files import lane_files
from readbench_data.audit.trace import TouchedChannel, Trace, trace
from readbench_data.dataset.files import OriginKind
from readbench_data.entry import NORMAL
from readbench_data.errors import ReadbenchError
from readbench_data.pages.wording import counted
from readbench_data.release import layout
from readbench_data.release.audit_row import AuditRow, Vote
from readbench_data.release.lane_records import RuleSettings
from readbench_data.release.manifest import BuiltDataset
from readbench_data.release.reading import find_audit_rows, read_manifest
from readbench_data.store.records import JsonObject, Record
from readbench_data.store.store import Store
from readbench_data.windows.outcomes import SELECTED, Outcome, Side, explained


class Draw(Record):
    """Rank in the seeded selection: ``rank`` (from 1) among the ``of`` windows of its class on its side, of which the
    first ``drawn`` were selected."""

    rank: int
    of: int
    drawn: int


class EntryFacts(Record):
    """The audit row of a window and its explanation. ``label_track`` and the fields after it are None if the lane of
    the release is not in the data root."""

    row: AuditRow
    release: str
    seed: int | None
    origin: OriginKind
    row_unit: str
    rule: RuleSettings
    votes: tuple[Vote, ...]
    votes_by_class: dict[str, int]
    ending: str
    reason_in_words: str | None
    side_because: str | None
    draw: Draw | None
    label_track: str | None
    evidence: str | None
    own_unit: str | None
    touched_channels: tuple[TouchedChannel, ...] | None

    def flat(self) -> JsonObject:
        """Return plain data: the columns of the audit row and the explanation, at one level."""
        return {**self.row.to_json(), **{k: v for k, v in self.to_json().items() if k != "row"}}


def find(release: Path, entry_id: str) -> AuditRow:
    """Return the audit row of a window of any dataset, by its entry_id or a unique prefix of it.

    Raises ``ReadbenchError`` if the id is malformed, unknown or ambiguous.
    """
    if not 6 <= len(entry_id) <= 32 or set(entry_id) - set("0123456789abcdef"):
        raise ReadbenchError(
            f"{entry_id!r} is not an entry_id: an entry_id is 32 hex digits; its first 6 or more are enough"
        )
    found = find_audit_rows(release, entry_id)
    if not found:
        raise ReadbenchError(
            f"no window {entry_id} in {release}: `readbench audit --dataset NAME` lists examples; --release selects "
            "another release"
        )
    if len(found) > 1:
        raise ReadbenchError(f"{entry_id} matches several windows: give more digits")
    return found[0]


def explain(
    release: Path, entry_id: str, store: Store | None = None, values: bool = False
) -> tuple[EntryFacts, Trace | None]:
    """Return the facts about a window, and its trace.

    ``store``: the data root with the lanes, which have the raw labels of every step. Without the lane of this release
    the trace is None. ``values``: whether the trace includes the window's values.
    """
    row = find(release, entry_id)
    manifest = read_manifest(release)
    dataset = manifest.built[row.dataset]
    with lane_files(store, row.dataset):
        found = None if store is None else trace(store, manifest, row, values)
    votes = sorted(row.votes or (), key=lambda v: (-v.count, v.code))
    merged: dict[str, int] = {}
    for vote in votes:
        merged[vote.class_label] = merged.get(vote.class_label, 0) + vote.count
    facts = EntryFacts(
        row=row,
        release=manifest.version,
        seed=manifest.seed,
        origin=dataset.origin,
        row_unit=dataset.row_unit,
        rule=dataset.rule.changed(name=row.rule),
        votes=tuple(votes),
        votes_by_class=merged,
        ending=Outcome(row.outcome).words,
        reason_in_words=explained(row.reason) if row.reason else None,
        side_because=_side(release, row, dataset),
        draw=_draw(release, row),
        label_track=None if found is None else found.strip(),
        evidence=None if found is None else found.kind,
        own_unit=None if found is None else found.own_unit,
        touched_channels=None if found is None else tuple(found.touched()),
    )
    return facts, found


def _peers(release: Path, row: AuditRow) -> pl.DataFrame:
    """The retained windows of the same class: unit, side, outcome, draw_rank."""
    return (
        pl.scan_parquet(release / layout.audit(row.dataset))
        .filter((pl.col("class_label") == row.class_label) & (pl.col("outcome") != Outcome.DROPPED))
        .select("unit", "side", "outcome", "draw_rank")
        .collect()
    )


def _side(release: Path, row: AuditRow, dataset: BuiltDataset) -> str | None:
    """Return why the window's unit is on its side; None if it has no side."""
    if row.side is None:
        return None
    if dataset.settings.native_split:
        own = f"{row.native_split} in the source" if row.native_split else "the source has no split for this window"
        return f"the source's own split is used if no unit crosses it and its train part has faults: {own}"
    share = dataset.settings.test_fraction
    part = "some" if share is None else f"about {share:.3g}"
    how = f"units are split stratified by class, {part} of the windows of each class to the query side"
    if row.class_label == NORMAL:
        return f"{how}; units without a fault go to the corpus side"
    units = _peers(release, row).group_by("unit").agg(pl.col("side").first())
    queries = units.filter(pl.col("side") == Side.QUERY).height
    if units.height == 1:
        return f"it is the only unit with {row.class_label}, and every class must be in the corpus"
    verb = "is" if queries == 1 else "are"
    return f"{how}; {queries} of the {units.height} units with {row.class_label} {verb} on the query side"


def _draw(release: Path, row: AuditRow) -> Draw | None:
    if row.draw_rank is None:
        return None
    same = _peers(release, row).filter((pl.col("side") == row.side) & pl.col("draw_rank").is_not_null())
    drawn = same.filter(pl.col("outcome").is_in(SELECTED)).height
    return Draw(rank=row.draw_rank, of=same.height, drawn=drawn)


def describe_entry(release: Path, entry_id: str, store: Store | None = None) -> str:
    """Return one screen of text about one window."""
    return entry_text(explain(release, entry_id, store)[0])


def _time(row: AuditRow) -> str:
    """Return the start and stop time of the window."""
    return f"{row.time_start} to {row.time_stop} (half-open)" if row.time_start else "-"


def entry_text(facts: EntryFacts) -> str:
    """Return the facts of :func:`explain` as text, on one screen."""
    row, ending = facts.row, facts.ending
    if row.reason:
        ending += f" ({row.reason}: {facts.reason_in_words})"
    miniature = " (MINIATURE: a generated stand-in, not READ-Bench)" if facts.origin == OriginKind.MINIATURE else ""
    rows = f"{row.row_start:,} to {row.row_stop:,} (half-open)"
    if (row.context_start, row.context_stop) != (row.row_start, row.row_stop):
        rows += f"; to re-derive read {row.context_start:,} to {row.context_stop:,}"
    if facts.row_unit != "row":
        rows += f"; a row is a {facts.row_unit}"
    filled = f"{100 * row.filled_fraction:.2f} % of its cells; sentinels masked: {row.sentinel_count}"
    if facts.touched_channels:
        filled = ("\n" + " " * 14).join([filled, *_touched(facts.touched_channels)])
    lines = [
        f"window {row.entry_id} of {row.dataset}, release {facts.release}{miniature}",
        "",
        f"class         {row.class_label or '-'}",
        f"outcome       {ending}",
        "",
        f"source file   {row.source_file}  (sha256 {row.source_sha256})",
        f"recording     {row.recording_id}",
        f"rows          {rows}",
        f"time          {_time(row)}",
        f"filled        {filled}",
        "",
        f"label track   {facts.label_track or 'not available: the lane of this release is not in the data root'}",
        f"rule          {facts.rule.name}, {_parameters(facts.rule)}",
        "votes         " + (_votes(facts.votes) if facts.votes else "none"),
    ]
    if len(facts.votes_by_class) < len(facts.votes):
        lines.append("merged        " + ", ".join(f"{n:,} {c}" for c, n in facts.votes_by_class.items()))
    if row.majority_share is not None:
        lines.append(f"share         {100 * row.majority_share:.1f} % of the votes")
    if row.event_id:
        lines.append(f"event         {row.event_id}, {100 * (row.event_coverage or 0):.1f} % of it inside")
    joined = ""
    if facts.own_unit not in (None, row.unit):
        joined = f" ({facts.own_unit}, joined because they share an identical window)"
    lines += ["", f"unit          {row.unit}{joined}"]
    lines.append(f"side          {row.side or '-'}" + (f": {facts.side_because}" if facts.side_because else ""))
    if facts.draw:
        lines.append(
            f"draw          number {facts.draw.rank:,} of {facts.draw.of:,} {row.side}-side windows of its class in "
            f"seeded order; the first {facts.draw.drawn:,} were drawn (seed {facts.seed})"
        )
    if row.pollution is not None:
        lines.append(f"pollution     in the corpora from {row.pollution} % Normal on")
    if row.duplicate_of:
        lines.append(f"same as       {row.duplicate_of}")
    return "\n".join(lines)


def _touched(channels: Sequence[TouchedChannel], groups: int = 3, names: int = 4) -> list[str]:
    """Return lines about the channels with filled or masked cells, grouped by equal counts."""
    alike: dict[tuple[int, int], list[str]] = {}
    for one in channels:
        alike.setdefault((one.filled, one.masked), []).append(one.channel)
    lines = []
    for (filled, masked), own in list(alike.items())[:groups]:
        sentinels = f", {masked if masked < filled else 'all'} of them sentinels" if masked else ""
        summary = f"{counted(filled, 'step')}{sentinels}"
        more = f" and {len(own) - names} more" if len(own) > names else ""
        lines.append(f"in {summary}: {', '.join(own[:names])}{more}")
    left = sum(len(own) for own in list(alike.values())[groups:])
    return [*lines, f"in fewer steps: {counted(left, 'more channel')}"] if left else lines


def _parameters(rule: RuleSettings) -> str:
    parts = [f"normal_purity {rule.normal_purity:g}"]
    if rule.name == "short_fault":
        parts.insert(0, f"coverage over {rule.coverage:g}")
    return ", ".join(parts)


def _votes(votes: Sequence[Vote]) -> str:
    total = sum(v.count for v in votes)
    parts = [f"{v.count:>6} {100 * v.count / total:>5.1f} %  {v.code:<14} {v.class_label}" for v in votes]
    return ("\n" + " " * 14).join(parts)
