"""The difference between two releases, as data and as text; ``diff`` computes it."""

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
"""``moved``: to another side or pollution level. ``redescribed``: another column, such as extras."""


@dataclass(frozen=True)
class DatasetDiff:
    """One dataset. ``changes``: one row per changed entry and kind of change, with ``entry_id, change,
    class_before, class_after, set_before, set_after, why`` (the outcome of the entry in the release that does not
    publish it). ``relabelled_unpublished``: windows that neither release publishes and whose class differs.
    ``causes``: one line per setting, source file or status that differs. ``before`` and ``after``: its status in each
    release; ``reason``: why one release has no data of it (None if that release gives no reason)."""

    dataset: str
    before: str
    after: str
    changes: pl.DataFrame
    relabelled_unpublished: int
    causes: tuple[str, ...]
    reason: str | None = None

    @property
    def only_in(self) -> Literal["A", "B"] | None:
        """The only release that has the dataset, ``A`` (before) or ``B`` (after); None if both or neither have it."""
        had, has = self.before == LaneStatus.OK, self.after == LaneStatus.OK
        return None if had == has else "A" if had else "B"

    def lone_words(self) -> str:
        """Return one line about a dataset that only one release has: its entries, and why the other has none."""
        other, status = ("B", self.after) if self.only_in == "A" else ("A", self.before)
        reason = f" ({self.reason})" if self.reason else ""
        entries = counted(self.changes.height, "entry", "entries")
        return f"{self.dataset}: only in {self.only_in} ({entries}); {status.replace('_', ' ')} in {other}{reason}"

    def counts(self) -> dict[str, int]:
        """Return the number of changed entries of every kind, also if it is 0."""
        found = dict(self.changes.group_by("change").len().iter_rows())
        return {kind: found.get(kind, 0) for kind in KINDS}

    def by_class(self) -> list[tuple[str, str, int]]:
        """Return (kind, class, number of entries); the class is ``a -> b`` for relabelled entries and has the sets for
        moved ones. Empty if only one release has the dataset: all its entries were added or removed with it."""
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
        """Return the number of added or removed entries by their outcome in the other release's audit table."""
        rows = self.changes.drop_nulls("why").group_by("change", "why").len().sort("change", "len", "why")
        return {f"{change}: {why}": n for change, why, n in rows.iter_rows()}


@dataclass(frozen=True)
class ReleaseDiff:
    """Two releases. ``causes``: differences that affect all datasets; ``files``: paths of files that differ or that
    only one release has."""

    before: str
    after: str
    datasets: tuple[DatasetDiff, ...]
    causes: tuple[str, ...]
    files: tuple[str, ...]

    @cached_property
    def total(self) -> dict[str, int]:
        """The number of changed entries by kind, over all datasets."""
        counts = [d.counts() for d in self.datasets]
        return {kind: sum(c[kind] for c in counts) for kind in KINDS}

    def proposed_bump(self) -> Bump | None:
        """Return the version step. Labels, values or windows changed: major. Entries or datasets added: minor. Anything
        else: patch. None if the releases differ only in their version."""
        unpublished = sum(d.relabelled_unpublished for d in self.datasets)
        if unpublished or any(self.total[k] for k in (REMOVED, RELABELLED, REVALUED, MOVED)):
            return "major"
        if self.total[ADDED]:
            return "minor"
        return "patch" if self.files or self.causes else None

    def changed(self) -> list[DatasetDiff]:
        """Return the datasets with a difference."""
        return [d for d in self.datasets if d.changes.height or d.relabelled_unpublished or d.causes]

    def lone(self) -> list[DatasetDiff]:
        """Return the datasets that only one of the two releases has."""
        return [d for d in self.datasets if d.only_in]

    def words(self) -> str:
        """Return the report as text: one line per dataset that only one release has, then every other dataset that
        differs, with its classes and causes."""
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
        lines.append(f"proposed version step: {bump}" if bump else "the two releases are identical")
        return "\n".join(lines)

    def total_changed(self) -> int:
        """Return the number of changed entries of all kinds."""
        return sum(self.total.values())

    def to_json(self, entries: bool = True) -> JsonObject:
        """Return the difference as plain data, with ``entries`` also every changed entry."""
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
