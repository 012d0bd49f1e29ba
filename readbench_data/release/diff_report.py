"""The difference of two releases as data and in words; ``diff`` finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import polars as pl

from readbench_data.dataset.status import LaneStatus
from readbench_data.pages.wording import counted
from readbench_data.store.records import JsonObject

Bump = Literal["major", "minor", "patch"]

ADDED, REMOVED, RELABELLED, REVALUED, MOVED, REDESCRIBED = KINDS = (
    "added",
    "removed",
    "relabelled",
    "revalued",
    "moved",
    "redescribed",
)
"""``moved``: to another side or pollution level. ``redescribed``: another column, such as rca_target or extras."""


@dataclass(frozen=True)
class DatasetDiff:
    """One dataset. ``changes``: one row a changed entry and kind of change, with ``entry_id, change,
    class_before, class_after, set_before, set_after, why`` (what the other release says of an entry it does not
    publish). ``relabelled_unpublished``: windows published in neither whose class or reason to be dropped differs.
    ``causes``: settings, sources and status that differ, in words. ``before`` and ``after`` are its status in
    either, ``reason`` what the release without it says of that (None where it says no more)."""

    dataset: str
    before: str
    after: str
    changes: pl.DataFrame
    relabelled_unpublished: int
    causes: tuple[str, ...]
    reason: str | None = None

    @property
    def only_in(self) -> Literal["A", "B"] | None:
        """The one release that has the dataset: ``A`` is the one before, ``B`` the one after."""
        had, has = self.before == LaneStatus.OK, self.after == LaneStatus.OK
        return None if had == has else "A" if had else "B"

    def lone_words(self) -> str:
        """One line about a dataset that one release only has: how many entries, and why the other has none."""
        other, status = ("B", self.after) if self.only_in == "A" else ("A", self.before)
        reason = f" ({self.reason})" if self.reason else ""
        entries = counted(self.changes.height, "entry", "entries")
        return f"{self.dataset}: only in {self.only_in} ({entries}); {status.replace('_', ' ')} in {other}{reason}"

    def counts(self) -> dict[str, int]:
        """Changed entries by kind; every kind is there."""
        found = dict(self.changes.group_by("change").len().iter_rows())
        return {kind: found.get(kind, 0) for kind in KINDS}

    def by_class(self) -> list[tuple[str, str, int]]:
        """(kind, class, number): ``a -> b`` for a relabelled entry, and the sets for a moved one. Nothing where one
        release only has the dataset: all its entries came or went with it."""
        if self.only_in:
            return []
        name = pl.coalesce("class_after", "class_before")
        described = (
            pl.when(pl.col("change") == RELABELLED)
            .then(pl.format("{} -> {}", pl.col("class_before").fill_null("-"), pl.col("class_after").fill_null("-")))
            .when(pl.col("change") == MOVED)
            .then(pl.format("{} ({} -> {})", name, "set_before", "set_after"))
            .otherwise(name)
        )
        rows = self.changes.select("change", described=described).group_by("change", "described").len()
        order = {kind: i for i, kind in enumerate(KINDS)}
        return sorted(rows.iter_rows(), key=lambda r: (order[r[0]], r[1]))

    def whys(self) -> dict[str, int]:
        """Why entries came or went, as the other release's audit table has it."""
        rows = self.changes.drop_nulls("why").group_by("change", "why").len().sort("change", "len", "why")
        return {f"{change}: {why}": n for change, why, n in rows.iter_rows()}


@dataclass(frozen=True)
class ReleaseDiff:
    """Two releases. ``causes``: what differs for all datasets; ``files``: paths whose bytes differ or that are in
    one only."""

    before: str
    after: str
    datasets: tuple[DatasetDiff, ...]
    causes: tuple[str, ...]
    files: tuple[str, ...]

    @cached_property
    def total(self) -> dict[str, int]:
        """Changed entries by kind, over all datasets."""
        counts = [d.counts() for d in self.datasets]
        return {kind: sum(c[kind] for c in counts) for kind in KINDS}

    def proposed_bump(self) -> Bump | None:
        """Labels, values or windows changed: major. Entries or datasets added: minor. Anything else: patch.
        None where every byte but the version is the same."""
        unpublished = sum(d.relabelled_unpublished for d in self.datasets)
        if unpublished or any(self.total[k] for k in (REMOVED, RELABELLED, REVALUED, MOVED)):
            return "major"
        if self.total[ADDED]:
            return "minor"
        return "patch" if self.files or self.causes else None

    def changed(self) -> list[DatasetDiff]:
        """Datasets in which anything differs."""
        return [d for d in self.datasets if d.changes.height or d.relabelled_unpublished or d.causes]

    def lone(self) -> list[DatasetDiff]:
        """Datasets that one of the two only has."""
        return [d for d in self.datasets if d.only_in]

    def words(self) -> str:
        """Plain text: a line for each dataset that one release only has; then one for each other dataset that differs,
        its classes and causes below it."""
        lone = self.lone()
        names = (f"{self.before} (A)", f"{self.after} (B)") if lone else (self.before, self.after)
        lines = [f"from {names[0]} to {names[1]}: " + (_total(self.total) or "no entry differs")]
        lines += [f"  because: {cause}" for cause in self.causes]
        lines += ["", *(dataset.lone_words() for dataset in lone)] if lone else []
        for dataset in self.changed():
            if dataset.only_in:
                continue
            lines += ["", f"{dataset.dataset}: " + (_total(dataset.counts()) or "no entry differs")]
            lines += [f"  {kind:12}{n:>7,}  {name}" for kind, name, n in dataset.by_class()]
            if n := dataset.relabelled_unpublished:
                lines.append(f"  {'relabelled':12}{n:>7,}  {'window' if n == 1 else 'windows'} published in neither")
            lines += [f"  {n:>7,} {why}" for why, n in dataset.whys().items()]
            lines += [f"  because: {cause}" for cause in dataset.causes]
        if not self.total_changed() and self.files:
            lines.append("files that differ: " + ", ".join(self.files[:8]) + (" ..." if len(self.files) > 8 else ""))
        lines.append("")
        bump = self.proposed_bump()
        lines.append(f"proposed step of the version: {bump}" if bump else "the two hold the same")
        return "\n".join(lines)

    def total_changed(self) -> int:
        """Changed entries of all kinds."""
        return sum(self.total.values())

    def to_json(self, entries: bool = True) -> JsonObject:
        """Plain data; ``entries`` also lists every changed entry."""
        return {
            "before": self.before,
            "after": self.after,
            "proposed_bump": self.proposed_bump(),
            "total": self.total,
            "causes": list(self.causes),
            "files": list(self.files),
            "datasets": {
                d.dataset: {
                    "status": [d.before, d.after],
                    "only_in": d.only_in,
                    "reason": d.reason,
                    "counts": d.counts(),
                    "by_class": [{"change": k, "class": c, "entries": n} for k, c, n in d.by_class()],
                    "why": d.whys(),
                    "relabelled_unpublished": d.relabelled_unpublished,
                    "causes": list(d.causes),
                    **({"entries": d.changes.to_dicts()} if entries else {}),
                }
                for d in self.datasets
            },
        }


def _total(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {kind}" for kind, n in counts.items() if n)
