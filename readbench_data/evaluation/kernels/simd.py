"""The inner loop of DTW in vector registers: two rows of the dynamic program at once, all lanes side by side.

A cell is D[i, j] = cost[i, j] + min(D[i-1, j-1], D[i-1, j], D[i, j-1]). numba's vectoriser keeps every cell in memory
and stops at 256 bits; written out as vector instructions the left and diagonal neighbours stay in registers, a cell
costs half the loads, and 512 bits are used where the machine has them (LLVM splits them where it has not).

``sweep_squares`` and ``sweep_costs`` hold numba intrinsics, callable inside compiled code only, all of the form

    sweep(row, a0, a1, state, start, stop, shift, x0, x1)

for the columns start..stop-1 of rows i and i+1. ``row`` [columns, lanes] holds D[i-1] on entry and the last row done
on return. ``state`` [3, lanes] carries D[i-1, j-1], D[i, j-1], D[i+1, j-1] from call to call. The cost of row i is
(x0 - a0[j - shift])^2 for squares, a0[j - shift] itself for costs; row i+1 has x1 and a1. Keys say which rows reach
the columns: "both", "upper" (row i alone, row i+1 unreachable), "lower" (the other way), "single" (row i is the last).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from readbench_data.evaluation.kernels.lanes import BIG, LANES

FLAGS = ("nnan", "nsz", "contract", "arcp")
VECTOR_BYTES = 64
REACH = {"both": (True, True), "upper": (True, False), "lower": (False, True), "single": (True, None)}


class Emitter:
    """Vector instructions for one element type at the builder's place."""

    def __init__(self, context: Any, builder: Any, element: Any) -> None:
        self.builder = builder
        self.element = context.get_value_type(element)
        self.itemsize = as_dtype(element).itemsize
        self.width = VECTOR_BYTES // self.itemsize
        self.type = ir.VectorType(self.element, self.width)

    def splat(self, scalar: Any) -> Any:
        undefined = ir.Constant(self.type, ir.Undefined)
        one = self.builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.width), [0] * self.width)
        return self.builder.shuffle_vector(one, undefined, mask)

    def constant(self, value: float) -> Any:
        return ir.Constant(self.type, [value] * self.width)

    def _pointer(self, base: Any, index: Any) -> Any:
        return self.builder.bitcast(self.builder.gep(base, [index]), self.type.as_pointer())

    def load(self, base: Any, index: Any) -> Any:
        return self.builder.load(self._pointer(base, index), align=self.itemsize)

    def store(self, vector: Any, base: Any, index: Any) -> None:
        self.builder.store(vector, self._pointer(base, index), align=self.itemsize)

    def least(self, a: Any, b: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", a, b, flags=FLAGS), a, b)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=FLAGS)

    def square_of_difference(self, a: Any, b: Any) -> Any:
        d = self.builder.fsub(a, b, flags=FLAGS)
        return self.builder.fmul(d, d, flags=FLAGS)


def _sweep(squares: bool, reach: str) -> Any:
    upper, lower = REACH[reach]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        arrays = [
            context.make_array(t)(context, builder, a).data for t, a in zip(signature.args[:4], args, strict=False)
        ]
        row, a0, a1, state = arrays
        start, stop, shift, x0, x1 = args[4:]
        emit = Emitter(context, builder, signature.args[0].dtype)
        lanes = LANES[np.dtype(as_dtype(signature.args[0].dtype))]
        groups = lanes // emit.width
        index = start.type

        def at(column: Any, group: int) -> Any:
            lane = builder.mul(column, ir.Constant(index, lanes))
            return builder.add(lane, ir.Constant(index, group * emit.width))

        first_x, second_x = emit.splat(x0), emit.splat(x1)
        unreachable = emit.constant(BIG)
        before = builder.block
        loaded = [[emit.load(state, at(ir.Constant(index, s), g)) for g in range(groups)] for s in range(3)]
        loop, body, done = (builder.append_basic_block(n) for n in ("sweep", "cell", "swept"))
        builder.branch(loop)
        builder.position_at_end(loop)
        column = builder.phi(index)
        column.add_incoming(start, before)
        held = [[builder.phi(emit.type) for _ in range(groups)] for _ in range(3)]
        for phis, values in zip(held, loaded, strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", column, stop), body, done)
        builder.position_at_end(body)
        source = builder.sub(column, shift)

        def cost(base: Any, x: Any, group: int) -> Any:
            value = emit.load(base, at(source, group))
            return emit.square_of_difference(x, value) if squares else value

        for g in range(groups):
            diagonal, left, left_below = (held[s][g] for s in range(3))
            above = emit.load(row, at(column, g))
            here = unreachable
            if upper:
                here = emit.add(cost(a0, first_x, g), emit.least(emit.least(diagonal, above), left))
            below = unreachable
            if lower:
                below = emit.add(cost(a1, second_x, g), emit.least(emit.least(left, here), left_below))
            emit.store(here if lower is None else below, row, at(column, g))
            for phi, value in zip((held[s][g] for s in range(3)), (above, here, below), strict=True):
                phi.add_incoming(value, body)
        column.add_incoming(builder.add(column, ir.Constant(index, 1)), body)
        builder.branch(loop)
        builder.position_at_end(done)
        for s in range(3):
            for g in range(groups):
                emit.store(held[s][g], state, at(ir.Constant(index, s), g))
        return context.get_dummy_value()

    @intrinsic
    def sweep(typingctx, row, a0, a1, state, start, stop, shift, x0, x1):  # type: ignore[no-untyped-def]
        where = (types.intp, types.intp, types.intp)
        return types.void(row, a0, a1, state, *where, row.dtype, row.dtype), codegen

    return sweep


sweep_squares = {reach: _sweep(True, reach) for reach in REACH}
sweep_costs = {reach: _sweep(False, reach) for reach in REACH}
