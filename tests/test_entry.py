"""Nested values are restored exactly, and entry ids reveal nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from readbench_data import entry as module
from readbench_data.entry import ENTRY_SCHEMA, VALUES_LEAF, entry_id, nest, unnest

window_lists = st.lists(
    arrays(
        np.float32, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5), elements=st.floats(-9, 9, width=32)
    ),
    max_size=6,
)


def test_the_schema_is_the_fixed_one() -> None:
    assert ENTRY_SCHEMA.names == [
        "entry_id",
        "dataset",
        "ts_values",
        "channels",
        "label",
        "class_label",
        "rca_target",
        "rca_affected",
        "native_split",
        "extras",
    ]
    assert ENTRY_SCHEMA.field("ts_values").type == pa.list_(pa.list_(pa.float32()))
    assert [f.name for f in ENTRY_SCHEMA if f.nullable] == ["rca_target"]


def test_nest_by_hand() -> None:
    windows = [np.array([[1, 2], [3, 4], [5, 6]], np.float32), np.array([[7, 8, 9]], np.float32)]
    assert nest(windows).to_pylist() == [[[1, 2], [3, 4], [5, 6]], [[7, 8, 9]]]
    assert nest(windows).type == pa.list_(pa.list_(pa.float32()))


@given(window_lists, st.data())
def test_unnest_is_the_inverse_of_nest_also_for_a_part(windows: list[np.ndarray], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(windows)))
    chunked = pa.chunked_array([nest(windows), nest(windows)]) if windows else nest(windows)
    for column, expected in ((nest(windows).slice(start), windows[start:]), (chunked, windows * 2)):
        found = unnest(column)
        assert [f.dtype for f in found] == [np.float32] * len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


def test_values_survive_parquet_and_non_contiguous_input() -> None:
    windows = [np.arange(24, dtype=np.float64).reshape(4, 6)[:, ::2], np.ones((2, 1))]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"ts_values": nest(windows)}), sink)
    file = pq.ParquetFile(pa.BufferReader(sink.getvalue()))
    assert file.schema.column(0).path == VALUES_LEAF
    for one, other in zip(unnest(file.read()["ts_values"]), windows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_more_values_than_one_array_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LEAF_VALUES", 11)
    assert len(nest([np.zeros((11, 1), np.float32)])) == 1
    with pytest.raises(ValueError, match="smaller row groups"):
        nest([np.zeros((4, 3), np.float32)])


def test_an_entry_id_is_opaque_stable_and_depends_on_every_part() -> None:
    name = entry_id("plant", "w1/r", 0, 256)
    assert name == entry_id("plant", "w1/r", 0, 256)
    assert len(name) == 32
    assert set(name) <= set("0123456789abcdef")
    parts = [("plant", "w1/r", 0, 257), ("plant", "w1/r", 1, 256), ("plant", "w1", 0, 256), ("p", "lantw1/r", 0, 256)]
    assert len({name, *(entry_id(*p) for p in parts)}) == 5


def test_the_order_of_entry_ids_does_not_follow_the_order_of_windows() -> None:
    names = [entry_id("plant", "r", i, i + 1) for i in range(400)]
    rank = np.argsort(np.argsort(names))
    assert abs(np.corrcoef(rank, np.arange(400))[0, 1]) < 0.15
