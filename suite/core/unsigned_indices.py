"""A pass of numba's compiler: indices are taken as they are, not counted from the end if negative.

Python's ``array[-1]`` is the last element, so numba asks at every access whether the index is
negative. Simulations do little else than read and write arrays: a fifth of their time went there.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.types.containers import BaseTuple, Tuple

Kind = Any
"""A type of numba's."""


@register_pass(mutates_CFG=False, analysis_only=False)
class UnsignedIndices(FunctionPass):  # type: ignore[misc]
    """Declares every index that is not a constant as unsigned; a negative one reads elsewhere."""

    _name = "placebench_unsigned_indices"

    def __init__(self) -> None:
        """Nothing is kept between functions; numba asks every pass for a constructor."""
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Change what accesses are called with; the index itself is converted when it is used."""
        calls = state.calltypes
        changed = False
        for block in state.func_ir.blocks.values():
            for access in (*block.find_exprs(op="getitem"), *block.find_insts(ir.SetItem)):
                signature = calls[access]
                array, index, *value = signature.args
                unsigned = _unsigned(index)
                if isinstance(array, types.Array) and unsigned != index:
                    arguments = (array, unsigned, *value)
                    # Entries of this dictionary cannot be overwritten.
                    del calls[access]
                    calls[access] = signature.replace(args=arguments)
                    changed = True
        return changed


def _unsigned(index: Kind) -> Kind:
    """The type for an index of this type, or for several; slices and constants stay."""
    if isinstance(index, BaseTuple):
        return Tuple([_unsigned(kind) for kind in index])
    if isinstance(index, types.Integer) and not isinstance(index, types.Literal):
        return types.uintp
    return index
