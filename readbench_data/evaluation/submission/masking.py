"""Masks the entries that a method receives. The labels of a query never leave the harness.

Strict (default): every field of a query that could reveal its class is blank; entries have aliases as ids and are in a
random order that changes with each run, because ids and order of the released files are public; corpus labels are shown
only as far as the declared supervision allows. Official: only the query's ``class_label`` is blank (and corpus classes
if the supervision does not declare them), following the published rules of the leaderboard.

Blank means None (an empty list for lists, "{}" for extras). No harness that hands out the values can stop a method from
recognising values that it has memorised from the public release.
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
    """Entries as the method sees them. ``origin[i]``: the position of item i in the released file."""

    entries: list[EntryFields]
    origin: np.ndarray


def entries_of(table: pa.Table) -> list[EntryFields]:
    """Return released rows as dicts; ``ts_values`` is a float32 array [T][C]."""
    values = unnest(table.column("ts_values"))
    rest = table.drop_columns(["ts_values"]).to_pylist()
    return [{**row, "ts_values": v} for row, v in zip(rest, values, strict=True)]


def masked_query(entry: EntryFields, mode: str) -> EntryFields:
    """Return a query without the fields that ``mode`` hides."""
    return {**entry, **(BLANK if mode == "strict" else {"class_label": None})}


def masked_item(entry: EntryFields, mode: str, supervision: Supervision) -> EntryFields:
    """Return a corpus item with only those label fields that ``supervision`` allows."""
    if supervision in SHOWS_CLASSES:
        return dict(entry)
    if mode == "official":
        return {**entry, "class_label": None}
    allowed = {"label": entry["label"]} if supervision == Supervision.NORMALS else {}
    return {**entry, **BLANK, **allowed}


def shown(entries: list[EntryFields], mode: str, key: bytes, mask: Any) -> Shown:
    """Return entries masked by ``mask(entry)``; in strict mode with aliases as ids, in the order of a keyed hash."""
    if mode == "official":
        return Shown([mask(e) for e in entries], np.arange(len(entries)))
    alias = [hmac.new(key, e["entry_id"].encode(), hashlib.sha256).hexdigest()[:32] for e in entries]
    order = np.array(sorted(range(len(entries)), key=alias.__getitem__), np.int64)
    return Shown([{**mask(entries[i]), "entry_id": alias[i]} for i in order], order)
