"""A pass of numba's compiler: helpers are inlined without a copy of their code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from numba.core import inline_closurecall
from numba.core.compiler_machinery import register_pass
from numba.core.untyped_passes import InlineInlinables


@register_pass(mutates_CFG=True, analysis_only=False)
class InlineUncopied(InlineInlinables):  # type: ignore[misc]
    """As numba's own pass, but what is inlined is what numba has just made of the helper.

    numba copies that twice before it changes it, lest whoever asked for it finds it changed, and
    each of its blocks with all variables of all of them, so that a helper of many blocks, into
    which others were inlined, is copied for seconds. This pass never looks at it again.
    """

    _name = "placebench_inline_uncopied"

    def run_pass(self, state: Any) -> bool:
        """Inline into ``state.func_ir``; returns whether that changed anything, as numba has it."""
        with _uncopied():
            return bool(super().run_pass(state))


@contextmanager
def _uncopied() -> Iterator[None]:
    """Let ``InlineWorker``, the only one in its module that copies, work on what it is given.

    numba has one lock for all that compile: nobody else meets the module as it is here.
    """
    before = inline_closurecall.copy
    inline_closurecall.copy = SimpleNamespace(deepcopy=lambda block: block)
    try:
        yield
    finally:
        inline_closurecall.copy = before
