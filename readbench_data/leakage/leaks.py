"""Leaks: information in the corpus that answers a query without any similarity search.

Every check reports a count and examples. Blocking checks stop a build: a unit on both sides, the same values twice
among the selected windows, rows of an original file that a query and a corpus entry share. Advisory checks are
reported only: equal values after z-normalisation (they differ by a gain and an offset), near duplicates (they differ
by a shift; see ``shifted_copies``), overlapping windows on one side, series that occur in several files or recordings,
recordings of one unit that overlap in time. Hashes come from the window index; the values of the selected windows are
read to find near duplicates.

A new check is a function that returns a :class:`Finding`, a line in ``KINDS``, and a call in :func:`find_leaks`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from readbench_data.leakage.facts import Facts, Schema
from readbench_data.leakage.shifted_copies import shifted_copies
from readbench_data.windows.outcomes import SELECTED, Outcome, Reason

EXAMPLES = 5
KINDS: dict[str, tuple[bool, str]] = {
    "unit_on_both_sides": (True, "units with selected windows on both sides"),
    "duplicate_across": (True, "queries whose values are also in the corpus"),
    "duplicate_within": (True, "selected windows that repeat the values of another one on their side"),
    "overlap_across": (True, "queries that share rows of the original with a corpus entry"),
    "same_shape_across": (False, "queries that equal a corpus entry after z-normalisation"),
    "same_shape_within": (False, "selected windows that equal another one on their side after z-normalisation"),
    "near_duplicate_across": (False, "queries that correlate with a corpus entry as strongly as a shifted copy"),
    "near_duplicate_within": (
        False,
        "selected windows that correlate so with another one on their side",
    ),
    "overlap_within": (False, "selected windows that share rows of the original with another one on their side"),
    "duplicate_kept_once": (False, "windows that repeat another one of their class: only the first can be selected"),
    "conflicting_duplicate": (False, "windows dropped because an identical one has another class"),
    "units_joined": (False, "units joined with another one because they share an identical window"),
    "shared_between_recordings": (False, "pairs of source files that contain identical windows"),
    "overlap_in_time": (False, "recordings that overlap in time with another one of their unit"),
}
"""Kind of finding -> whether it is blocking, and what is counted."""

NEAR: Schema = {
    "first": pl.String,
    "second": pl.String,
    "first_outcome": pl.String,
    "second_outcome": pl.String,
    "first_class": pl.String,
    "second_class": pl.String,
    "correlation": pl.Float64,
    "shift": pl.Int64,
    "same_shape": pl.Boolean,
    "shared_rows": pl.Int64,
}
"""Pairs of near duplicates, a query always first: step t of ``second`` is step t + ``shift`` of ``first``;
``same_shape``: equal after z-normalisation; ``shared_rows``: rows of the original that both have."""


@dataclass(frozen=True)
class Finding:
    """The result of one check: ``count`` of ``what``, with ``examples`` as text."""

    kind: str
    count: int
    examples: tuple[str, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether a finding of this kind stops a build."""
        return KINDS[self.kind][0]

    @property
    def what(self) -> str:
        """What is counted."""
        return KINDS[self.kind][1]


@dataclass(frozen=True)
class LeakReport:
    """All findings of a dataset, one per kind, in the order of ``KINDS``. ``near``: all pairs of near duplicates (the
    columns ``NEAR``), also those that a hash finds or that share rows."""

    dataset: str
    findings: tuple[Finding, ...] = field(default=())
    near: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NEAR))

    @property
    def breaches(self) -> list[Finding]:
        """The blocking findings with a count."""
        return [f for f in self.findings if f.blocking and f.count]

    def __getitem__(self, kind: str) -> Finding:
        return next(f for f in self.findings if f.kind == kind)

    def counts(self) -> dict[str, int]:
        """Count by kind."""
        return {f.kind: f.count for f in self.findings}


def find_leaks(facts: Facts) -> LeakReport:
    """Run every check on the windows of a dataset."""
    frame = facts.windows
    drawn = facts.only(frame["outcome"].is_in(SELECTED))
    near = near_pairs(facts)
    found = (
        _units(drawn.windows),
        _across("duplicate_across", drawn.windows, "content_hash"),
        _within("duplicate_within", drawn.windows, "content_hash"),
        *_overlaps(drawn.windows),
        _across("same_shape_across", _moving(drawn.windows), "shape_hash"),
        _within("same_shape_within", _moving(drawn.windows), "shape_hash"),
        *_near(near),
        *_decided_before(frame),
        _shared(frame),
        _overlap_in_time(frame),
    )
    order = {kind: number for number, kind in enumerate(KINDS)}
    return LeakReport(facts.dataset, tuple(sorted(found, key=lambda f: order[f.kind])), near)


def _units(drawn: pl.DataFrame) -> Finding:
    both = drawn.group_by("unit").agg(pl.col("outcome").n_unique()).filter(pl.col("outcome") > 1)["unit"].sort()
    return Finding("unit_on_both_sides", len(both), tuple(both.head(EXAMPLES)))


