"""numba's compiler with passes of ours."""

from __future__ import annotations

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonTypeInference
from numba.core.untyped_passes import InlineInlinables

from suite.core.argument_fields import FieldsOnce
from suite.core.unsigned_indices import UnsignedIndices


class FieldsOnceCompiler(CompilerBase):  # type: ignore[misc]
    """Takes fields out of arguments once, after the helpers have been inlined."""

    def define_pipelines(self) -> list[PassManager]:
        """Return numba's own pipeline with one pass more."""
        return [self._finished(self._pipeline())]

    def _pipeline(self) -> PassManager:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(FieldsOnce, InlineInlinables)
        return pipeline

    def _finished(self, pipeline: PassManager) -> PassManager:
        pipeline.finalize()
        return pipeline


class LeanCompiler(FieldsOnceCompiler):
    """Does not ask, either, whether an index is negative."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the pipeline with one more."""
        pipeline = self._pipeline()
        pipeline.add_pass_after(UnsignedIndices, NopythonTypeInference)
        return [self._finished(pipeline)]
