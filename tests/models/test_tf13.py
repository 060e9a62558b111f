"""The graphs that TensorFlow 1.3.0 made: their sizes, what they become here, and that it still can.

The programs need a Python 3.6 with models/tf13/requirements.txt: PLACEBENCH_TF13_PYTHON names it.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from models.tf13_tasks import FOLDER, GPU_KERNELS, TASKS
from suite.capture.cache import load_graph
from suite.capture.graph_def import read
from suite.capture.kernels import gpu_kernel, recorded
from suite.core.model import CPU, all_on_first
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.search.registry import tasks
from suite.simulator.compiled.judge import Simulator

pytestmark = pytest.mark.xdist_group("tf13")
"""What these tests share takes long to make: one process makes it."""

PUBLISHED = {
    "inception_v3_tf13": 24_713,
    "resnet_152_tf13": 20_586,
    "rnnlm_tf13": 9_021,
    "nmt_2_tf13": 28_044,
    "nmt_4_tf13": 46_600,
    "nmt_8_tf13": 83_712,
    "colocrl_rnnlm_tf13": 8_943,
    "colocrl_nmt_tf13": 22_097,
    "colocrl_inception_v3_tf13": 31_180,
}
CELLS = "RNN/RNN/multi_rnn_cell"
FITS = {"rnnlm_tf13": True, "nmt_2_tf13": False}
"""Whether one K40 holds the step (HDP, Table 1), of the tasks that capture quickly."""


def run(*command):
    """Run a command of another Python, which must not find this one's packages."""
    rest = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=rest)


def python_with_tf13():
    """A Python that has TensorFlow 1.3.0; None where there is none."""
    python = os.environ.get("PLACEBENCH_TF13_PYTHON") or shutil.which("python3.6")
    if python is None:
        return None
    answer = run(python, "-W", "ignore", "-c", "import tensorflow as tf; print(tf.__version__)")
    return python if answer.stdout.strip() == "1.3.0" else None


@pytest.mark.parametrize("name", ["rnnlm_tf13", "colocrl_rnnlm_tf13"])
def test_tensorflow_1_3_makes_them_again_bit_for_bit(name):
    python = python_with_tf13()
    if python is None:
        pytest.skip("no Python 3.6 with TensorFlow 1.3.0; set PLACEBENCH_TF13_PYTHON to one")
    make = Path(FOLDER).parent / "make.py"
    answer = run(python, "-B", "-W", "ignore", str(make), "--check", name)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "; same (" in answer.stdout


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_operations_are_within_5_percent_of_the_published(name):
    operations = len(read(FOLDER / f"{name}.pb.xz").node)
    assert abs(operations / PUBLISHED[name] - 1) < 0.05
    described = json.loads((FOLDER / f"{name}.json").read_bytes())
    assert described["operations"] == operations
    assert described["choices"] == list(tasks()[name].choices)
    assert tasks()[name].paper_ops == PUBLISHED[name]


def test_every_graph_is_a_task_and_every_task_has_a_graph():
    assert {path.name for path in FOLDER.glob("*.pb.xz")} == {f"{name}.pb.xz" for name in TASKS}
    assert set(TASKS) == set(PUBLISHED)


def node(op, **types):
    from tensorflow.core.framework.node_def_pb2 import NodeDef

    found = NodeDef(op=op, name="asked")
    for name, number in types.items():
        found.attr[name].type = number
    return found


def test_the_kernels_are_those_of_tensorflow_1_3():
    """It has kernels for sparse gradients on a GPU, in host memory; it does not know Snapshot."""
    registry = recorded(GPU_KERNELS)
    float32, int32, string = 1, 3, 7
    unique = gpu_kernel(node("Unique", T=int32, out_idx=int32), registry)
    assert set(unique.host_memory_arg) == {"x", "y", "idx"}
    segments = gpu_kernel(node("UnsortedSegmentSum", T=float32, Tindices=int32), registry)
    assert list(segments.host_memory_arg) == ["num_segments"]
    assert gpu_kernel(node("MatMul", T=float32), registry)
    assert gpu_kernel(node("MatMul", T=string), registry) is None
    assert gpu_kernel(node("Snapshot", T=float32), registry) is None


@pytest.mark.parametrize("name", FITS)
def test_a_k40_holds_what_it_held_in_the_paper(name):
    graph = load_graph(name)
    assert graph.metadata["ops_unpruned"] == len(read(FOLDER / f"{name}.pb.xz").node)
    machine = load_machine("k40").with_gpus(2)
    devices = np.array([*machine.gpus, machine.cpus[0]])
    problem = Problem.create(graph, machine)
    placement = Placement.of(problem, devices[all_on_first(graph, 2)])
    result = Simulator(problem).run(placement.devices)
    assert bool(result.oom.any()) != FITS[name]


def test_the_expert_of_nmt_uses_a_gpu_per_layer_and_fits():
    graph, model = load_graph("nmt_2_tf13"), tasks()["nmt_2_tf13"]
    numbers = model.expert(graph, 2)
    for i, name in enumerate(graph.op_names):
        if name.endswith("ApplyAdam") and "/cell_" in name:
            assert numbers[i] == int(name.split("/cell_")[1][0])
    assert CPU not in numbers
    machine = load_machine("k40").with_gpus(2)
    problem = Problem.create(graph, machine)
    placement = Placement.of(problem, np.array(machine.gpus)[numbers])
    assert not Simulator(problem).run(placement.devices).oom.any()


def test_a_variable_is_with_its_update_and_its_slots():
    graph = load_graph("rnnlm_tf13")
    index = {name: i for i, name in enumerate(graph.op_names)}
    for weight in ("softmax_w", "embedding"):
        mine = {graph.colocation[index[n]] for n in (weight, f"{weight}/Adam", f"{weight}/Adam_1")}
        assert len(mine) == 1
    assert (
        graph.colocation[index["softmax_w"]]
        == graph.colocation[index["Adam/update_softmax_w/ApplyAdam"]]
    )
    bound = [choice for choice in graph.metadata["choices"] if "Unique" in choice]
    assert bound == ["as many distinct values as there are values: Adam/update_embedding/Unique"]
    unique = graph.producer.tolist().index(index["Adam/update_embedding/Unique"])
    assert graph.tensor_bytes[unique] == 4 * 64 * 40


@pytest.mark.parametrize(
    ("name", "block"),
    [
        (f"{CELLS}/cell_1/cell_1/basic_lstm_cell/Sigmoid_7", "layer 1, step 2"),
        (f"{CELLS}/cell_0/cell_0/basic_lstm_cell/split_7/split_dim", "layer 0, step 7"),
        (
            f"{CELLS}/cell_0/cell_0/basic_lstm_cell/basic_lstm_cell_3/MatMul_grad/MatMul",
            "layer 0, step 3",
        ),
        ("embedding_lookup_5_grad/Reshape", "embedding, step 5"),
        ("softmax_4/MatMul", "softmax, step 4"),
        ("sequence_loss/sequence_loss_by_example/mul_9", "softmax, step 9"),
        ("softmax_w/Adam", None),
    ],
)
def test_the_blocks_are_steps(name, block):
    found = tasks()["colocrl_rnnlm_tf13"].block(name)
    assert found is None if block is None else found.endswith(block)