def _across(kind: str, drawn: pl.DataFrame, column: str) -> Finding:
    """Queries with a corpus entry of equal ``column``. For other columns than the content hash, only pairs of different
    content count: equal content is a finding of its own."""
    hashed = drawn.filter(pl.col(column).is_not_null())
    corpus = hashed.filter(pl.col("outcome") == Outcome.CORPUS).select(column, other="entry_id", content="content_hash")
    pairs = hashed.filter(pl.col("outcome") == Outcome.QUERY).join(corpus, on=column)
    if column != "content_hash":
        pairs = pairs.filter(pl.col("content") != pl.col("content_hash"))
    pairs = pairs.sort("entry_id", "other").unique("entry_id", keep="first", maintain_order=True)
    words = [f"query {a} and corpus entry {b}" for a, b in pairs.select("entry_id", "other").head(EXAMPLES).rows()]
    return Finding(kind, pairs.height, tuple(words))


def _within(kind: str, drawn: pl.DataFrame, column: str) -> Finding:
    hashed = drawn.filter(pl.col(column).is_not_null()).sort("entry_id")
    first = pl.col("entry_id").first().over("outcome", column)
    again = hashed.with_columns(first=first).filter(pl.col("first") != pl.col("entry_id"))
    if column != "content_hash":
        firsts = hashed.select(first="entry_id", content="content_hash")
        again = again.join(firsts, on="first").filter(pl.col("content") != pl.col("content_hash"))
    words = [f"{a} and {b}, both {o}" for a, b, o in again.select("first", "entry_id", "outcome").head(EXAMPLES).rows()]
    return Finding(kind, again.height, tuple(words))


def _moving(frame: pl.DataFrame) -> pl.DataFrame:
    """Windows in which a channel changes: all constant windows have the same shape hash."""
    constant = pl.Series(
        [
            mask is None or int.from_bytes(bytes.fromhex(mask), "little").bit_count() == width
            for mask, width in frame.select("constant_mask", pl.col("channels").list.len()).rows()
        ],
        dtype=pl.Boolean,
    )
    return frame.filter(~constant)


def _overlaps(drawn: pl.DataFrame) -> tuple[Finding, Finding]:
    """Selected windows of one recording that share original rows, across the two sides and within one side."""
    across: list[tuple[str, str]] = []
    within: list[tuple[str, str]] = []
    for _, part in drawn.sort("row_start", "entry_id").group_by("source_file", "recording_id", maintain_order=True):
        rows = part.select("entry_id", "outcome", "row_start", "row_stop").rows()
        open_windows: list[tuple[str, str, int]] = []
        for name, outcome, start, stop in rows:
            open_windows = [w for w in open_windows if w[2] > start]
            for other, other_outcome, _ in open_windows:
                (within if other_outcome == outcome else across).append((other, name))
            open_windows.append((name, outcome, stop))
    queries = set(drawn.filter(pl.col("outcome") == Outcome.QUERY)["entry_id"])
    shared = {name for pair in across for name in pair if name in queries}
    later = {name for _, name in within}
    words = [tuple(f"{a} and {b}" for a, b in pairs[:EXAMPLES]) for pairs in (across, within)]
    return Finding("overlap_across", len(shared), words[0]), Finding("overlap_within", len(later), words[1])


def near_pairs(facts: Facts) -> pl.DataFrame:
    """Return every pair of near duplicates among selected windows of one shape, with the columns ``NEAR``."""
    drawn = facts.windows.filter(pl.col("outcome").is_in(SELECTED))
    frame = drawn.sort(pl.col("outcome") != Outcome.QUERY, "entry_id")
    values = facts.selected_values
    shapes: dict[tuple[int, ...], list[int]] = {}
    for at, name in enumerate(frame["entry_id"]):
        if name in values:
            shapes.setdefault(values[name].shape, []).append(at)
    found = []
    for members in shapes.values():
        place = np.array(members)
        names = frame["entry_id"][members]
        pairs = shifted_copies(np.stack([values[name] for name in names]))
        columns = {"correlation": pairs.correlation, "shift": pairs.shift}
        found.append(pl.DataFrame({"a": place[pairs.first], "b": place[pairs.second], **columns}))
    if not found:
        return pl.DataFrame(schema=NEAR)
    every, known = pl.concat(found), frame.with_row_index("a").with_columns(pl.col("a").cast(pl.Int64))
    columns_of = ["a", "entry_id", "outcome", "class_label", "shape_hash", "source_file", "recording_id"]
    own = known.select(*columns_of, "row_start", "row_stop")
    joined = every.join(own, on="a").join(own.rename({"a": "b"}), on="b", suffix="_b")
    one = (pl.col("source_file") == pl.col("source_file_b")) & (pl.col("recording_id") == pl.col("recording_id_b"))
    common = pl.min_horizontal("row_stop", "row_stop_b") - pl.max_horizontal("row_start", "row_start_b")
    return (
        joined.with_columns(
            same_shape=(pl.col("shape_hash") == pl.col("shape_hash_b")).fill_null(False),
            shared_rows=pl.when(one).then(common.clip(0)).otherwise(0).fill_null(0).cast(pl.Int64),
        )
        .sort("a", "b")
        .rename(
            {
                **{"entry_id": "first", "outcome": "first_outcome", "class_label": "first_class"},
                **{"entry_id_b": "second", "outcome_b": "second_outcome", "class_label_b": "second_class"},
            }
        )
        .select(pl.col(name).cast(kind) for name, kind in NEAR.items())
    )


