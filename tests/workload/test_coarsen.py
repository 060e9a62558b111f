"""A small training step, coarsened by hand, and its splits turned back into placements."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hand_made import machine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.simulator.reference import simulate
from suite.tarnawski.passes import BACKWARD, END, FORWARD, passes_of
from suite.tarnawski.placements import turned_back
from suite.tarnawski.reader import read_workload
from suite.tarnawski.workload import Origin, Split
from suite.tarnawski.writer import document

# (name, bytes of the variable); all take 1 ms on a GPU and 10 ms on a CPU.
OPS = (
    *(("a/w", 1000), ("a/mul", 0), ("b/mul", 0), ("c/loss", 0)),
    *(("gradients/b/mul_grad/x", 0), ("gradients/a/mul_grad/x", 0)),
    *(("adam/rate", 0), ("a/apply", 0), ("train", 0), ("out", 0)),
)
# (producer, bytes, readers, perhaps whose buffer it shares); 0 bytes: a control edge or a handle.
TENSORS = (
    ("a/w", 0, ("a/mul", "a/apply")),
    ("a/mul", 5000, ("b/mul", "c/loss", "gradients/b/mul_grad/x")),
    ("b/mul", 7000, ("c/loss",)),
    ("c/loss", 7000, ("gradients/b/mul_grad/x",)),
    ("c/loss", 4, ("out",)),
    ("gradients/b/mul_grad/x", 5000, ("gradients/a/mul_grad/x",)),
    ("gradients/a/mul_grad/x", 1000, ("a/apply",)),
    ("adam/rate", 4, ("a/apply",)),
    ("a/apply", 0, ("train",)),
    ("train", 0, ("out",)),
)
A, B, C = 0, 1, 2


def block(name):
    """The model's rule: the scope."""
    return name[0] if name[1:2] == "/" else None


def step(ops=OPS, tensors=TENSORS, gpu_kernel=True, **of_machine):
    """A problem on a CPU and two GPUs: links take 0.001 ms and another for every 1,000 bytes."""
    names = [name for name, _ in ops]
    graph = OpGraph.create(
        "step",
        names,
        ["Op"] * len(ops),
        [names.index(t[0]) for t in tensors],
        [(k, names.index(reader)) for k, t in enumerate(tensors) for reader in t[2]],
        tensor_bytes=[t[1] for t in tensors],
        alias_of=[t[3] if len(t) > 3 else -1 for t in tensors],
        persistent_bytes=[size for _, size in ops],
        gpu_kernel=gpu_kernel,
        seconds={"cpu": [0.01] * len(ops), "gpu": [0.001] * len(ops)},
    )
    return Problem.create(graph, machine(3, latency=1000, **of_machine), rule=block)


def origin(problem, inference=False):
    return Origin("step", "", "hand", 2, inference, problem.fingerprint)


def written(folder, problem, inference=False, cpus=None):
    """The file's content, and the workload that is read from it."""
    path = folder / "step.json"
    path.write_text(json.dumps(document(problem, origin(problem, inference), cpus)))
    return json.loads(path.read_text()), read_workload(path)


def links(data):
    return {
        (e["sourceId"], e["destId"]): (pytest.approx(e["cost"]), e["size"]) for e in data["edges"]
    }


def nodes(data, *fields):
    return [tuple(node[field] for field in fields) for node in data["nodes"]]


def test_passes_follow_names_and_what_waits_for_them():
    found = dict(zip((name for name, _ in OPS), passes_of(step().graph).tolist(), strict=True))
    forward = {"a/w", "a/mul", "b/mul", "c/loss"}
    assert {name for name, part in found.items() if part == FORWARD} == forward
    assert {name for name, part in found.items() if part == END} == {"train", "out"}
    assert found["adam/rate"] == BACKWARD


@pytest.mark.parametrize(
    ("scope", "is_one"),
    [
        *[(scope, True) for scope in ("gradients", "gradients_12", "gradient_tape")],
        *[(f"ConstantFolding/{scope}", True) for scope in ("gradients", "gradient_tape")],
        *[(scope, False) for scope in ("my_gradients", "gradients_x", "x/gradients")],
    ],
)
def test_gradients_are_what_tensorflow_names_so(scope, is_one):
    ops = [("a/mul", 0), (f"{scope}/a/mul_grad", 0), ("a/apply", 0), ("a/loss", 0)]
    tensors = [("a/mul", 8, (ops[1][0], "a/loss")), (ops[1][0], 8, ("a/apply",))]
    after = BACKWARD if is_one else FORWARD
    assert passes_of(step(ops, tensors).graph).tolist() == [FORWARD, after, after, FORWARD]


def test_a_step_that_does_not_return_its_loss_is_refused():
    tensors = [t for t in TENSORS if t[1] != 4 or t[0] != "c/loss"]
    with pytest.raises(InputError, match="return its loss"):
        passes_of(step(tensors=tensors).graph)


