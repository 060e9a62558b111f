"""Answers that hold: a search judged on several machines, and its best answers run for real."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

from suite.commands._checks import refuse
from suite.commands._common import add_cluster, count, options_of, positive
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.bench.cell import MeasureTop, RealRuns
    from suite.bench.measure_top import Measured
    from suite.capture.load_model import Loaded
    from suite.core.arrays import Ints
    from suite.core.scores import Judge
    from suite.core.uncertainty import Judging
    from suite.execution.measurement import Step


REAL = "real"


def share(text: str) -> float:
    """Read a share from 0 to 1 from the command line."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to 1")
    return value


def add_answer_arguments(parser: argparse.ArgumentParser) -> None:
    """--judge with what belongs to it, and --measure-top with what belongs to it."""
    robust = parser.add_argument_group("answers that hold (docs/execution.md)")
    robust.add_argument(
        "--judge",
        choices=("mean", "worst", "real"),
        help="judge the search by the mean or the worst step time over several machines, drawn from"
        " the uncertainty that the machine's profile records; or by running each placement for real"
        " on this host, which must be the machine (default: simulated on the machine as it is)",
    )
    robust.add_argument(
        "--machines",
        type=count,
        metavar="N",
        help="how many are drawn for mean or worst (5); each evaluation costs N simulations",
    )
    robust.add_argument(
        "--spread",
        type=share,
        metavar="SHARE",
        help="draw every figure with this relative standard deviation instead: for machines that"
        " record none, as those from data sheets",
    )
    robust.add_argument(
        "--measure-top",
        type=count,
        metavar="K",
        help="run the K best answers of the search for real on this host, which must be the"
        " machine, and return the fastest",
    )
    robust.add_argument("--rounds", type=positive, metavar="N", help="how often each is run (3)")
    robust.add_argument(
        "--apart",
        type=share,
        metavar="SHARE",
        help="share of the operations by which two of the K differ at least (0.02)",
    )
    robust.add_argument(
        "--backend",
        choices=("session", "cluster", "openvino"),
        help="what runs them: a TensorFlow session, a cluster of servers, or OpenVINO (the one that"
        " the machine was profiled with, otherwise cluster)",
    )
    add_cluster(parser)


def judging_of(arguments: argparse.Namespace) -> Judging | RealRuns | None:
    """What the search is to be judged by; None: the machine as it is. InputError if unclear."""
    from suite.bench.cell import judging

    if arguments.judge in (None, REAL):
        why = "goes with --judge mean or --judge worst; add it"
        refuse(arguments, ("machines", "spread"), why)
    if arguments.judge == REAL and arguments.evaluations is arguments.seconds is None:
        raise InputError("--judge real takes seconds an evaluation; add --evaluations or --seconds")
    given = _given(arguments, "machines", "spread")
    return None if arguments.judge is None else judging({"score": arguments.judge, **given})


def measure_top_of(arguments: argparse.Namespace) -> MeasureTop | None:
    """Which answers are to be run for real; None: none. InputError if unclear."""
    from suite.bench.cell import MeasureTop

    if arguments.measure_top is None:
        refuse(arguments, ("rounds", "apart"), "goes with --measure-top K; add it")
        if arguments.judge != REAL:
            why = "goes with --measure-top K or --judge real; add it"
            refuse(arguments, ("backend", "cluster", "expose"), why)
        return None
    return MeasureTop(arguments.measure_top, **_given(arguments, "rounds", "apart"))


def _given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def measured_step(arguments: argparse.Namespace, loaded: Loaded, backend: str) -> Step:
    """The step that a model's placements are of; InputError where nothing can be run."""
    from suite.execution.steps import step_of

    return step_of(loaded, backend, arguments.model, options_of(arguments))


def judge_json(judge: Judge, devices: Ints) -> dict[str, Any] | None:
    """What a placement, int32[ops], scored. None: its judge was the simulator.

    On every machine and together; or for real (None: it was not run), and how all runs ended.
    """
    from suite.execution.real_judge import RealJudge
    from suite.search.robust_judge import RobustJudge

    if isinstance(judge, RealJudge):
        return {"score": REAL, "seconds": judge.measured(devices), **judge.as_record()}
    if not isinstance(judge, RobustJudge):
        return None
    times = [simulator.run(devices).step_time for simulator in judge.simulators]
    together = max(times) if judge.settings.score == "worst" else sum(times) / len(times)
    return {"score": judge.settings.score, "seconds": together, "step_times": times}


def judge_text(found: dict[str, Any]) -> str:
    """The same on one line, and one for each way in which runs failed."""
    if found["score"] != REAL:
        times = found["step_times"]
        span = f"{min(times):.6f} to {max(times):.6f} s"
        of = f"{found['score']} of {len(times)} machines"
        return f"judge      {of} {found['seconds']:.6f} s ({span})"
    took = "it was not run" if found["seconds"] is None else f"{found['seconds']:.6f} s"
    runs = f"{found['runs']} runs, {found['run_seconds']:.1f} s"
    lines = [f"judge      real {took} ({runs})"]
    for status, reason in found["reasons"].items():
        lines.append(f"           {found['statuses'][status]} {status}, the first: {reason}")
    return "\n".join(lines)


def measured_text(measured: Measured, simulated: Callable[[Ints], float]) -> str:
    """What running the best answers gave; ``simulated`` gives a placement's step time."""
    found = measured.contest
    lines = [
        "",
        f"run for real: {len(measured.candidates)} answers, {found.runs} runs,"
        f" {found.seconds:.1f} s",
        f"{'answer':>6} {'simulated':>12} {'measured':>12}  relative [range of rounds]",
    ]
    for i, (candidate, entry) in enumerate(zip(measured.candidates, found.entries, strict=True)):
        row = f"{i + 1:6} {simulated(candidate.placement.devices):10.6f} s"
        if entry.step_time is None or not entry.relative:
            lines.append(f"{row} {entry.status}: {entry.reason}")
            continue
        low, high, _ = entry.interval
        span = f"{median(entry.relative):.3f} [{low:.3f}-{high:.3f}]"
        mark = "  returned" if i == measured.chosen else "  tie" if i in found.ties else ""
        lines.append(f"{row} {entry.step_time:10.6f} s  {span}{mark}")
    if found.fastest is None:
        lines.append("none ran to the end; the search's own answer is returned")
    elif found.ties:
        ties = ", ".join(str(i + 1) for i in found.ties)
        lines.append(f"within the noise of the returned one: {ties}")
    return "\n".join(lines)
