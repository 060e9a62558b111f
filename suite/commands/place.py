"""placebench place: place one model."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._answers import (
    add_answer_arguments,
    judge_json,
    judge_text,
    judging_of,
    measure_top_of,
    measured_text,
)
from suite.commands._checks import refuse
from suite.commands._common import (
    MODELS,
    Subparsers,
    add_problem_arguments,
    command,
    new_file,
    problem_of,
)
from suite.commands._display import add_tensorboard
from suite.commands._kept import Keeper, Write
from suite.commands._placer import add_placer_arguments
from suite.commands._policy import add_policy, placer_with_policy, policy_json, policy_text
from suite.commands._ray import add_ray, check_ray
from suite.commands._search import find
from suite.commands._trials import trials_json, trials_text
from suite.core.errors import BudgetExhausted, InputError

if TYPE_CHECKING:
    from suite.bench.compare import Answer, Trial
    from suite.core.problem import Problem

SEARCH, SECONDS = "annealing", 30.0
"""What searches where no placer is named, and for how long unless a budget is given."""
SEARCHING = ("evaluations", "seconds", "judge", "tensorboard", "ray")
"""Options that only a placer which has placements judged makes use of."""
EXAMPLES = """  placebench place nmt_2 --output nmt_2.json   # the best of many and 30 s of search
  placebench place nmt_2 --placer scotch --output nmt_2.json
  placebench place g.json --machine m.toml --placer best_of_random --set k=500
  placebench place my_package.net:step --machine h100_8 --gpus 4 --placer metis --trace trace.json
  placebench place net.keras --batch 64 --machine workstation --placer mincut
  placebench place rnnlm_small --machine two_cores --placer annealing --judge worst --machines 5
  placebench place rnnlm_small --machine two_cores --placer annealing --measure-top 8
  placebench place rnnlm_small --machine two_cores --placer hdp --judge real --evaluations 200
  placebench place nmt_4 --gpus 4 --placer gdp_tuned --policy gdp.npz     # see placebench train
  placebench place nmt_8 --placer annealing --set batch=64 --evaluations 20000 --ray 10.0.0.1:6379
  placebench place frozen.pb --machine l4_4 --input x=8,224,224,3 --fetch loss --placer gpu_only
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "place",
        "Place a model, print how good the placement is beside simple ones, and write it.",
        EXAMPLES + MODELS,
    )
    add_problem_arguments(parser)
    add_placer_arguments(parser, "without one, the best of quick ones and a search")
    add_policy(parser)
    add_answer_arguments(parser)
    add_ray(parser, "judge what a search evaluates")
    words = "write the placement, as .npz or else as JSON"
    parser.add_argument("--output", type=new_file, metavar="FILE", help=words)
    parser.add_argument("--trace", type=new_file, metavar="FILE", help="write a Perfetto trace")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_tensorboard(parser)


def run(arguments: argparse.Namespace) -> int:
    """Place, judge, compare with the bound and the baselines."""
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        return _run(arguments, Path(folder))


