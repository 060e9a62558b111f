"""Groups that are made of a graph's modules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems
from unrolled import STEPS, classes, problem_of

from baselines.structure.cut import cut_modules
from baselines.structure.find import find_structure
from suite.core.problem import Problem


@settings(max_examples=40)
@given(problem=problems(), count=st.integers(1, 12))
def test_any_graph_is_cut_into_as_many_groups_as_asked(problem: Problem, count: int) -> None:
    groups, classes = cut_modules(problem, find_structure(problem), count), problem.graph.n_classes
    assert groups.shape == (classes,)
    assert len(np.unique(groups)) == int(groups.max(initial=-1)) + 1 == min(count, classes)


@pytest.mark.parametrize("count", [8, 16])
def test_the_heaviest_are_cut_by_what_comes_last_then_along_the_axis(count: int) -> None:
    problem = problem_of(2)
    structure = find_structure(problem)
    groups = cut_modules(problem, structure, count)
    assert len(np.unique(groups)) == count
    for layer in range(2):
        products = groups[classes(problem, "matmul", layer)]
        # A group has a run of the steps: what is ahead in the axis is in no group that was left.
        assert len(np.unique(products)) == 1 + np.count_nonzero(np.diff(products))
        gradients = groups[classes(problem, "d_weight", layer)]
        assert len(gradients) == STEPS
        assert not set(gradients.tolist()) & set(products.tolist())
