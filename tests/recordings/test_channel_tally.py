"""Missing, masked and filled cells per channel, checked against plain loops over the cells."""

from __future__ import annotations

import io
import math

import numpy as np
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from readbench_data.recordings.channel_tally import TALLY_SCHEMA, ChannelTallies, by_channel
from readbench_data.recordings.curation import Curation, curate
from readbench_data.recordings.recording import Evidence, Recording
from readbench_data.recordings.segment import cells_by_channel, pack_cells

NAN = math.nan
SENTINEL = -9.0


def recording(name: str, values: np.ndarray, channels: tuple[str, ...] | None = None) -> Recording:
    names = channels or tuple(f"c{i}" for i in range(values.shape[1]))
    return Recording(name, values, names, Evidence.native("x", len(values)), "u", f"{name}.csv", "0")


def tallied(policy: Curation, *recordings: Recording) -> ChannelTallies:
    tallies = ChannelTallies()
    for one in recordings:
        list(curate(one, policy, tallies=tallies))
    return tallies


def written(tallies: ChannelTallies) -> io.BytesIO:
    stream = io.BytesIO()
    pq.write_table(tallies.table(), stream)
    stream.seek(0)
    return stream


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12),
        elements=st.sampled_from([NAN, SENTINEL, 1.0, 2.5, math.inf]),
    ),
    st.sampled_from(["fill", "drop_rows"]),
    st.booleans(),
)
def test_counts_against_a_plain_loop(values: np.ndarray, missing: str, dead: bool) -> None:
    policy = Curation(missing, sentinel_values=(SENTINEL,), drop_dead_channels=dead)  # type: ignore[arg-type]
    (tally,) = tallied(policy, recording("r", values)).tallies
    for c, name in enumerate(tally.channels):
        cells = values[:, c].tolist()
        without = sum(math.isnan(x) for x in cells)
        masked = sum(x in (SENTINEL, math.inf) for x in cells)
        there = {x for x in cells if not math.isnan(x) and x not in (SENTINEL, math.inf)}
        assert (tally.missing[c], tally.masked[c]) == (without, masked), name
        assert tally.filled[c] == (without + masked if missing == "fill" else 0)
        assert tally.constant[c] == (len(there) == 1)
        assert tally.removed[c] == (dead and len(there) < 2)


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=20),
        elements=st.sampled_from([NAN, SENTINEL, 1.0, 2.0]),
    )
)
def test_the_cells_of_a_segment_are_the_missing_and_masked_ones(values: np.ndarray) -> None:
    (segment,) = curate(recording("r", values), Curation(sentinel_values=(SENTINEL,)))
    for packed, per_step, truth in (
        (segment.filled_cells, segment.filled, np.isnan(values) | (values == SENTINEL)),
        (segment.masked_cells, segment.masked, values == SENTINEL),
    ):
        if not truth.any():
            assert (packed, per_step) == (None, None)
            continue
        assert packed is not None
        assert per_step is not None
        cells = cells_by_channel(packed, values.shape[1])
        assert cells.tolist() == truth.tolist()
        assert cells.sum(axis=1).tolist() == per_step.tolist()
        assert pack_cells(cells).tolist() == packed.tolist()


def test_dead_channels_by_hand_and_added_up_over_recordings() -> None:
    """The policy of Petrobras 3W: constant channels, entirely missing ones, and ones that change only by a sentinel."""
    values = np.array([[1, 5, NAN, 9, 1], [2, 5, NAN, SENTINEL, 1], [NAN, 5, NAN, 9, 2], [4, NAN, NAN, 9, 2]])
    policy = Curation("drop_rows", sentinel_values=(SENTINEL,), drop_dead_channels=True)
    other = recording("s", np.array([[1.0], [NAN], [3.0]]), ("c1",))
    rows = by_channel(written(tallied(policy, recording("r", values), other)))
    assert rows.rows() == [
        ("c0", 1, 4, 1, 0, 0, 0, 0, 0),
        ("c1", 2, 7, 2, 0, 0, 0, 1, 1),
        ("c2", 1, 4, 4, 0, 0, 1, 0, 1),
        ("c3", 1, 4, 0, 1, 0, 0, 1, 1),
        ("c4", 1, 4, 0, 0, 0, 0, 0, 0),
    ]
    assert rows.columns == [
        *("channel", "recordings", "rows", "missing", "masked", "filled", "absent", "constant", "removed")
    ]


def test_an_absent_channel_is_filled_with_zeros_and_counted() -> None:
    values = np.array([[NAN, 1], [NAN, NAN], [NAN, 3]])
    (row,) = by_channel(written(tallied(Curation(), recording("r", values[:, :1])))).rows()
    assert row == ("c0", 1, 3, 3, 0, 3, 1, 0, 0)


def test_nothing_read_is_an_empty_table() -> None:
    assert ChannelTallies().table().schema == TALLY_SCHEMA
    assert by_channel(written(ChannelTallies())).height == 0
