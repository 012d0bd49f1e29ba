"""What a method is shown. The labels of a query never leave the harness.

Strict (default): every field of a query that could tell its class is blank; entries carry aliases and stand in an
order that is drawn anew for each run, because ids and order of the released files are public; corpus labels are shown
only as far as the declared supervision allows. Official: only the query's ``class_label`` is blank (and corpus labels
where they are not declared), as far as the board's rules are printed.

Blank means None (a list: empty, extras: "{}"). What is memorised from the public release itself, value by value,
cannot be prevented by any harness that hands the values out.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from readbench_data.entry import unnest
from readbench_data.evaluation.task.supervision import Supervision

EntryFields = dict[str, Any]
"""A released entry as a method gets it: its columns by name, ``ts_values`` as a float32 array [T][C]."""

BLANK: EntryFields = {"class_label": None, "label": None, "rca_target": None, "rca_affected": [], "extras": "{}"}
MODES = ("strict", "official")
SHOWS_CLASSES = (Supervision.SUPERVISED, Supervision.NEIGHBOUR_LABELS)


@dataclass(frozen=True)
class Shown:
    """Entries as the method sees them and where each comes from: ``origin[i]`` is the released position of item i."""

    entries: list[EntryFields]
    origin: np.ndarray


def entries_of(table: pa.Table) -> list[EntryFields]:
    """Released rows as dicts; ``ts_values`` is a float32 array [T][C]."""
    values = unnest(table.column("ts_values"))
    rest = table.drop_columns(["ts_values"]).to_pylist()
    return [{**row, "ts_values": v} for row, v in zip(rest, values, strict=True)]


def masked_query(entry: EntryFields, mode: str) -> EntryFields:
    """A query without what it must not tell."""
    return {**entry, **(BLANK if mode == "strict" else {"class_label": None})}


def masked_item(entry: EntryFields, mode: str, supervision: Supervision) -> EntryFields:
    """A corpus item with as much of its label as ``supervision`` allows."""
    if supervision in SHOWS_CLASSES:
        return dict(entry)
    if mode == "official":
        return {**entry, "class_label": None}
    kept = {"label": entry["label"]} if supervision == Supervision.NORMALS else {}
    return {**entry, **BLANK, **kept}


def shown(entries: list[EntryFields], mode: str, key: bytes, mask: Any) -> Shown:
    """Entries masked by ``mask(entry)``; in strict mode under aliases and in the order of a keyed hash."""
    if mode == "official":
        return Shown([mask(e) for e in entries], np.arange(len(entries)))
    alias = [hmac.new(key, e["entry_id"].encode(), hashlib.sha256).hexdigest()[:32] for e in entries]
    order = np.array(sorted(range(len(entries)), key=alias.__getitem__), np.int64)
    return Shown([{**mask(entries[i]), "entry_id": alias[i]} for i in order], order)
