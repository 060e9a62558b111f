"""HDP with changes of ours: what they change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from six_ops import six_ops

from planners.features.class_graph import ClassGraph
from planners.features.fast_devices import as_fast, seconds_of_groups
from planners.hdp_tuned import HDPTuned
from suite.core.errors import InputError


@pytest.mark.parametrize("constant", [4.0, 0.0])
def test_devices_start_as_likely_as_they_are_fast(constant: float) -> None:
    settings = HDPTuned(groups=2, hidden=4, tanh_constant=constant)
    # The groups take 2, 1, 1 s and 1, 1e-9, 1e-9 s.
    groups, grouping = np.array([[2.0, 1.0, 1.0], [1.0, 1e-9, 1e-9]]), np.array([0, 0, 0, 1, 1, 1])
    problem = replace(six_ops(), seconds=groups[grouping] / 3)
    embed = settings.group_embedding(ClassGraph(problem), 2)
    placer = settings.placer(embed, 3, np.random.default_rng(0))
    placer.begin(as_fast(problem, grouping, settings.head_start))
    table = placer.factor * placer.table.numpy()
    odds = np.exp(constant * np.tanh(table) if constant else table)
    assert odds[0] / odds[0].sum() == pytest.approx([0.2, 0.4, 0.4])
    # A billion times as fast is no certainty: the CPU stays e^2 below the mean, the GPUs above.
    assert odds[1] == pytest.approx(np.exp([-2.0, 2.0, 2.0]), rel=1e-5)


def test_a_group_takes_what_its_classes_take_together() -> None:
    problem = six_ops()
    found = seconds_of_groups(problem, np.array([0, 0, 0, 1, 1, 1]))
    assert found == pytest.approx(problem.class_seconds.reshape(2, 3, -1).sum(axis=1))


def test_a_head_start_needs_a_table_and_a_bound_above_it() -> None:
    with pytest.raises(InputError, match=r"head_start is 2\.0 without a table; give one, or 0"):
        HDPTuned(table=0.0)
    with pytest.raises(InputError, match=r"head_start is 4\.0; give >= 0 and less than tanh"):
        HDPTuned(head_start=4.0)


def test_what_starts_anew_must_be_possible() -> None:
    with pytest.raises(InputError, match=r"patience is -1; give updates, or 0 for endless"):
        HDPTuned(patience=-1)
    with pytest.raises(InputError, match=r"kept is 1\.0; give a probability between 0 and 1"):
        HDPTuned(kept=1.0)
