"""That tests which share what is costly to make run in one process."""

import pytest


@pytest.mark.xdist_group("told")
def test_the_scheduler_is_told_of_groups(request):
    """pytest-xdist knows a group by the end of a test's name; other versions of pytest lose it."""
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("not run with --dist loadgroup")
    assert request.node.nodeid.endswith("@told")
