"""numba's compiler with passes of ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any, ClassVar

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import CompilerPass, PassManager
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import InlineInlinables

from suite.core.argument_fields import FieldsOnce
from suite.core.inlining import InlineUncopied
from suite.core.unsigned_indices import UnsignedIndices

ROOM = 2**16 + 1
"""Words of the frame below which a kernel is compiled."""


def with_room(call: Callable[[], Any]) -> Any:
    """Call a function of no arguments, with half a megabyte for the frames of what it calls.

    Python lays frames into pieces of 16 KB, and maps and unmaps a piece whenever a call crosses the
    border between two. A compilation calls millions of times at one depth; where a border lies
    there, which chance decides, half as much time again goes into that. A frame this large, of
    which nothing is used, is given a piece of a megabyte, and what it calls has the rest of it.
    """
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=ROOM)


class FieldsOnceCompiler(CompilerBase):  # type: ignore[misc]
    """Inlines helpers as they are, then takes fields out of arguments once."""

    passes: ClassVar[dict[type[CompilerPass], type[CompilerPass]]] = {FieldsOnce: InlineInlinables}
    """Ours, each with the one of numba's that it follows."""
    inlines: ClassVar[type[CompilerPass]] = InlineUncopied
    """In the place of ``InlineInlinables``."""

    def compile_extra(self, func: FunctionType) -> Any:
        """Compile a function."""
        return with_room(partial(super().compile_extra, func))

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's own pipeline with ours in it."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        for ours, before in self.passes.items():
            pipeline.add_pass_after(ours, before)
        pipeline.passes = [
            (self.inlines if one is InlineInlinables else one, words)
            for one, words in pipeline.passes
        ]
        pipeline.finalize()
        return [pipeline]


class LeanCompiler(FieldsOnceCompiler):
    """Does not ask, either, whether an index is negative."""

    passes = FieldsOnceCompiler.passes | {UnsignedIndices: NopythonTypeInference}
