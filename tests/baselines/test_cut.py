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


@settings(max_examples=40, deadline=None)
@given(problem=problems(), count=st.integers(1, 12))
def test_any_graph_is_cut_into_no_more_groups_than_asked(problem: Problem, count: int) -> None:
    groups = cut_modules(problem, find_structure(problem), count)
    assert groups.shape == (problem.graph.n_classes,)
    assert len(np.unique(groups)) == int(groups.max(initial=-1)) + 1 <= count


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


def test_as_many_groups_as_classes_are_classes_as_far_as_the_structure_tells_them_apart() -> None:
    problem = problem_of(2)
    structure = find_structure(problem)
    groups = cut_modules(problem, structure, problem.graph.n_classes)
    keys = np.stack([structure.modules[-1], structure.last, structure.step])
    assert len(np.unique(groups)) == np.unique(keys, axis=1).shape[1]