def test_inference_is_the_forward_pass(tmp_path):
    data, workload = written(tmp_path, step(), inference=True)
    assert (data["maxFPGAs"], data["maxCPUs"], data["maxSizePerFPGA"]) == (2, 1, 10**9)
    # Block a has the variable and the product; the bytes of a and b go once to each reader.
    fields = ("colorClass", "fpgaLatency", "cpuLatency", "size", "isBackwardNode")
    assert nodes(data, *fields) == [
        (A, 2.0, 20.0, 1000, False),
        (B, 1.0, 10.0, 0, False),
        (C, 1.0, 10.0, 0, False),
    ]
    assert links(data) == {(0, 1): (0.006, 5000), (0, 2): (0.006, 5000), (1, 2): (0.008, 7000)}
    assert workload.origin == origin(step(), True)


def test_training_has_forward_and_backward_of_a_block_in_one_colour(tmp_path):
    data, workload = written(tmp_path, step())
    # What backward nodes read waits in the forward ones: 5,000 bytes in a, 7,004 in c. The last two
    # nodes are outputs: a and c keep something in their colour as well.
    fields = ("colorClass", "fpgaLatency", "size", "isBackwardNode")
    assert nodes(data, *fields) == [
        (A, 2.0, 6000, False),
        (B, 1.0, 0, False),
        (C, 1.0, 7004, False),
        (B, 1.0, 0, True),
        (A, 3.0, 0, True),
        (A, 1.0, 0, True),
        (C, 1.0, 0, True),
        (A, 0.0, 0, False),
        (C, 0.0, 0, False),
    ]
    free, a, c = (0.0, 0), (0.006, 5000), (0.008, 7000)
    assert links(data) == {
        **dict.fromkeys([(0, 4), (4, 5), (2, 6), (0, 7), (2, 8)], free),
        **dict.fromkeys([(7, 1), (7, 2), (7, 3)], a),
        **{(1, 2): c, (8, 3): c, (3, 4): a, (5, 6): (0.001, 0)},
    }
    assert workload.colour.tolist() == [A, B, C, B, A, A, C, A, C]


@pytest.mark.parametrize("more", [[], [("a/1", 1, ("a/2",))]])
def test_a_block_that_others_wait_for_in_between_is_several_nodes(tmp_path, more):
    ops = [(name, 0) for name in ("a/1", "b/1", "a/2", "c/1")]
    tensors = [("a/1", 1, ("b/1",)), ("b/1", 1, ("a/2", "c/1")), ("a/2", 1, ("c/1",))]
    data, _ = written(tmp_path, step(ops, [*tensors, *more]))
    # After them come those of outputs.
    whole = [(A, 1.0), (B, 1.0), (A, 1.0), (C, 1.0)]
    assert nodes(data, "colorClass", "fpgaLatency")[:4] == whole


def test_an_output_of_several_tensors_costs_what_each_takes_by_itself(tmp_path):
    tensors = [*TENSORS, ("a/mul", 2000, ("b/mul", "c/loss"))]
    data, _ = written(tmp_path, step(tensors=tensors), inference=True)
    both = (0.006 + 0.003, 7000)
    assert links(data) == {(0, 1): both, (0, 2): both, (1, 2): (0.008, 7000)}


def test_tensors_for_different_readers_are_outputs_of_their_own(tmp_path):
    tensors = [*TENSORS, ("a/mul", 2000, ("b/mul",))]
    data, workload = written(tmp_path, step(tensors=tensors), inference=True)
    assert links(data) == {
        **{(0, 3): (0.0, 0), (0, 4): (0.0, 0), (1, 2): (0.008, 7000)},
        **{(3, 1): (0.003, 2000), (4, 1): (0.006, 5000), (4, 2): (0.006, 5000)},
    }
    assert workload.colour.tolist() == [A, B, C, A, A]
    assert workload.size.tolist() == [1000, 0, 0, 0, 0]


@pytest.mark.parametrize(("shared", "host"), [(1, "b"), (0, "a")])
def test_a_block_without_a_forward_part_joins_whom_it_shares_most_bytes_with(
    tmp_path, shared, host
):
    """Control edges count where nothing else does."""
    sums = [*[("z/sum", 0, ("a/apply",))] * 3, ("gradients/b/mul_grad/x", shared, ("z/sum",))]
    ops = [*OPS[:6], ("z/sum", 0), *OPS[6:]]
    problem = step(ops, [*TENSORS, *sums])
    _, workload = written(tmp_path, problem)
    at = turned_back(problem, workload, Split.of(workload.colour == B)).devices
    device = dict(zip(problem.graph.op_names, at.tolist(), strict=True))
    assert device["a/mul"] != device["b/mul"]
    assert device["z/sum"] == device[f"{host}/mul"]


def test_a_buffer_that_waits_for_the_backward_pass_takes_room_once(tmp_path):
    """What b hands on lies in a's buffer; a backward operation reads both."""
    handed_on = ("b/mul", 5000, ("c/loss", "gradients/b/mul_grad/x"), 1)
    data, _ = written(tmp_path, step(tensors=[*TENSORS[:2], handed_on, *TENSORS[3:]]))
    assert nodes(data, "colorClass", "size")[:3] == [(A, 1000 + 5000), (B, 0), (C, 7000 + 4)]


