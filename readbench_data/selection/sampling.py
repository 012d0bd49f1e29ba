"""Sampling: which windows are selected as queries, as corpus anomalies, and as Normals for the three pollution levels.

``compose`` is a pure function of the labelled windows and the configuration, so the released queries and corpora can
be reproduced from a published pool and its audit table. Sampling is stratified by class (paper 3.2). Within a class,
windows are drawn in the order of a seeded hash of ``entry_id``: the rank of a window does not depend on the other
windows, and the corpora nest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from readbench_data.dataset.config import BenchmarkConfig, DatasetConfig
from readbench_data.entry import NORMAL
from readbench_data.selection.split import join_units, keyed, split_units
from readbench_data.windows.outcomes import Outcome, Reason, Side


@dataclass(frozen=True)
class Composition:
    """The result of sampling. ``windows``: one row per labelled window, in the order given, with ``unit`` (joined),
    ``side``, ``outcome``, ``reason``, ``pollution``, ``duplicate_of`` and ``draw_rank``. ``wanted``: number of Normals
    per level; ``shortfall``: how many of them are missing. ``without_query``: class -> why it has no query.
    """

    windows: pl.DataFrame
    wanted: dict[int, int]
    shortfall: dict[int, int]
    without_query: dict[str, str]


def normals_wanted(anomalies: int, rho: int) -> int:
    """Number of Normals that are ``rho`` percent of a corpus with ``anomalies`` other windows; halves round to even.

    Examples
    --------
    The sizes the paper prints for voraus, 587 and 660 of 528 anomalies:

    >>> 528 + normals_wanted(528, 10), 528 + normals_wanted(528, 20)
    (587, 660)
    """
    return round(anomalies * rho / (100 - rho))


def allocate(available: Mapping[str, int], cap: int, floors: Mapping[str, int]) -> dict[str, int]:
    """Return how many windows to draw per class: in proportion to ``available``, at most ``cap`` in total.

    Every class gets its minimum (``floors``) first. If the minimums do not fit into the cap, the largest classes get
    theirs and the others nothing. The rest goes to the largest remainders (ties: by name).

    Examples
    --------
    >>> allocate({"leak": 80, "blockage": 15, "rare": 1}, cap=20, floors={})
    {'leak': 16, 'blockage': 3, 'rare': 1}
    """
    if sum(available.values()) <= cap:
        return dict(available)
    given: dict[str, int] = dict.fromkeys(available, 0)
    room = cap
    for name in sorted(available, key=lambda c: (-available[c], c)):
        floor = min(floors.get(name, 1), available[name])
        if floor <= room:
            given[name] = floor
            room -= floor
    open_classes = [c for c in available if given[c] or not floors.get(c, 1)]
    total = sum(available[c] for c in open_classes)
    quota = {c: cap * available[c] / total for c in open_classes}
    while room > 0:
        short = [c for c in open_classes if given[c] < available[c]]
        if not short:
            break
        whole = {c: min(int(quota[c]), available[c]) - given[c] for c in short}
        if sum(max(w, 0) for w in whole.values()) <= room and any(w > 0 for w in whole.values()):
            for c, w in whole.items():
                given[c] += max(w, 0)
                room -= max(w, 0)
            continue
        neediest = max(sorted(short), key=lambda c: quota[c] - given[c])
        given[neediest] += 1
        room -= 1
    return given


def compose(windows: pl.DataFrame, config: BenchmarkConfig, dataset: DatasetConfig) -> Composition:
    """Split the windows by unit, then sample each side.

    ``windows``: labelled windows only, with ``entry_id, unit, native_split, class_label, content_hash``.
    """
    frame = _joined(_mark_duplicates(windows.select("entry_id", "unit", "native_split", "class_label", "content_hash")))
    usable = frame.filter(pl.col("reason").is_null())
    sides = split_units(
        _fault_counts(frame, usable), dataset.test_fraction, config.seed, _native_sides(usable, dataset)
    )
    frame = frame.with_columns(side=pl.col("unit").replace_strict(sides, default=None, return_dtype=pl.String))
    frame = frame.with_columns(
        key=pl.Series([keyed(config.seed, "draw", e) for e in frame["entry_id"]], dtype=pl.String),
        drawable=pl.col("reason").is_null() & pl.col("duplicate_of").is_null(),
    )
    frame = frame.with_columns(
        draw_rank=pl.when("drawable")
        .then(pl.col("key").rank("ordinal").over("side", "class_label", "drawable"))
        .cast(pl.Int64)
    )
    corpus_has = _counts(frame, Side.CORPUS)
    query_has = _counts(frame, Side.QUERY)
    floors = {c: dataset.min_same_class if c in query_has else 1 for c in corpus_has}
    corpus_draw = allocate(corpus_has, config.corpus_cap, floors)
    eligible = {c: n for c, n in query_has.items() if corpus_draw.get(c, 0) >= dataset.min_same_class}
    query_draw = allocate(eligible, config.query_cap, dict.fromkeys(eligible, 1))
    anomalies = sum(corpus_draw.values())
    levels = [rho for rho in config.pollution if rho > 0]
    wanted = {rho: normals_wanted(anomalies, rho) for rho in levels}
    normals = frame.filter(
        pl.col("drawable") & (pl.col("side") == Side.CORPUS) & (pl.col("class_label") == NORMAL)
    ).height
    frame = _decide(frame, corpus_draw, query_draw, wanted)
    without = {
        c: "all its windows are in corpus units"
        if c not in query_has
        else f"fewer than {dataset.min_same_class} corpus windows of its class"
        if c not in eligible
        else "the query cap left no room"
        for c in sorted(set(corpus_has) | set(query_has))
        if not query_draw.get(c)
    }
    return Composition(
        windows=frame.select("entry_id", "unit", "side", "outcome", "reason", "pollution", "duplicate_of", "draw_rank"),
        wanted=wanted,
        shortfall={rho: max(0, n - normals) for rho, n in wanted.items()},
        without_query=without,
    )


def _mark_duplicates(windows: pl.DataFrame) -> pl.DataFrame:
    """Mark windows of equal content: conflicting where their classes differ, else as copies of the first one."""
    same = pl.col("content_hash")
    first = pl.col("entry_id").min().over(same)
    return windows.with_columns(
        duplicate_of=pl.when(first != pl.col("entry_id")).then(first),
        reason=pl.when(pl.col("class_label").n_unique().over(same) > 1).then(pl.lit(Reason.CONFLICTING_DUPLICATE)),
    )


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Join units that share an identical window."""
    shared = (
        frame.group_by("content_hash")
        .agg(pl.col("unit").unique().sort())
        .filter(pl.col("unit").list.len() > 1)["unit"]
        .to_list()
    )
    joined = join_units(frame["unit"].unique().to_list(), shared)
    return frame.with_columns(unit=pl.col("unit").replace_strict(joined, return_dtype=pl.String))


