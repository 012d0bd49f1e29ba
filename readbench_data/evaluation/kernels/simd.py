"""The inner loop of DTW-I in vector registers: two rows of the dynamic program at once, all lanes side by side.

A cell is D[i, j] = cost[i, j] + min(D[i-1, j-1], D[i-1, j], D[i, j-1]).

Why LLVM IR: numba cannot keep an array in registers. Compiled from plain loops, every cell is stored to memory and
loaded again as the left neighbour of the next one. Written out as vector instructions, the left and diagonal
neighbours stay in registers, so a cell needs half the loads and half the stores. This is the only kernel in LLVM IR;
``dtw_independent_plain.py`` does the same in plain numba and returns equal bits. The factor between the two is in
docs/evaluation.md.

``sweep`` holds four numba intrinsics, callable inside compiled code only, all of the form

    sweep[reach](row, series, state, start, stop, x0, x1)

They process columns start..stop-1 of rows i and i+1. ``row`` [columns, lanes] holds D[i-1] on entry and the last row
computed on return. ``state`` [3, lanes] carries D[i-1, j-1], D[i, j-1] and D[i+1, j-1] from call to call. The cost of
row i is (x0 - series[j])^2, of row i+1 (x1 - series[j])^2. The key says which of the two rows have these columns in
their band: "both", "upper" (row i only, row i+1 is unreachable there), "lower" (row i+1 only), "single" (row i is the
last row).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.numpy_support import as_dtype

from readbench_data.evaluation.kernels.lanes import BIG, COLUMN_BYTES, FLOAT_FLAGS

FLAGS = tuple(sorted(FLOAT_FLAGS))
VECTOR_BYTES = 64
GROUPS = COLUMN_BYTES // VECTOR_BYTES
"""Vectors per column. LLVM splits each into two where the machine has 256 bits only."""

REACH = {"both": (True, True), "upper": (True, False), "lower": (False, True), "single": (True, None)}


class Emitter:
    """Emits vector instructions for one element type at the builder's position."""

    def __init__(self, context: Any, builder: Any, element: Any) -> None:
        self.builder = builder
        self.element = context.get_value_type(element)
        self.itemsize = as_dtype(element).itemsize
        self.width = VECTOR_BYTES // self.itemsize
        self.type = ir.VectorType(self.element, self.width)

    def splat(self, scalar: Any) -> Any:
        """A vector with ``scalar`` in every lane."""
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


def _sweep(reach: str) -> Any:
    upper, lower = REACH[reach]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        row, series, state = (
            context.make_array(t)(context, builder, a).data for t, a in zip(signature.args[:3], args[:3], strict=True)
        )
        start, stop, x0, x1 = args[3:]
        emit = Emitter(context, builder, signature.args[0].dtype)
        lanes = GROUPS * emit.width
        groups = range(GROUPS)
        index = start.type

        def at(column: Any, group: int) -> Any:
            lane = builder.mul(column, ir.Constant(index, lanes))
            return builder.add(lane, ir.Constant(index, group * emit.width))

        first_x, second_x = emit.splat(x0), emit.splat(x1)
        unreachable = emit.constant(BIG)
        before = builder.block
        loaded = [[emit.load(state, at(ir.Constant(index, s), g)) for g in groups] for s in range(3)]
        loop, body, done = (builder.append_basic_block(n) for n in ("sweep", "cell", "swept"))
        builder.branch(loop)
        builder.position_at_end(loop)
        column = builder.phi(index)
        column.add_incoming(start, before)
        held = [[builder.phi(emit.type) for _ in groups] for _ in range(3)]
        for phis, values in zip(held, loaded, strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, before)
        builder.cbranch(builder.icmp_signed("<", column, stop), body, done)
        builder.position_at_end(body)
        for g in groups:
            diagonal, left, left_below = (held[s][g] for s in range(3))
            above = emit.load(row, at(column, g))
            value = emit.load(series, at(column, g))
            here = unreachable
            if upper:
                cost = emit.square_of_difference(first_x, value)
                here = emit.add(cost, emit.least(emit.least(diagonal, above), left))
            below = unreachable
            if lower:
                cost = emit.square_of_difference(second_x, value)
                below = emit.add(cost, emit.least(emit.least(left, here), left_below))
            emit.store(here if lower is None else below, row, at(column, g))
            for phi, value in zip((held[s][g] for s in range(3)), (above, here, below), strict=True):
                phi.add_incoming(value, body)
        column.add_incoming(builder.add(column, ir.Constant(index, 1)), body)
        builder.branch(loop)
        builder.position_at_end(done)
        for s in range(3):
            for g in groups:
                emit.store(held[s][g], state, at(ir.Constant(index, s), g))
        return context.get_dummy_value()

    @intrinsic
    def sweep(typingctx, row, series, state, start, stop, x0, x1):  # type: ignore[no-untyped-def]
        return types.void(row, series, state, types.intp, types.intp, row.dtype, row.dtype), codegen

    return sweep


sweep = {reach: _sweep(reach) for reach in REACH}
