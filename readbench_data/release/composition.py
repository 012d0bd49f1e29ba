"""What a release holds of each dataset, beside the row the paper prints."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from readbench_data.dataset.source import Printed

COLUMNS = ("C", "T", "classes", "corpus", "queries", "rel/q", "imbalance")


def compose_row(queries: pa.Table | None, anomalies: pa.Table | None, normals: dict[int, int]) -> dict[str, Any]:
    """Sizes of one dataset. Tables need ``class_label, length, width``; ``normals``: Normals added at each level.

    ``relevant_per_query`` is the mean over the actual queries of their class's corpus size, ``imbalance`` the
    largest over the smallest class of the corpus anomalies (both as recovered from the printed table).
    """
    corpus = Counter([] if anomalies is None else anomalies["class_label"].to_pylist())
    asked = [] if queries is None else queries["class_label"].to_pylist()
    lengths: set[int] = set()
    widths: set[int] = set()
    for table in (queries, anomalies):
        if table is not None:
            lengths.update(table["length"].to_pylist())
            widths.update(table["width"].to_pylist())
    levels = [corpus.total()]
    for added in normals.values():
        levels.append(levels[-1] + added)
    return {
        "C": _range(widths),
        "T": _range(lengths),
        "classes": len(corpus),
        "corpus": levels,
        "queries": len(asked),
        "relevant_per_query": round(sum(corpus[c] for c in asked) / len(asked), 4) if asked else None,
        "imbalance": round(max(corpus.values()) / min(corpus.values()), 4) if corpus else None,
        "corpus_classes": dict(sorted(corpus.items())),
        "query_classes": dict(sorted(Counter(asked).items())),
        "same_at_all_levels": bool(corpus) and not any(normals.values()),
    }


def _range(values: set[int]) -> str | None:
    if not values:
        return None
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def printed_row(printed: Printed | None) -> dict[str, Any] | None:
    """The printed row in the same words, or None where the paper's is not known."""
    if printed is None:
        return None
    return {
        "C": printed.channels,
        "T": str(printed.length),
        "classes": printed.classes,
        "corpus": list(printed.corpus),
        "queries": printed.queries,
        "relevant_per_query": printed.relevant_per_query,
        "imbalance": printed.imbalance,
    }


def differences(built: dict[str, Any], printed: dict[str, Any] | None) -> dict[str, str]:
    """How the built row differs from the printed one, field by field; nothing where they agree."""
    if printed is None:
        return {}
    out = {}
    for field in ("C", "T", "classes", "corpus", "queries"):
        if built[field] != printed[field]:
            out[field] = f"{_text(built[field])} instead of {_text(printed[field])}"
    for field in ("relevant_per_query", "imbalance"):
        if built[field] is not None and round(built[field], 1) != printed[field]:
            percent = 100 * (built[field] / printed[field] - 1)
            out[field] = f"{built[field]:.1f} instead of {printed[field]:.1f} ({percent:+.1f} %)"
    return out


def _text(value: Any) -> str:
    return "/".join(str(v) for v in value) if isinstance(value, list) else str(value)


def _cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return ["unknown"] * len(COLUMNS)
    relevant, imbalance = row["relevant_per_query"], row["imbalance"]
    return [
        row["C"] or "-",
        row["T"] or "-",
        str(row["classes"]),
        _text(row["corpus"]),
        str(row["queries"]),
        "-" if relevant is None else f"{relevant:.1f}",
        "-" if imbalance is None else f"{imbalance:.1f}",
    ]


def state(dataset: dict[str, Any]) -> str:
    """The word for where a dataset's data stand: complete, partial, miniature, or why there are none."""
    if dataset["status"] != "ok":
        return str(dataset["status"])
    if dataset["origin"] == "miniature":
        return "miniature"
    return "partial" if dataset["partial"] else str(dataset["origin"])


def not_selected(composition: dict[str, Any]) -> list[str]:
    """The datasets that this build was not asked for, in the paper's order."""
    return [name for name, dataset in _in_order(composition) if dataset["status"] == "not_selected"]


def _in_order(composition: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return sorted(composition["datasets"].items(), key=lambda item: (item[1]["row"], item[0]))


def table_rows(composition: dict[str, Any], absent: bool = False) -> list[list[str]]:
    """Rows of the composition table in the paper's order: dataset, data, each column built, the printed row beneath.

    ``absent``: also a row for each dataset without data, as cards of earlier versions have.
    """
    rows = []
    for name, dataset in _in_order(composition):
        if dataset["status"] != "ok" and not absent:
            continue
        built = dataset["built"] if dataset["status"] == "ok" else None
        cells = _cells(built) if built is not None else ["-"] * len(COLUMNS)
        rows.append([name, state(dataset), *cells])
        printed = dataset["printed"]
        rows.append(["", "printed", *_cells(printed)])
    return rows
