"""numba's compiler with passes of ours."""

from __future__ import annotations

from typing import ClassVar

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import CompilerPass, PassManager
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import InlineInlinables

from suite.core.argument_fields import FieldsOnce
from suite.core.unsigned_indices import UnsignedIndices


class FieldsOnceCompiler(CompilerBase):  # type: ignore[misc]
    """Takes fields out of arguments once, after the helpers have been inlined."""

    passes: ClassVar[dict[type[CompilerPass], type[CompilerPass]]] = {FieldsOnce: InlineInlinables}
    """Ours, each with the one of numba's that it follows."""

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's own pipeline with ours in it."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        for ours, before in self.passes.items():
            pipeline.add_pass_after(ours, before)
        pipeline.finalize()
        return [pipeline]


class LeanCompiler(FieldsOnceCompiler):
    """Does not ask, either, whether an index is negative."""

    passes = FieldsOnceCompiler.passes | {UnsignedIndices: NopythonTypeInference}