def _run(arguments: argparse.Namespace, folder: Path) -> int:
    """In ``folder`` lies what real runs need of a capture that is not cached."""
    unnamed = arguments.placer is None
    given = [name for name in SEARCHING if getattr(arguments, name) is not None]
    if unnamed:
        _take_default(arguments)
    placer = placer_with_policy(arguments)
    asked = judging_of(arguments), measure_top_of(arguments)
    check_ray(arguments, {"judge": asked[0] is not None})
    loaded, problem = problem_of(arguments, folder)
    policy = policy_json(placer, problem.graph, loaded.task)

    from suite.bench.compare import BASELINES, QUICK, Trial, compare, fastest
    from suite.bench.first_use import compile_first
    from suite.bounds.by_semantics import bound_under
    from suite.core.compile_time import COMPILE_TIME, FIRST_USE
    from suite.simulator.judges import make_simulator, own_semantics

    compile_first(arguments.placer, placer, problem.machine)
    COMPILE_TIME.announce(FIRST_USE)
    semantics = own_semantics(problem.machine)
    simulator = make_simulator(problem, semantics)
    name, found, failure = arguments.placer, None, ""
    keeper = Keeper(name, _writes(arguments, problem))
    with keeper.telling():
        try:
            found = find(arguments, loaded, problem, simulator, placer, *asked, keeper)
            _tell_unused(name, given, found.answer)
        except BudgetExhausted as error:
            if not unnamed:
                raise BudgetExhausted(f"{name} gave no placement: {error}") from None
            failure = str(error)
        first = Trial(name, None, "error", failure)
        if keeper.answer is not None:
            first = Trial.of(name, keeper.answer)
        others = (QUICK, keeper.take) if unnamed else (BASELINES,)
        trials = compare(problem, simulator, first, arguments.seed, *others)
    best = fastest(trials)
    if unnamed and best is not None:
        trials = [best, *(trial for trial in trials if trial is not best)]
    chosen = trials[0].answer
    if chosen is None:
        raise InputError(f"no placer has found a placement that fits; {SEARCH}: {failure}")
    # Before anything that may take long, or is printed, which may fail on a full disk as well.
    files = keeper.settle()
    code = 2 if keeper.troubles else 0
    bound = bound_under(problem, semantics)
    score = judge_json(found.judge, chosen.placement.devices) if found else None
    measured = found.measured if found else None
    if arguments.json:
        told = trials_json(loaded, problem, trials, bound)
        told |= {"fastest": None if best is None else best.placer}
        told |= {} if score is None else {"judge": score}
        told |= {} if policy is None else {"policy": policy}
        told |= {} if measured is None else {"measured_top": measured.as_record()}
        print(json.dumps(told, indent=1))
        return code
    how = _how(arguments, problem, trials) if unnamed else None
    if policy is not None:
        how = policy_text(policy)
    print(trials_text(loaded, problem, trials, bound, best, how))
    if score is not None:
        print(judge_text(score))
    if measured is not None:
        print(measured_text(measured, lambda devices: simulator.run(devices).step_time))
    for path in files:
        print(f"wrote {path}")
    return code


def _writes(arguments: argparse.Namespace, problem: Problem) -> dict[Path, Write]:
    """The files that are asked for, and how each is written."""
    from suite.formats.interchange import write_placement
    from suite.formats.json_file import write_json
    from suite.simulator.judges import own_semantics
    from suite.simulator.timeline import timeline

    def output(answer: Answer, path: Path) -> None:
        write_placement(answer.placement, problem, path)

    def trace(answer: Answer, path: Path) -> None:
        semantics = own_semantics(problem.machine)
        line = timeline(problem, answer.placement.devices, semantics=semantics)
        write_json(line.to_chrome(), path)

    asked = ((arguments.output, output), (arguments.trace, trace))
    return {path: write for path, write in asked if path is not None}


def _tell_unused(placer: str, given: Sequence[str], answer: Answer) -> None:
    """Say on stderr which options did nothing, since the placer had no placement judged."""
    if given and not answer.evaluations:
        words = ", ".join(f"--{name}" for name in given)
        told = f"placebench: {placer} had no placement judged, so that {words} did nothing"
        print(told, file=sys.stderr)


def _take_default(arguments: argparse.Namespace) -> None:
    """Search for SECONDS where neither a placer nor a budget is named; InputError if unclear."""
    refuse(arguments, ("policy",), "goes with a placer that learns; add --placer NAME")
    why = f"goes with a placer; add --placer {SEARCH}"
    refuse(arguments, ("set", "judge", "measure_top"), why)
    arguments.placer = SEARCH
    if arguments.seconds is None and arguments.evaluations is None:
        arguments.seconds = SECONDS


def _how(arguments: argparse.Namespace, problem: Problem, trials: list[Trial]) -> str:
    """What was done where no placer was named, in words."""
    if problem.machine.n_devices == 1:
        only = problem.machine.devices[0].name
        return f"placer     none was named, and none is needed: {only} is the only device"
    seconds = f"{arguments.seconds:g} s" if arguments.seconds is not None else ""
    count = f"{arguments.evaluations:,} evaluations" if arguments.evaluations is not None else ""
    budget = " and at most ".join(filter(None, (seconds, count)))
    quick = sum(trial.placer != SEARCH for trial in trials)
    return (
        f"placer     none was named: {trials[0].placer} is the fastest of {budget} of {SEARCH} and"
        f" {quick} quick placers"
    )
