"""A pass of numba's compiler: every field of an argument is taken out of it once, at the beginning.

Kernels take named tuples of many arrays and hand them on to helpers that are inlined. numba copies
the whole tuple, some hundred numbers, at each such call, and once more wherever a field is read;
LLVM removes all that, but takes most of the time of a compilation to do so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from numba.core import ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import build_definitions, replace_vars
from numba.core.postproc import PostProcessor
from numba.core.types.containers import BaseNamedTuple

Place = tuple[str, ...]
"""The variable of an argument, then the names of the fields that lead to a value within it."""


@register_pass(mutates_CFG=False, analysis_only=False)
class FieldsOnce(FunctionPass):  # type: ignore[misc]
    """Makes one variable of every value within an argument, instead of one at every use."""

    _name = "placebench_fields_once"

    def __init__(self) -> None:
        """Nothing is kept between functions; numba asks every pass for a constructor."""
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Rewrite ``state.func_ir``; returns whether anything changed."""
        function = state.func_ir
        blocks = function.blocks
        first = blocks[min(blocks)]
        once = Counter(found.target.name for found in _assignments(blocks))
        arguments = [s for s in _assignments({0: first}) if isinstance(s.value, ir.Arg)]
        values: dict[Place, Any] = {(s.target.name,): s.target for s in arguments}
        kinds: dict[Place, Any] = {(s.target.name,): state.args[s.value.index] for s in arguments}
        # An argument that is given another value later on is left alone.
        places: dict[str, Place] = {
            s.target.name: (s.target.name,) for s in arguments if once[s.target.name] == 1
        }
        reads: list[ir.Assign] = []
        # A variable may be seen before what it is made of, blocks being in no order.
        known = -1
        while known < len(places):
            known = len(places)
            for found in _assignments(blocks):
                place = _place(found.value, places, kinds)
                if place is None or found.target.name in places or once[found.target.name] > 1:
                    continue
                places[found.target.name] = place
                if place not in values:
                    outer = place[:-1]
                    kinds[place] = _field(kinds[outer], place[-1])
                    values[place] = first.scope.redefine(".".join(("$field", *place)), found.loc)
                    read = ir.Expr.getattr(values[outer], place[-1], found.loc)
                    reads.append(ir.Assign(read, values[place], found.loc))
        copies = places.keys() - {s.target.name for s in arguments}
        for block in blocks.values():
            block.body = [s for s in block.body if not _makes(s, copies)]
        replace_vars(blocks, {name: values[places[name]] for name in copies})
        start = 1 + max((first.body.index(s) for s in arguments), default=-1)
        first.body[start:start] = reads
        PostProcessor(function).run()
        function._definitions = build_definitions(blocks)
        return bool(copies)


def _assignments(blocks: dict[int, Any]) -> Iterator[Any]:
    for block in blocks.values():
        yield from block.find_insts(ir.Assign)


def _place(value: Any, places: dict[str, Place], kinds: dict[Place, Any]) -> Place | None:
    """Where in the arguments a value lies, or None."""
    if isinstance(value, ir.Var):
        return places.get(value.name)
    if isinstance(value, ir.Expr) and value.op == "getattr" and value.value.name in places:
        outer = places[value.value.name]
        if isinstance(kinds[outer], BaseNamedTuple) and value.attr in kinds[outer].fields:
            return (*outer, value.attr)
    return None


def _field(kind: Any, name: str) -> Any:
    return kind.types[kind.fields.index(name)]


def _makes(statement: Any, names: set[str]) -> bool:
    """Whether a statement makes one of these variables."""
    return isinstance(statement, ir.Assign) and statement.target.name in names
