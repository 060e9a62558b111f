"""Which of several answers is the fastest."""

import numpy as np
from six_ops import six_ops

from suite.bench.compare import Answer, Trial, fastest
from suite.core.placement import Placement
from suite.simulator.compiled.judge import Simulator


def trial(problem, name, devices):
    placement = Placement.of(problem, np.array(devices, np.int32))
    return Trial.of(name, Answer(placement, Simulator(problem).run(placement.devices), 0.0, 0))


def test_the_fastest_answer_fits_in_memory():
    problem = six_ops(gpu="5 kB")
    gpu, cpu = trial(problem, "gpu", [1] * 6), trial(problem, "cpu", [0] * 6)
    assert (gpu.status, cpu.status) == ("oom", "ok")
    assert gpu.answer.result.step_time < cpu.answer.result.step_time
    assert fastest([gpu, cpu]) is cpu
    assert fastest([gpu]) is None
