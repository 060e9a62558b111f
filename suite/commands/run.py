"""placebench run: run one placement for real, beside what the simulator says of it."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import (
    MODELS,
    Subparsers,
    about,
    add_cluster,
    add_placement,
    add_problem_arguments,
    backend_of,
    command,
    count,
    duration,
    options_of,
    problem_of,
    several,
)
from suite.core.units import format_bytes

if TYPE_CHECKING:
    from suite.execution.measurement import Measurement, Timing
    from suite.simulator.timeline import Timeline

EXAMPLES = """  placebench run my_package.net:step --machine two_cores --placement net.json
  placebench run net.keras --machine two_cores --placement net.json --backend cluster --steps 50
  placebench run nmt_2_small --machine two_cores --placement nmt.json --json
  placebench run hsdag_bert --machine k40 --placement bert.json --backend openvino
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "run",
        "Run a placed training step with TensorFlow on this host's devices, or on a cluster of"
        " servers, or an inference with OpenVINO, and print what was measured beside what the"
        " simulator says, per device. Inputs and first values of variables are made up; suite.apply"
        " runs the program with its own.",
        EXAMPLES + MODELS,
    )
    add_problem_arguments(parser)
    add_placement(parser, required=True)
    parser.add_argument(
        "--backend",
        metavar="NAME",
        help="session or cluster, which are TensorFlow's, or openvino (the one that the machine was"
        " profiled with, otherwise session)",
    )
    add_cluster(parser)
    parser.add_argument(
        "--steps",
        type=several,
        default=20,
        help="timed steps, of which the first 5 (at most half, at least one) are discarded (20)",
    )
    parser.add_argument("--seed", type=count, default=0, help="of the made-up values (0)")
    parser.add_argument(
        "--timeout", type=duration, default=600.0, help="seconds of all steps (600)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure and simulate; 1 when the run ended in anything but ``ok``."""
    from suite.execution.measurement import Timing

    timing = Timing(arguments.steps, min(5, arguments.steps // 2), timeout=arguments.timeout)
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        return _run(arguments, timing, Path(folder))


def _run(arguments: argparse.Namespace, timing: Timing, folder: Path) -> int:
    loaded, problem = problem_of(arguments, folder)

    from suite.core.compile_time import COMPILE_TIME, FIRST_USE
    from suite.execution.backends import make_backend
    from suite.execution.steps import step_of
    from suite.formats.interchange import read_placement
    from suite.formats.json_file import sayable
    from suite.simulator.judges import own_semantics
    from suite.simulator.timeline import timeline

    backend = backend_of(arguments, problem.machine, otherwise="session")
    placement = read_placement(arguments.placement, problem)
    step = step_of(loaded, backend, arguments.model, options_of(arguments), arguments.seed)
    COMPILE_TIME.announce(FIRST_USE)
    rules = own_semantics(problem.machine)
    line = timeline(problem, placement.devices, semantics=rules).copies()
    _tell(f"starting backend {backend}: {', '.join(d.name for d in problem.machine.devices)}")
    cluster = arguments.cluster
    with make_backend(backend, problem.machine, cluster, expose=arguments.expose) as running:
        _tell(f"running {timing.steps} steps, then one with statistics")
        measurement = running.measure(step, placement.devices, timing)
    verdict = {"model": loaded.origin, **_as_json(backend, line, measurement)}
    if arguments.json:
        print(json.dumps(sayable(verdict), indent=1))
    else:
        print(f"{about(loaded, problem)}\n{_as_text(verdict, measurement)}")
    return 0 if measurement.status == "ok" else 1


def _tell(line: str) -> None:
    """Say how far it is, on standard error: the answer alone goes to standard output."""
    print(f"placebench: {line}", file=sys.stderr, flush=True)


def _as_json(backend: str, line: Timeline, measurement: Measurement) -> dict[str, Any]:
    """Seconds and bytes; what could not be measured is null."""
    from suite.fidelity.breakdown import breakdown

    problem, result = line.problem, line.result
    names = [device.name for device in problem.machine.devices]
    parts = breakdown(line, measurement.traces)
    simulated, measured = parts["simulated"], parts["measured"]
    peaks = measurement.peak_memory or (None,) * len(names)
    busy = measured.get("busy", {})
    return {
        "machine": problem.machine.name,
        "backend": backend,
        "virtual": measurement.virtual,
        "status": measurement.status,
        "reason": measurement.reason,
        "step_time": {"measured": measurement.step_time, "simulated": result.step_time},
        "step_times": list(measurement.step_times),
        "discarded": measurement.discarded,
        "devices": {
            name: {
                "busy": {"measured": busy.get(name), "simulated": simulated["busy"][name]},
                "peak_memory": {"measured": peak, "simulated": own},
            }
            for name, peak, own in zip(names, peaks, result.peak_memory.tolist(), strict=True)
        },
        "memory_source": measurement.memory_source,
        # Copies between logical CPUs of one session are in no statistics.
        "transfers": {
            "measured": measured.get("transfers") or (None if simulated["transfers"] else 0),
            "simulated": simulated["transfers"],
        },
        "outputs": [list(values) for values in measurement.outputs],
        "outputs_against": measurement.outputs_against(names),
        "parts": measurement.parts,
    }


def _as_text(verdict: dict[str, Any], measurement: Measurement) -> str:
    simulated = verdict["step_time"]["simulated"]
    if measurement.status != "ok":
        said = f"measured   {measurement.status}: {measurement.reason}"
        return f"{said}\nsimulated  {simulated:.6f} s"
    seconds = verdict["step_time"]["measured"]
    error = 100 * (simulated / seconds - 1)
    kept = len(measurement.kept)
    lines = [
        f"measured   {seconds:.6f} s, median of {kept} steps ({verdict['backend']})",
        f"simulated  {simulated:.6f} s ({error:+.1f} %)",
        "",
        f"{'device':10} {'busy, measured':>15} {'simulated':>12} {'peak, measured':>15}"
        f" {'simulated':>12}",
    ]
    for name, row in verdict["devices"].items():
        busy, peak = row["busy"], row["peak_memory"]
        lines.append(
            f"{name:10} {_seconds(busy['measured']):>15} {_seconds(busy['simulated']):>12}"
            f" {_bytes(peak['measured']):>15} {_bytes(peak['simulated']):>12}"
        )
    moved = verdict["transfers"]
    seen = "unknown" if moved["measured"] is None else moved["measured"]
    lines += ["", f"transfers  {seen} measured, {moved['simulated']} simulated"]
    first, last = verdict["outputs"][0], verdict["outputs"][-1]
    lines += [
        f"output     {a:.6g} in the first step, {b:.6g} in the last (inputs and first values are"
        " made up)"
        for a, b in zip(first, last, strict=True)
    ]
    if measurement.parts is not None:
        lines.append(f"parts      {measurement.parts}, run one after another")
    lines += [
        f"outputs    against {name} alone: MSE {off['mse']:.3g}, cosine {off['cosine']:.6f},"
        f" L2 {off['l2']:.3g}"
        for name, off in verdict["outputs_against"].items()
    ]
    if verdict["virtual"]:
        lines.append("virtual    devices share hardware: step times are no speeds of this machine")
    return "\n".join(lines)


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.6f} s"


def _bytes(value: int | None) -> str:
    return "unknown" if value is None else format_bytes(value)
