"""A hash of the logical content of a table, independent of how it is stored.

The same rows in the same order give the same hash under any library version, chunking, row-group size or
compression, so releases that were built with different library versions can be compared.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class ContentHash:
    """A running hash: feed tables or record batches of one schema in row order; call ``hexdigest`` at any time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._columns = [_Column(field.type) for field in schema]
        self._rows = 0

    def update(self, table: pa.Table | pa.RecordBatch) -> None:
        """Add the rows of a table."""
        if table.schema.names != self._schema.names:
            raise ValueError("the columns differ from the schema of this hash")
        self._rows += table.num_rows
        for column, state in zip(table.columns, self._columns, strict=True):
            for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
                state.update(chunk)

    def hexdigest(self) -> str:
        """Return the SHA-256 of everything fed so far."""
        total = hashlib.sha256(str(self._rows).encode())
        for field, state in zip(self._schema, self._columns, strict=True):
            total.update(f"\0{field.name}\0".encode() + state.digest())
        return total.hexdigest()


def content_sha256(table: pa.Table) -> str:
    """Return the logical hash of a whole table."""
    state = ContentHash(table.schema)
    state.update(table)
    return state.hexdigest()


class _Column:
    """The running hashes of one column: null cells, lengths of lists and texts, and leaf data."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._valid = hashlib.sha256()
        self._lengths = hashlib.sha256()
        self._data = hashlib.sha256()
        self._children: list[_Column] = []
        if pa.types.is_struct(kind):
            self._children = [_Column(kind.field(i).type) for i in range(kind.num_fields)]
        elif _is_list(kind):
            self._children = [_Column(kind.value_type)]

    def update(self, array: pa.Array) -> None:
        kind = self._kind
        self._valid.update(np.asarray(array.is_valid(), dtype=np.uint8).tobytes())
        if pa.types.is_struct(kind):
            for i, child in enumerate(self._children):
                child.update(pc.struct_field(array, [i]))
        elif _is_list(kind):
            lengths = pc.fill_null(pc.list_value_length(array), 0)
            self._lengths.update(np.asarray(lengths, dtype=np.int64).tobytes())
            self._children[0].update(pc.list_flatten(array))
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            lengths, text = _texts(array)
            self._lengths.update(lengths.tobytes())
            self._data.update(text)
        elif pa.types.is_floating(kind):
            width = np.float32 if pa.types.is_float32(kind) else np.float64
            self._data.update(np.asarray(pc.fill_null(array, 0.0), dtype=width).tobytes())
        elif pa.types.is_integer(kind):
            self._data.update(np.asarray(pc.fill_null(array, 0), dtype=np.int64).tobytes())
        elif pa.types.is_boolean(kind):
            self._data.update(np.asarray(pc.fill_null(array, False), dtype=np.uint8).tobytes())
        elif not pa.types.is_null(kind):
            raise TypeError(f"no content hash for a column of type {kind}")

    def digest(self) -> bytes:
        state = self._valid.copy()
        state.update(self._lengths.digest())
        state.update(self._data.digest())
        for child in self._children:
            state.update(child.digest())
        return state.digest()


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _texts(array: pa.Array) -> tuple[np.ndarray, bytes]:
    """Return the byte length of each text of a column (0 for null), and all texts joined."""
    large = pc.fill_null(array, "").cast(pa.large_string())
    _, offsets, data = large.buffers()
    if data is None or len(large) == 0:
        return np.zeros(len(large), np.int64), b""
    bounds = np.frombuffer(offsets, np.int64)[large.offset : large.offset + len(large) + 1]
    return np.diff(bounds), data.slice(int(bounds[0]), int(bounds[-1] - bounds[0])).to_pybytes()