def test_what_can_go_to_a_gpu_joins_nothing_that_cannot(tmp_path):
    """Neither is joined: z, which shares bytes with b alone, nor a's part that no GPU runs."""
    ops = [*OPS[:6], ("z/sum", 0), *OPS[6:]]
    sums = [*[("z/sum", 0, ("a/apply",))] * 3, ("gradients/b/mul_grad/x", 0, ("z/sum",))]
    tensors = [*TENSORS, *sums, ("b/mul", 100, ("z/sum",))]
    host = ("b/mul", "adam/rate")
    problem = step(ops, tensors, [name not in host for name, _ in ops])
    _, workload = written(tmp_path, problem)
    everything = np.where(np.isfinite(workload.accelerator), 1, 2)
    at = turned_back(problem, workload, Split.of(everything)).devices
    device = dict(zip(problem.graph.op_names, at.tolist(), strict=True))
    assert {name for name, where in device.items() if where == 0} == set(host)


def test_a_block_that_inference_leaves_out_goes_where_it_can_run(tmp_path):
    problem = step(gpu_kernel=[name != "a/apply" for name, _ in OPS])
    _, workload = written(tmp_path, problem, inference=True)
    at = turned_back(problem, workload, Split.of(np.ones(workload.nodes))).devices
    device = dict(zip(problem.graph.op_names, at.tolist(), strict=True))
    assert (device["a/mul"], device["a/apply"], device["out"]) == (2, 0, 2)


def test_what_no_gpu_runs_is_apart_from_its_block(tmp_path):
    problem = step(gpu_kernel=[name != "a/mul" for name, _ in OPS])
    data, workload = written(tmp_path, problem, inference=True)
    assert nodes(data, "supportedOnFpga", "fpgaLatency")[:2] == [(True, 1.0), (False, 0.0)]
    everything = np.where(np.isfinite(workload.accelerator), 1, 2)
    devices = turned_back(problem, workload, Split.of(everything)).devices
    assert dict(zip(problem.graph.op_names, devices.tolist(), strict=True)) == {
        name: 0 if name == "a/mul" else 2 for name, _ in OPS
    }
    with pytest.raises(InputError, match="no GPU kernel"):
        document(problem, origin(problem), cpus=0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_an_answer_is_a_placement_of_blocks(tmp_path, inference, of_block):
    problem = step()
    _, workload = written(tmp_path, problem, inference)
    split = Split.of(np.array(of_block)[workload.colour])
    placement = turned_back(problem, workload, split)
    # Accelerators 0 and 1 are the GPUs, which follow the CPU.
    device = dict(zip("abc", [(d + 1) % 3 for d in of_block], strict=True))
    for name, at in zip(problem.graph.op_names, placement.devices.tolist(), strict=True):
        scope = {"adam/rate": "a", "train": "a", "out": "c"}.get(name)
        assert at == device[scope or name.removeprefix("gradients/")[0]]


def test_the_step_of_an_answer_is_simulated(tmp_path):
    problem = step()
    _, workload = written(tmp_path, problem)
    alone = turned_back(problem, workload, Split.of(np.zeros(workload.nodes)))
    assert simulate(problem, alone.devices).step_time == pytest.approx(0.010)
    apart = turned_back(problem, workload, Split.of((workload.colour == B).astype(int)))
    # One operation after the other, and four transfers in between.
    moved = 0.006 + 0.008 + 0.008 + 0.006
    assert simulate(problem, apart.devices).step_time == pytest.approx(1e-3 * (10 + moved))


def test_a_machine_that_the_format_cannot_say_is_refused():
    problem = step()
    numbers = "memory", "peak_flops", "memory_bandwidth", "launch_overhead", "host_overhead"
    for number in numbers:
        other = replace(problem.machine.devices[2], **{number: 5})
        uneven = replace(problem.machine, devices=(*problem.machine.devices[:2], other))
        with pytest.raises(InputError, match="differ"):
            document(Problem.create(problem.graph, uneven), origin(problem))
    link = problem.machine.links[0]
    for source, target in (("cpu", "gpu:0"), ("gpu:0", "cpu"), ("gpu", "cpu")):
        slow = replace(link, latency=1e-3, source=source, target=target)
        uneven = replace(problem.machine, links=(link, slow))
        with pytest.raises(InputError, match="different links between GPUs and CPUs"):
            document(Problem.create(problem.graph, uneven), origin(problem))
    with pytest.raises(InputError, match="needs a GPU"):
        document(Problem.create(problem.graph, machine(1)), origin(problem))


def test_a_file_of_another_shape_is_refused(tmp_path):
    problem = step()
    _, workload = written(tmp_path, problem, inference=True)
    wrong = replace(workload, origin=origin(problem, inference=False))
    with pytest.raises(InputError, match="not as placebench wrote it"):
        turned_back(problem, wrong, Split.of(np.zeros(3)))
