"""Native code runs in a child: answers come back, crashes become exceptions."""

import multiprocessing

import numpy as np
import pytest

from suite.search.subprocess_call import NativeCrash, call


def test_arrays_travel_both_ways():
    answer = call("numpy", "builtins:dict", {"a": np.arange(5), "b": 2.5, "c": "text"})
    assert answer["a"].tolist() == [0, 1, 2, 3, 4]
    assert float(answer["b"]) == 2.5
    assert str(answer["c"]) == "text"


def test_a_segmentation_fault_is_an_exception():
    with pytest.raises(NativeCrash, match=r"scotch died with signal 11 \(SIGSEGV\)"):
        call("scotch", "faulthandler:_sigsegv", {})


def test_an_exception_keeps_its_message():
    with pytest.raises(NativeCrash, match=r"metis failed: TypeError: float\(\) takes no keyword"):
        call("metis", "builtins:float", {"base": 1})


def test_a_hang_ends():
    with pytest.raises(NativeCrash, match=r"metis gave no answer within 0\.5 s"):
        call("metis", "signal:pause", {}, timeout=0.5)


def _crash_in_worker(_):
    try:
        call("scotch", "faulthandler:_sigsegv", {})
    except NativeCrash as crash:
        return str(crash)


def test_it_works_inside_a_daemonic_pool_worker():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "signal 11" in pool.map(_crash_in_worker, [0])[0]
