"""A window as it is published: the entry schema, and nested values without Python loops.

``ts_values`` is ``list<list<float32>>`` with shape [T][C]; T may differ between entries, and in
some datasets so may C. The schema is fixed: other people's scripts rely on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

NORMAL = "Normal"
"""``class_label`` of a window without any fault."""

ENTRY_SCHEMA = pa.schema(
    [
        pa.field("entry_id", pa.string(), nullable=False),
        pa.field("dataset", pa.string(), nullable=False),
        pa.field("ts_values", pa.list_(pa.list_(pa.float32())), nullable=False),
        pa.field("channels", pa.list_(pa.string()), nullable=False),
        pa.field("label", pa.string(), nullable=False),
        pa.field("class_label", pa.string(), nullable=False),
        pa.field("rca_target", pa.string()),
        pa.field("rca_affected", pa.list_(pa.string()), nullable=False),
        pa.field("native_split", pa.string(), nullable=False),
        pa.field("extras", pa.string(), nullable=False),
    ]
)

VALUES_LEAF = "ts_values.list.element.list.element"
"""Parquet path of the float leaf, for column options."""

MAX_LEAF_VALUES = 2**31 - 1
"""Largest number of floats one Arrow list array can hold (32-bit offsets)."""


def entry_id(dataset: str, recording_id: str, row_start: int, row_stop: int) -> str:
    """Opaque name of a window: 32 hex digits, a hash of where it was cut and of nothing else.

    Examples
    --------
    >>> entry_id("mit_bih", "100", 0, 256)[:8], len(entry_id("mit_bih", "100", 0, 256))
    ('f1c740d5', 32)
    """
    name = f"{dataset}\0{recording_id}\0{row_start}\0{row_stop}".encode()
    return hashlib.blake2b(name, digest_size=16).hexdigest()


def nest(windows: Sequence[np.ndarray]) -> pa.ListArray:
    """Windows ([T][C] float32 each, any T and C) as one ``list<list<float32>>`` array."""
    lengths = np.fromiter((w.shape[0] for w in windows), np.int64, len(windows))
    widths = np.fromiter((w.shape[1] for w in windows), np.int64, len(windows))
    if int((lengths * widths).sum()) > MAX_LEAF_VALUES:
        raise ValueError("too many values for one Arrow array: write in smaller row groups")
    flat = (
        np.concatenate([np.ascontiguousarray(w, dtype=np.float32).reshape(-1) for w in windows])
        if len(windows)
        else np.empty(0, np.float32)
    )
    step_offsets = np.concatenate([[0], np.cumsum(np.repeat(widths, lengths))]).astype(np.int32)
    window_offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    steps = pa.ListArray.from_arrays(pa.array(step_offsets), pa.array(flat))
    return pa.ListArray.from_arrays(pa.array(window_offsets), steps)


def unnest(column: pa.ListArray | pa.ChunkedArray) -> list[np.ndarray]:
    """The inverse of :func:`nest`: one [T][C] float32 array per entry (views where Arrow allows).

    Examples
    --------
    >>> [window.shape for window in unnest(nest([np.zeros((4, 2)), np.zeros((3, 1))]))]
    [(4, 2), (3, 1)]
    """
    chunks: Iterable[pa.ListArray] = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    windows: list[np.ndarray] = []
    for chunk in chunks:
        outer = np.asarray(chunk.offsets)
        inner = np.asarray(chunk.values.offsets)
        leaf = np.asarray(chunk.values.values)
        for start, stop in zip(outer[:-1], outer[1:], strict=True):
            length = int(stop - start)
            first, last = int(inner[start]), int(inner[stop])
            width = (last - first) // length if length else 0
            windows.append(leaf[first:last].reshape(length, width))
    return windows
