"""placebench run and export: a placed model runs for real, and plain TensorFlow loads it."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import tensorflow as tf

from suite.capture.from_module import capture_target
from suite.capture.load_model import load
from suite.capture.options import Options
from suite.cli import main
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.execution.export import export_live
from suite.formats.interchange import write_placement
from suite.formats.machine_toml import load_machine
from suite.simulator.semantics import HETERO

SPEEDS = """
kind = "cpu"
memory = "4 GB"
peak_flops = 1e10
memory_bandwidth = 1e10
launch_overhead = 1e-6
"""
LINK = 'bandwidth = 1e9\nlatency = 1e-4\nchannel = "pair"\n'
DEVICES = "".join(f'[[device]]\nname = "cpu:{i}"{SPEEDS}' for i in range(2))
MACHINE = f'name = "two"\n{DEVICES}[[link]]\n{LINK}'
NET = """
import tensorflow as tf

w = tf.Variable(tf.random.stateless_uniform([8, 8], [1, 2]), name="w")
speed = tf.Variable(tf.zeros([8, 8]), name="speed")


@tf.function(input_signature=[{"x": tf.TensorSpec([4, 8]), "y": tf.TensorSpec([4, 8])}])
def step(pair):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((pair["x"] @ w - pair["y"]) ** 2)
    speed.assign(0.9 * speed + tape.gradient(loss, w))
    w.assign_sub(0.1 * speed)
    return {"loss": loss, "nothing": None}
"""
PLAIN = """
import json, sys
import numpy as np, tensorflow as tf
assert not any(name.split(".")[0] == "suite" for name in sys.modules)
(cpu,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
from tensorflow.python.eager import context
policy = tf.saved_model.experimental.VariablePolicy.SAVE_VARIABLE_DEVICES
options = tf.saved_model.LoadOptions(experimental_variable_policy=policy)
loaded = tf.saved_model.load("live", options=options)
rng = np.random.default_rng(0)
pair = {name: tf.constant(rng.random((4, 8), np.float32)) for name in ("x", "y")}
context.enable_run_metadata()
results = [loaded.step(pair) for _ in range(20)]
parts = [p for g in context.export_run_metadata().function_graphs for p in g.partition_graphs]
ran = {n.name.split("StatefulPartitionedCall/")[-1]: n.device for p in parts for n in p.node}
graph_def = tf.compat.v1.GraphDef.FromString(open("frozen/graph.pb", "rb").read())
with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_def, name="")
    config = tf.compat.v1.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=False)
    with tf.compat.v1.Session(config=config) as session:
        total = session.run("total:0", {"x:0": np.ones((4, 8), np.float32)})