def _near(pairs: pl.DataFrame) -> tuple[Finding, Finding]:
    """Near duplicates that are not found by a hash; within a side only those that share no rows, which are a finding of
    their own."""
    across = pl.col("first_outcome") != pl.col("second_outcome")
    rest = pairs.filter(~pl.col("same_shape")).sort(-pl.col("correlation"), "first", "second")
    found = []
    for kind, chosen, window in (
        ("near_duplicate_across", across, "first"),
        ("near_duplicate_within", ~across & (pl.col("shared_rows") == 0), "second"),
    ):
        own = rest.filter(chosen).unique(window, keep="first", maintain_order=True).sort(window)
        words = [
            (f"query {a} and corpus entry {b}" if across_sides else f"{a} and {b}, both {outcome}")
            + f": correlation {value:.5f} at a shift of {shift}"
            for across_sides, (a, b, outcome, value, shift) in zip(
                own.select(across).to_series(),
                own.select("first", "second", "first_outcome", "correlation", "shift").rows(),
                strict=True,
            )
        ]
        found.append(Finding(kind, own.height, tuple(words[:EXAMPLES])))
    return found[0], found[1]


def _decided_before(frame: pl.DataFrame) -> tuple[Finding, Finding, Finding]:
    """What the split did about identical windows, from the audit table."""
    repeated = frame.filter(pl.col("duplicate_of").is_not_null() & (pl.col("outcome") != Outcome.DROPPED))
    conflict = frame.filter(pl.col("reason") == Reason.CONFLICTING_DUPLICATE)
    joined = frame.filter(pl.col("own_unit") != pl.col("unit")).select("own_unit", "unit").unique().sort("own_unit")
    return (
        Finding(
            "duplicate_kept_once",
            repeated.height,
            tuple(f"{a} repeats {b}" for a, b in repeated.select("entry_id", "duplicate_of").head(EXAMPLES).rows()),
        ),
        Finding(
            "conflicting_duplicate",
            conflict.height,
            tuple(f"{a} ({b})" for a, b in conflict.select("entry_id", "class_label").head(EXAMPLES).rows()),
        ),
        Finding("units_joined", joined.height, tuple(f"{a} with {b}" for a, b in joined.head(EXAMPLES).rows())),
    )


def _shared(frame: pl.DataFrame) -> Finding:
    """Pairs of source files with identical windows, and in how many of these windows the classes differ."""
    kept = frame.filter(pl.col("content_hash").is_not_null())
    repeated = kept.filter(pl.len().over("content_hash") > 1).select("content_hash", "source_file", "class_label")
    one = repeated.group_by("content_hash", "source_file").agg(pl.col("class_label").unique().sort())
    pairs = one.join(one, on="content_hash", suffix="_other").filter(
        pl.col("source_file") < pl.col("source_file_other")
    )
    counted = (
        pairs.with_columns(differ=pl.col("class_label").list.join("\0") != pl.col("class_label_other").list.join("\0"))
        .group_by("source_file", "source_file_other")
        .agg(pl.len().alias("n"), pl.col("differ").sum())
        .sort("n", "source_file", "source_file_other", descending=[True, False, False])
    )
    words = [
        f"{a} and {b}: {n:,} identical windows" + (f", {d:,} of them of different classes" if d else "")
        for a, b, n, d in counted.head(4 * EXAMPLES).rows()
    ]
    return Finding("shared_between_recordings", counted.height, tuple(words))


def _overlap_in_time(frame: pl.DataFrame) -> Finding:
    """Recordings of one unit whose windows overlap in time, where times are dates.

    A recording reaches from the start of its first window to the (exclusive) stop of its last one: steps after the
    last window are not in the index.
    """
    dated = frame.filter(pl.col("time_start").str.contains("T"))
    spans = (
        dated.group_by("own_unit", "recording_id")
        .agg(pl.col("time_start").min(), pl.col("time_stop").max())
        .sort("own_unit", "time_start", "recording_id")
    )
    words, before = [], None
    for unit, recording, start, stop in spans.iter_rows():
        if before is not None and before[0] == unit and start < before[2]:
            words.append(
                f"{unit}: {recording} starts at {start}, before the last window of {before[1]} stops at {before[2]}"
            )
        if before is None or before[0] != unit or stop > before[2]:
            before = (unit, recording, stop)
    return Finding("overlap_in_time", len(words), tuple(words[:EXAMPLES]))
