"""What kernels call that has no Python: instructions of the processor. Loaded with Numba, by the first kernel that is called."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from nlpkit.platform.kernels.idtable import prefetch


@intrinsic
def _prefetch(typing, array, index):  # type: ignore[no-untyped-def]  # pragma: no cover
    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), cgutils.voidptr_t)
        number = cgutils.int32_t
        kind = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        builder.call(function, [address, number(0), number(3), number(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, types.int64), codegen


@overload(prefetch, inline="always")
def _prefetch_compiled(array, index):  # type: ignore[no-untyped-def]  # pragma: no cover
    return lambda array, index: _prefetch(array, index)
