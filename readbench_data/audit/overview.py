"""Counts of how a dataset's windows became entries, as plain data and as text."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from readbench_data.audit.channels import channel_tally, tally_lines
from readbench_data.audit.lane_files import lane_files
from readbench_data.dataset.files import OriginKind
from readbench_data.entry import NORMAL
from readbench_data.leakage.facts import is_current
from readbench_data.pages.wording import counted
from readbench_data.release.reading import read_audit, read_manifest
from readbench_data.store.records import JsonObject, Record
from readbench_data.store.store import Store
from readbench_data.windows.outcomes import Outcome, explained

OUTCOMES = (Outcome.DROPPED, Outcome.POOL, Outcome.CORPUS, Outcome.QUERY)


class ReasonCount(Record):
    """The number of windows with one outcome and reason."""

    outcome: str
    reason: str
    windows: int


class ClassCount(Record):
    """The number of retained windows of a class: in the pool, in the corpus and as queries; their units; an example."""

    class_label: str
    pool: int
    corpus: int
    queries: int
    units: int
    example: str


class Overview(Record):
    """Numbers of windows by outcome, reason and class. ``channels``: rows of ``channels.channel_tally``."""

    dataset: str
    release: str
    origin: OriginKind | None
    considered: int
    outcomes: dict[str, int]
    reasons: tuple[ReasonCount, ...]
    classes: tuple[ClassCount, ...]
    channels: tuple[JsonObject, ...] | None


def overview(release: Path, dataset: str, store: Store | None = None) -> Overview:
    """Return the number of windows by outcome, reason and class, and the per-channel counts of missing values.

    ``store``: a data root; ``channels`` is None unless it has the lane of this release. Raises ``ReadbenchError`` if
    the release has no such dataset.
    """
    rows = read_audit(release, dataset, ["entry_id", "class_label", "outcome", "reason", "unit"])
    kept = rows.filter(pl.col("outcome") != Outcome.DROPPED)
    classes = []
    for (label,), part in sorted(kept.group_by("class_label"), key=lambda g: (g[0][0] == NORMAL, str(g[0][0]))):
        drawn = {o: part.filter(pl.col("outcome") == o) for o in (Outcome.CORPUS, Outcome.QUERY)}
        classes.append(
            ClassCount(
                class_label=label,
                pool=part.height,
                corpus=drawn[Outcome.CORPUS].height,
                queries=drawn[Outcome.QUERY].height,
                units=part["unit"].n_unique(),
                example=next((d["entry_id"][0] for d in drawn.values() if d.height), part["entry_id"][0]),
            )
        )
    reasons = rows.drop_nulls("reason").group_by("outcome", "reason").len().sort("len", "reason", descending=True)
    manifest = read_manifest(release)
    here = store is not None and is_current(store, manifest, dataset)
    with lane_files(store, dataset):
        tally = channel_tally(store, dataset) if here and store is not None else None
    return Overview(
        dataset=dataset,
        release=manifest.version,
        origin=manifest.datasets[dataset].origin,
        considered=rows.height,
        outcomes={o.value: rows.filter(pl.col("outcome") == o).height for o in OUTCOMES},
        reasons=tuple(ReasonCount(outcome=o, reason=r, windows=n) for o, r, n in reasons.iter_rows()),
        classes=tuple(classes),
        channels=None if tally is None else tuple(tally.to_dicts()),
    )


def describe_dataset(release: Path, dataset: str, store: Store | None = None) -> str:
    """Return the counts of :func:`overview` as text."""
    return overview_text(overview(release, dataset, store))


def overview_text(facts: Overview) -> str:
    """Return the counts of :func:`overview` as text, on about one screen."""
    lines = [f"{facts.dataset}: {counted(facts.considered, 'window')} considered", ""]
    for outcome in OUTCOMES:
        lines.append(f"{outcome:10}{facts.outcomes[outcome]:>10,}")
        for row in facts.reasons:
            if row.outcome == outcome:
                lines.append(f"{'':10}{row.windows:>10,}  {row.reason}: {explained(row.reason)}")
    lines += ["", f"{'class':34}{'pool':>9}{'corpus':>9}{'queries':>9}{'units':>7}  for example"]
    for one in facts.classes:
        counts = f"{one.pool:>9,}{one.corpus:>9,}{one.queries:>9,}{one.units:>7,}"
        lines.append(f"{one.class_label[:33]:34}{counts}  {one.example}")
    channels = [] if not facts.channels else tally_lines(pl.DataFrame(list(facts.channels)))
    return "\n".join([*lines, "", *channels] if channels else lines)
