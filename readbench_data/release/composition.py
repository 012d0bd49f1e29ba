"""``composition.json``: the sizes of each dataset of a release, next to the row that the paper prints."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from pydantic import Field

from readbench_data.dataset.files import OriginKind
from readbench_data.dataset.source import Printed
from readbench_data.dataset.status import LaneStatus
from readbench_data.release.manifest import DatasetEntry
from readbench_data.store.records import Number, Record

COLUMNS = ("C", "T", "classes", "corpus", "queries", "rel/q", "imbalance")


class SizeRow(Record):
    """Sizes of a dataset: channels and timesteps of its windows (a range if they differ), number of fault classes,
    corpus entries at each pollution level, queries. :func:`compose_row` defines the last two fields."""

    C: str | None
    T: str | None
    classes: int
    corpus: tuple[int, ...]
    queries: int
    relevant_per_query: Number | None
    imbalance: Number | None


class BuiltRow(SizeRow):
    """Sizes of a built dataset, with entries per class. ``same_at_all_levels``: it has no Normal window."""

    corpus_classes: dict[str, int]
    query_classes: dict[str, int]
    same_at_all_levels: bool


class ComposedDataset(Record):
    """One dataset of the composition. ``difference``: how the built row differs from the printed one, by field."""

    status: LaneStatus
    reason: str | None
    domain: str
    row: int
    printed: SizeRow | None
    built: BuiltRow | None
    origin: OriginKind | None
    partial: bool
    partial_note: str | None = None
    own_choice: str | None = None
    difference: dict[str, str] = Field(default_factory=dict)
    shortfall: dict[str, int] = Field(default_factory=dict)
    without_query: dict[str, str] = Field(default_factory=dict)


class ReleaseComposition(Record):
    """``composition.json``."""

    version: str
    datasets: dict[str, ComposedDataset]


def compose_row(queries: pa.Table | None, anomalies: pa.Table | None, normals: dict[int, int]) -> BuiltRow:
    """Return the sizes of one dataset. The tables have ``class_label, length, width``; ``normals``: Normal windows
    added at each level.

    ``relevant_per_query`` is the mean, over all queries, of the number of corpus entries of the query's class;
    ``imbalance`` is the size of the largest corpus class divided by that of the smallest, without Normal (both
    definitions are recovered from the printed table).
    """
    corpus = Counter([] if anomalies is None else anomalies["class_label"].to_pylist())
    wanted = [] if queries is None else queries["class_label"].to_pylist()
    lengths: set[int] = set()
    widths: set[int] = set()
    for table in (queries, anomalies):
        if table is not None:
            lengths.update(table["length"].to_pylist())
            widths.update(table["width"].to_pylist())
    levels = [corpus.total()]
    for added in normals.values():
        levels.append(levels[-1] + added)
    return BuiltRow(
        C=_range(widths),
        T=_range(lengths),
        classes=len(corpus),
        corpus=tuple(levels),
        queries=len(wanted),
        relevant_per_query=round(sum(corpus[c] for c in wanted) / len(wanted), 4) if wanted else None,
        imbalance=round(max(corpus.values()) / min(corpus.values()), 4) if corpus else None,
        corpus_classes=dict(sorted(corpus.items())),
        query_classes=dict(sorted(Counter(wanted).items())),
        same_at_all_levels=bool(corpus) and not any(normals.values()),
    )


def _range(values: set[int]) -> str | None:
    if not values:
        return None
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def printed_row(printed: Printed | None) -> SizeRow | None:
    """Return the printed row with the same fields, or None if the paper's row is not known."""
    if printed is None:
        return None
    return SizeRow(
        C=printed.channels,
        T=str(printed.length),
        classes=printed.classes,
        corpus=tuple(printed.corpus),
        queries=printed.queries,
        relevant_per_query=printed.relevant_per_query,
        imbalance=printed.imbalance,
    )


def differences(built: BuiltRow, printed: SizeRow | None) -> dict[str, str]:
    """Return how the built row differs from the printed one, by field; fields that agree are left out."""
    if printed is None:
        return {}
    out = {}
    for field in ("C", "T", "classes", "corpus", "queries"):
        mine, theirs = getattr(built, field), getattr(printed, field)
        if mine != theirs:
            out[field] = f"{_text(mine)} instead of {_text(theirs)}"
    for field in ("relevant_per_query", "imbalance"):
        mine, theirs = getattr(built, field), getattr(printed, field)
        if mine is not None and round(mine, 1) != theirs:
            percent = 100 * (mine / theirs - 1)
            out[field] = f"{mine:.1f} instead of {theirs:.1f} ({percent:+.1f} %)"
    return out


def _text(value: object) -> str:
    return "/".join(str(v) for v in value) if isinstance(value, tuple) else str(value)


def _cells(row: SizeRow | None) -> list[str]:
    if row is None:
        return ["unknown"] * len(COLUMNS)
    return [
        row.C or "-",
        row.T or "-",
        str(row.classes),
        _text(row.corpus),
        str(row.queries),
        "-" if row.relevant_per_query is None else f"{row.relevant_per_query:.1f}",
        "-" if row.imbalance is None else f"{row.imbalance:.1f}",
    ]


def state(dataset: DatasetEntry | ComposedDataset) -> str:
    """Return the state of a dataset's data: its origin, ``partial``, ``miniature``, or the status without data."""
    if dataset.status != LaneStatus.OK:
        return str(dataset.status)
    if dataset.origin == OriginKind.MINIATURE:
        return str(OriginKind.MINIATURE)
    return "partial" if dataset.partial else str(dataset.origin)


def not_selected(composition: ReleaseComposition) -> list[str]:
    """Return the datasets that were not selected for this build, in the paper's order."""
    return [name for name, dataset in _in_order(composition) if dataset.status == LaneStatus.NOT_SELECTED]


def _in_order(composition: ReleaseComposition) -> list[tuple[str, ComposedDataset]]:
    return sorted(composition.datasets.items(), key=lambda item: (item[1].row, item[0]))


def table_rows(composition: ReleaseComposition, absent: bool = False) -> list[list[str]]:
    """Return the rows of the composition table in the paper's order: per dataset the built row, then the printed row.

    ``absent``: include datasets without data, as the cards of earlier versions do.
    """
    rows = []
    for name, dataset in _in_order(composition):
        if dataset.status != LaneStatus.OK and not absent:
            continue
        built = dataset.built if dataset.status == LaneStatus.OK else None
        cells = _cells(built) if built is not None else ["-"] * len(COLUMNS)
        rows.append([name, state(dataset), *cells])
        rows.append(["", "printed", *_cells(dataset.printed)])
    return rows
