"""Squared distances over channels between a few query steps and all lanes of many corpus steps, in vector registers.

``step_costs(x, y, costs, i0, j0, k0, m0, columns)``, callable inside compiled code only, fills

    costs[k0 + k, m0 + m, lane] = sum over c of (x[i0 + k, c] - y[j0 + m, ., c, .])^2        k < ROWS, m < columns

``x`` [Tx, C] holds a multiple of ROWS steps, ``y`` [Ty, PARTS, C, lanes / PARTS] the lanes in parts. The differences
are taken as they are, channel after channel: nothing cancels as it does in |x|^2 + |y|^2 - 2xy, equal windows are at
exactly 0, and equal pairs have equal bits.

The sums of one part of the lanes stay in registers over all channels: a vector of y that is loaded serves ROWS steps
at once, so that the arithmetic units and not the cache set the pace, without the detour of a matrix product through
memory and its columns outside the band.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from readbench_data.evaluation.kernels.lanes import LANES
from readbench_data.evaluation.kernels.simd import Emitter

ROWS = 8
"""Query steps worked on at once; even, since the dynamic program takes rows in pairs."""

PARTS = 2
"""Parts of the lanes: ROWS times the vectors of one part fit in the registers (16 of 32 with AVX-512)."""


def _codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    x, y, costs = (
        context.make_array(t)(context, builder, a) for t, a in zip(signature.args[:3], args[:3], strict=True)
    )
    i0, j0, k0, m0, columns = args[3:]
    emit = Emitter(context, builder, signature.args[0].dtype)
    lanes = LANES[np.dtype(as_dtype(signature.args[0].dtype))]
    part_lanes = lanes // PARTS
    vectors = range(part_lanes // emit.width)
    index = i0.type

    def number(value: int) -> Any:
        return ir.Constant(index, value)

    channels = builder.extract_value(x.shape, 1)
    capacity = builder.mul(builder.extract_value(costs.shape, 1), number(lanes))
    part_size = builder.mul(channels, number(part_lanes))
    row_starts = [builder.mul(builder.add(i0, number(k)), channels) for k in range(ROWS)]
    first = builder.mul(builder.mul(j0, number(PARTS)), part_size)
    first_target = builder.add(builder.mul(k0, capacity), builder.mul(m0, number(lanes)))
    turns = builder.mul(columns, number(PARTS))

    start = builder.block
    head, enter, loop, store, done = (
        builder.append_basic_block(n) for n in ("turn", "sums", "channel", "store", "filled")
    )
    builder.branch(head)
    builder.position_at_end(head)
    turn = builder.phi(index)  # columns and, within each, parts
    source = builder.phi(index)
    target = builder.phi(index)
    for phi, value in ((turn, number(0)), (source, first), (target, first_target)):
        phi.add_incoming(value, start)
    builder.cbranch(builder.icmp_signed("<", turn, turns), enter, done)
    builder.position_at_end(enter)
    builder.branch(loop)
    builder.position_at_end(loop)
    channel = builder.phi(index)
    channel.add_incoming(number(0), enter)
    sums = [[builder.phi(emit.type) for _ in vectors] for _ in range(ROWS)]
    at = builder.add(source, builder.mul(channel, number(part_lanes)))
    values = [emit.load(y.data, builder.add(at, number(g * emit.width))) for g in vectors]
    next_channel = builder.add(channel, number(1))
    channel.add_incoming(next_channel, loop)
    new = []
    for k in range(ROWS):
        step = emit.splat(builder.load(builder.gep(x.data, [builder.add(row_starts[k], channel)])))
        new.append([emit.add(sums[k][g], emit.square_of_difference(step, values[g])) for g in vectors])
        for g in vectors:
            sums[k][g].add_incoming(emit.constant(0.0), enter)
            sums[k][g].add_incoming(new[k][g], loop)
    builder.cbranch(builder.icmp_signed("<", next_channel, channels), loop, store)
    builder.position_at_end(store)
    for k in range(ROWS):
        row = builder.add(target, builder.mul(capacity, number(k)))
        for g in vectors:
            emit.store(new[k][g], costs.data, builder.add(row, number(g * emit.width)))
    turn.add_incoming(builder.add(turn, number(1)), store)
    source.add_incoming(builder.add(source, part_size), store)
    target.add_incoming(builder.add(target, number(part_lanes)), store)
    builder.branch(head)
    builder.position_at_end(done)
    return context.get_dummy_value()


@intrinsic
def step_costs(typingctx, x, y, costs, i0, j0, k0, m0, columns):  # type: ignore[no-untyped-def]
    """See the module's text. There must be at least one channel."""
    return types.void(x, y, costs, *(types.intp,) * 5), _codegen