print(json.dumps({
    "losses": [float(r["loss"]) for r in results],
    "nothing": results[0]["nothing"] is None,
    "variables": {v.name: v.device for v in loaded.placed_variables},
    "ran": ran,
    "frozen": {op.name: op.device for op in graph.get_operations()},
    "total": float(total),
}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A step in Python, a frozen GraphDef, a placement of each, and what export made of them."""
    folder = tmp_path_factory.mktemp("export")
    before = os.getcwd()
    os.chdir(folder)
    (folder / "m.toml").write_text(MACHINE)
    (folder / "exported_net.py").write_text(NET)
    (folder / "net.pb").write_bytes(frozen())
    sys.path.insert(0, str(folder))
    spread(capture_target("exported_net:step", Options()).graph, folder / "live.json")
    spread(load("net.pb", Options()).graph, folder / "frozen.json")
    for model, name in (("exported_net:step", "live"), ("net.pb", "frozen")):
        export = ["export", model, "--machine", "m.toml", "--placement", f"{name}.json"]
        assert main([*export, "--output", name]) == 0
    yield folder
    os.chdir(before)
    sys.path.remove(str(folder))


def spread(graph, path):
    """Write a placement: colocation classes by turns on two devices."""
    problem = Problem.create(graph, load_machine("m.toml"))
    write_placement(Placement.of(problem, graph.colocation % 2), problem, path)


def frozen():
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [4, 8], name="x")
        hidden = tf.matmul(x, tf.fill([8, 8], tf.reduce_mean(x)), name="hidden")
        tf.reduce_sum(tf.nn.relu(hidden), name="total")
    return graph.as_graph_def().SerializeToString()


@pytest.fixture(scope="module")
def plain(folder):
    """What a process of plain TensorFlow finds in the exported files."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-P", "-c", PLAIN]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def placed(folder, name):
    """Operation -> TensorFlow's device, as the placement says."""
    devices = json.loads((folder / name).read_text())["devices"]
    prefix = "/job:localhost/replica:0/task:0/device:"
    return {op: prefix + device.upper() for op, device in devices.items()}


def unplaced_losses(folder):
    space = {}
    exec((folder / "exported_net.py").read_text(), space)
    rng = np.random.default_rng(0)
    pair = {name: rng.random((4, 8), np.float32) for name in ("x", "y")}
    return [float(space["step"](pair)["loss"]) for _ in range(20)]


def test_plain_tensorflow_trains_a_saved_model_alike(folder, plain):
    np.testing.assert_allclose(plain["losses"], unplaced_losses(folder), rtol=1e-5)
    assert plain["losses"][-1] < plain["losses"][0]
    assert plain["nothing"]


def test_the_saved_model_runs_where_placed(folder, plain):
    devices = placed(folder, "live.json")
    assert len(set(devices.values())) == 2
    variables = {name.split(":")[0]: device for name, device in plain["variables"].items()}
    assert variables == {name: devices[name] for name in ("w", "speed")}
    ops = devices.keys() - variables.keys()
    assert {op: plain["ran"][op] for op in ops} == {op: devices[op] for op in ops}


def test_plain_tensorflow_runs_a_graph_def_with_devices(folder, plain):
    devices = placed(folder, "frozen.json")
    assert len(set(devices.values())) == 2
    assert plain["frozen"] == devices
    assert plain["total"] == 4 * 8 * 8


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        ("session", [f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2)]),
        ("cluster", [f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)]),
    ],
)
def test_an_export_has_the_names_of_its_backend(folder, capsys, backend, names):
    export = [*EXPORT, "frozen.json", "--output", f"for_{backend}", "--backend", backend]
    assert main([*export, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "path": f"for_{backend}/graph.pb",
        "format": "GraphDef",
        "devices": {f"cpu:{i}": name for i, name in enumerate(names)},
    }
    graph_def = tf.compat.v1.GraphDef.FromString((folder / f"for_{backend}/graph.pb").read_bytes())
    placement = json.loads((folder / "frozen.json").read_text())["devices"]
    expected = {op: names[int(device[-1])] for op, device in placement.items()}
    assert {node.name: node.device for node in graph_def.node} == expected


KILLED = """
import os, sys
from pathlib import Path
from suite.execution.export import _new_folder
with _new_folder(Path(sys.argv[1])) as temporary:
    (temporary / "variables").mkdir()
    (temporary / "variables/large").write_text("half")
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("there", [True, False])
def test_a_killed_export_is_in_nobodys_way(folder, there):
    above = folder / f"killed_{there}"
    above.mkdir()
    if there:  # and empty
        (above / "new").mkdir()
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, above / "new"], check=False)
        assert done.returncode == -9
        assert len(list(above.rglob("large"))) == 1
    assert main([*EXPORT, "frozen.json", "--output", str(above / "new")]) == 0
    assert [path.name for path in above.rglob("*")] == ["new", "graph.pb"]


def test_what_another_process_is_exporting_is_left_alone(folder):
    busy = folder / "busy"
    part = busy / f".part-{os.getppid()}-0123456789ab"
    part.mkdir(parents=True)
    assert main([*EXPORT, "frozen.json", "--output", str(busy)]) == 2
    assert main([*EXPORT, "frozen.json", "--output", str(busy / "beside")]) == 0
    assert part.is_dir()


def test_an_exported_program_heeds_all_that_was_asked(folder, capsys):
    """Captured in a child process, which says what is wrong and what is odd."""
    gpu = SPEEDS.replace('"cpu"', '"gpu"')
    (folder / "gpu.toml").write_text(f'{MACHINE}[[device]]\nname = "gpu:0"{gpu}')
    made = json.loads((folder / "live.json").read_text()) | {"tensor_bytes": 1}
    (folder / "odd.json").write_text(json.dumps(made))
    moved = made | {"devices": dict.fromkeys(made["devices"], "gpu:0")}
    (folder / "moved.json").write_text(json.dumps(moved))
    export = ["export", "exported_net:step", "--machine", "gpu.toml", "--gpus", "0"]
    assert main([*export, "--placement", "moved.json", "--output", "away"]) == 2
    assert "machine two has no device 'gpu:0'; it has cpu:0, cpu:1" in capsys.readouterr().err
    assert not (folder / "away").exists()
    odd = ["--placement", "odd.json", "--output", "away", "--backend", "cluster", "--json"]
    with pytest.warns(UserWarning, match="odd.json was made where tensors have 1 bytes in all"):
        assert main([*export, *odd]) == 0
    written = json.loads(capsys.readouterr().out)
    names = {f"cpu:{i}": f"/job:worker/replica:0/task:{i}/device:CPU:0" for i in range(2)}
    assert written == {"path": "away", "format": "SavedModel", "devices": names}
    saved = (folder / "away/saved_model.pb").read_bytes()
    assert all(name.encode() in saved for name in names.values())


def test_run_prints_measured_beside_simulated(folder, capsys):
    run = ["run", "net.pb", "--machine", "m.toml", "--placement", "frozen.json", "--steps", "4"]
    assert main([*run, "--json"]) == 0
    printed = capsys.readouterr()
    verdict = json.loads(printed.out)
    assert verdict["status"] == "ok"
    assert verdict["backend"] == "session"
    assert verdict["virtual"]
    assert len(verdict["step_times"]) == 4
    assert verdict["step_time"]["measured"] == pytest.approx(np.median(verdict["step_times"][2:]))
    assert main(["simulate", "net.pb", *run[2:6], "--json"]) == 0
    simulated = json.loads(capsys.readouterr().out)
    assert verdict["step_time"]["simulated"] == simulated["step_time"]
    for name, row in verdict["devices"].items():
        assert row["busy"]["measured"] > 0
        assert row["busy"]["simulated"] == simulated["busy"][name]
        assert row["peak_memory"]["simulated"] == simulated["peak_memory"][name]
    (first, *_), (last, *_) = verdict["outputs"][0], verdict["outputs"][-1]
    assert first == last  # nothing is trained in it
    assert "running 4 steps" in printed.err


def test_a_profile_is_run_by_what_it_was_profiled_with(folder, capsys):
    (folder / "profile.toml").write_text(f'backend = "cluster"\n{MACHINE}')
    run = ["run", "net.pb", "--machine", "profile.toml", "--placement", "frozen.json"]
    run += ["--steps", "2", "--json"]
    assert main([*run, "--expose"]) == 0
    assert json.loads(capsys.readouterr().out)["backend"] == "cluster"
    assert main([*run, "--backend", "session"]) == 0
    assert json.loads(capsys.readouterr().out)["backend"] == "session"


def test_what_is_simulated_is_by_the_rules_of_the_machine(folder, capsys):
    own = f'semantics = "{HETERO.name}"\n{MACHINE}'
    (folder / "in_turn.toml").write_text(own)
    ask = ["net.pb", "--machine", "in_turn.toml", "--placement", "frozen.json", "--json"]
    assert main(["run", *ask, "--steps", "2", "--backend", "session"]) == 0
    beside = json.loads(capsys.readouterr().out)
    assert main(["simulate", *ask]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert beside["step_time"]["simulated"] == alone["step_time"]
    assert main(["simulate", *ask[:2], "m.toml", *ask[3:]]) == 0
    assert json.loads(capsys.readouterr().out)["step_time"] != alone["step_time"]


def test_the_graph_of_a_step_is_written_with_what_runs_it(folder, capsys):
    """So that a grid has a graph file, and its placements run for real all the same."""
    assert main(["graph", "exported_net:step", "--output", "own.npz"]) == 0
    assert capsys.readouterr().out.endswith("wrote own.npz\nwrote own.pb, what runs it\n")
    run = ["run", "own.npz", "--machine", "m.toml", "--placement", "live.json", "--steps", "2"]
    assert main([*run, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "ok"
    assert main(["graph", "own.npz", "--output", "again.json", "--json"]) == 0
    assert (folder / "again.pb").read_bytes() == (folder / "own.pb").read_bytes()


def test_reference_variables_are_placed_and_exported_but_never_run(folder, capsys):
    """Which is told before a backend starts, and before a search whose answers it would run."""
    with tf.Graph().as_default() as graph:
        w = tf.compat.v1.get_variable("w", [8, 8], use_resource=False)
        tf.matmul(w, w, name="product")
    (folder / "old.pb").write_bytes(graph.as_graph_def().SerializeToString())
    here = ["old.pb", "--machine", "m.toml"]
    place = ["place", *here, "--placer", "best_of_random", "--set", "k=2", "--output"]
    assert main([*place, "old.json"]) == 0
    placed = [*here, "--placement", "old.json"]
    assert main(["export", *placed, "--output", "old"]) == 0
    real = [*place, "new.json", "--backend", "session"]
    top, judged = [*real, "--measure-top", "2"], [*real, "--judge", "real", "--evaluations", "2"]
    for asked in (["run", *placed], top, judged):
        capsys.readouterr()
        assert main(asked) == 2
        told = capsys.readouterr().err
        assert "'w' is a reference variable; make the graph after tf.compat.v1.enable_" in told
        assert "starting backend" not in told
        assert not (folder / "new.json").exists()


RUN = ["run", "net.pb", "--machine", "m.toml", "--placement"]
EXPORT = ["export", "net.pb", "--machine", "m.toml", "--placement"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*RUN, "live.json"], "the placement is of another graph: it has no device"),
        ([*RUN, "nowhere.json"], "nowhere.json"),
        ([*RUN, "frozen.json", "--backend", "tpu"], "no backend 'tpu'; known: cluster, openvino"),
        ([*RUN, "far.json"], "no device 'gpu:7'"),
        ([*RUN, "frozen.json", "--expose"], "a session has no servers to expose"),
        (
            ["run", "g.json", "--machine", "m.toml", "--placement", "g.p.json"],
            "GraphDef is not beside",
        ),
        (["graph", "net.pb", "--output", "net.npz"], "net.pb would be replaced by the GraphDef"),
        (["graph", "g.json", "--output", "net.npz"], "net.pb would be taken for what runs net.npz"),
        (["graph", "net.pb", "--output", "new.pb"], "give the graph a name in .npz or .json"),
        (
            [*EXPORT, "live.json", "--output", "new"],
            "the placement is of another graph: it has no device",
        ),
        ([*EXPORT, "frozen.json", "--output", "live"], "live is there and not empty"),
        (
            [*EXPORT, "frozen.json", "--output", "new", "--backend", "tpu"],
            "no backend of TensorFlow's 'tpu'",
        ),
        (["export", "no.keras", *EXPORT[2:], "frozen.json", "--output", "new"], "no such file"),
        (
            ["export", "net.onnx", *EXPORT[2:], "frozen.json", "--output", "new"],
            "net.onnx is OpenVINO's, and export writes what TensorFlow runs",
        ),
    ],
)
def test_bad_input_is_one_line(folder, capsys, arguments, words):
    (folder / "far.json").write_text((folder / "frozen.json").read_text().replace("cpu:1", "gpu:7"))
    op = {"name": "a", "type": "MatMul"}
    graph = {"format": "placebench-graph-1", "name": "g", "ops": [op], "tensors": []}
    (folder / "g.json").write_text(json.dumps(graph))
    placement = {"format": "placebench-placement-1", "graph": "g", "machine": "two"}
    (folder / "g.p.json").write_text(json.dumps(placement | {"devices": {"a": "cpu:1"}}))
    assert main(arguments) == 2
    errors = capsys.readouterr().err.splitlines()
    assert words in errors[-1]
    assert errors[-1].startswith("placebench: error: ")
    assert not (folder / "new").exists()


def test_a_program_is_refused_a_placement_of_another(folder, monkeypatch):
    """In the child process that captures it, whose answer is this."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    request = {"kind": "function", "model": "exported_net:step", "machine": "m.toml", "gpus": None}
    request |= {"placement": "frozen.json", "backend": "session", "folder": "new"}
    request["options"] = asdict(Options())
    error = export_live(json.dumps(request))["error"]
    assert error.startswith("frozen.json: the placement is of another graph: it has no device")
    assert not (folder / "new").exists()