def _fault_counts(frame: pl.DataFrame, usable: pl.DataFrame) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {unit: {} for unit in sorted(frame["unit"].unique().to_list())}
    faults = usable.filter(pl.col("class_label") != NORMAL).group_by("unit", "class_label").len()
    for unit, label, n in faults.sort("unit", "class_label").iter_rows():
        counts[unit][label] = n
    return counts


def _native_sides(usable: pl.DataFrame, dataset: DatasetConfig) -> dict[str, set[str]] | None:
    if not dataset.native_split:
        return None
    sides: dict[str, set[str]] = {}
    for unit, split in usable.group_by("unit", "native_split").len().select("unit", "native_split").iter_rows():
        sides.setdefault(unit, set()).add(split or "train")
    return sides


def _counts(frame: pl.DataFrame, side: Side) -> dict[str, int]:
    drawable = frame.filter(pl.col("drawable") & (pl.col("side") == side) & (pl.col("class_label") != NORMAL))
    return dict(drawable.group_by("class_label").len().sort("class_label").iter_rows())


def _decide(
    frame: pl.DataFrame,
    corpus_draw: Mapping[str, int],
    query_draw: Mapping[str, int],
    wanted: Mapping[int, int],
) -> pl.DataFrame:
    """Add the outcome of every window, the lowest pollution level it is in, and the reason if it is not selected."""
    label, rank = pl.col("class_label"), pl.col("draw_rank")
    normal, on_corpus = label == NORMAL, pl.col("side") == Side.CORPUS
    quota = (
        pl.when(normal)
        .then(pl.when(on_corpus).then(max(wanted.values(), default=0)).otherwise(0))
        .when(on_corpus)
        .then(label.replace_strict(dict(corpus_draw), default=0, return_dtype=pl.Int64))
        .otherwise(label.replace_strict(dict(query_draw), default=0, return_dtype=pl.Int64))
    )
    drawn = pl.col("drawable") & (rank <= quota)
    level = pl.lit(None, pl.Int64)
    for rho in sorted(wanted, reverse=True):
        level = pl.when(rank <= wanted[rho]).then(rho).otherwise(level)
    dropped = pl.col("reason").is_not_null()
    return frame.with_columns(
        outcome=pl.when(dropped)
        .then(pl.lit(Outcome.DROPPED))
        .when(drawn & on_corpus)
        .then(pl.lit(Outcome.CORPUS))
        .when(drawn)
        .then(pl.lit(Outcome.QUERY))
        .otherwise(pl.lit(Outcome.POOL)),
        pollution=pl.when(drawn & on_corpus).then(pl.when(normal).then(level).otherwise(0)).cast(pl.Int64),
        reason=pl.when(dropped)
        .then("reason")
        .when(pl.col("duplicate_of").is_not_null())
        .then(pl.lit(Reason.DUPLICATE))
        .when(drawn)
        .then(None)
        .when(normal & ~on_corpus)
        .then(pl.lit(Reason.NORMAL_ON_QUERY_SIDE))
        .when(normal)
        .then(pl.lit(Reason.NORMAL_NOT_DRAWN))
        .when(quota == 0)
        .then(pl.lit(Reason.CLASS_NOT_DRAWN))
        .otherwise(pl.lit(Reason.OVER_CAP)),
    )
