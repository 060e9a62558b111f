"""placebench workload: algorithms on cost graphs of Tarnawski et al."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import Subparsers, command, count, new_file, positive
from suite.core.errors import InputError, Unsupported
from suite.core.one_line import say_on_one_line

if TYPE_CHECKING:
    from suite.tarnawski.evaluator import WrongClaim
    from suite.tarnawski.run import Answer
    from suite.tarnawski.workload import Question, Split, Workload

EXAMPLES = """\
  placebench workload w.json --objective throughput --algorithm dp
  placebench workload w.json --objective latency --algorithm ip --seconds 60 --json
  placebench workload folder --objective throughput --algorithm all --output results
  placebench workload rnnlm_training.json --objective latency --algorithm ip --placement p.json
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    summary = "Split workloads of Tarnawski et al. (dnn-partitioning JSON) by exact algorithms."
    parser = command(parsers, "workload", summary, EXAMPLES)
    parser.add_argument("path", type=Path, metavar="FILE", help="a workload, or a folder of them")
    parser.add_argument(
        "--objective",
        choices=("throughput", "latency"),
        default="throughput",
        help="the largest load of a device, or the time of one sample (throughput)",
    )
    parser.add_argument("--algorithm", default="dp", metavar="NAME", help="dp, ip, ... or all (dp)")
    units = ("s", "ms", "us")
    parser.add_argument("--time-unit", choices=units, default="ms", help="of node times (ms)")
    parser.add_argument("--cost-unit", choices=units, default="ms", help="of edge costs (ms)")
    parser.add_argument(
        "--gap", type=_positive, default=0.01, help="gap of integer programs (0.01)"
    )
    parser.add_argument(
        "--seconds", type=_positive, default=60.0, help="limit of an algorithm (60)"
    )
    parser.add_argument("--seed", type=count, default=0, help="of randomised algorithms (0)")
    calls = "calls an accelerator, of ip for latency (2)"
    parser.add_argument("--calls", type=positive, default=2, help=calls)
    parser.add_argument(
        "--ideals", type=count, default=100_000, help="most ideals dp enumerates (100000)"
    )
    parser.add_argument("--experts", type=Path, help="expert split, or folder of X_expert.json")
    parser.add_argument(
        "--output",
        type=Path,
        help="results folder to write records into; what is recorded there is not run again, unless"
        " its answer is asked for by --json or --placement",
    )
    parser.add_argument(
        "--placement",
        type=new_file,
        metavar="FILE",
        help="of a task that placebench graph coarsened: write the answer as its placement",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, a line an answer")


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number >= 0")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Print every answer; 2 when the one algorithm asked for declined, 1 on a wrong claim."""
    from suite.bench.lock import locked
    from suite.tarnawski.run import algorithm, algorithms

    every = arguments.algorithm == "all"
    names = algorithms() if every else [arguments.algorithm]
    for name in names:
        algorithm(name)
    paths = list(_files(arguments.path))
    if arguments.placement is not None and (every or len(paths) > 1):
        raise InputError("--placement writes one answer: name one workload and one algorithm")
    if arguments.placement is not None and arguments.placement.resolve() == paths[0].resolve():
        raise InputError(f"--placement and FILE are both {paths[0]}; give two files")
    with nullcontext() if arguments.output is None else locked(arguments.output):
        return _answered(arguments, names, paths)


def _answered(arguments: argparse.Namespace, names: Sequence[str], paths: Sequence[Path]) -> int:
    """Print, record and place every answer; return the exit code."""
    from suite.tarnawski.evaluator import WrongClaim
    from suite.tarnawski.reader import read_workload
    from suite.tarnawski.run import ask

    every = arguments.algorithm == "all"
    wrong, declined = 0, None
    for path in paths:
        workload = read_workload(path, arguments.time_unit, arguments.cost_unit)
        question = _question(arguments, workload, path)
        if arguments.placement is not None:
            from suite.tarnawski.placements import problem_of

            problem_of(workload)  # what cannot be placed is told before anything is solved
        for name in names:
            if _kept(arguments, name, question):
                continue
            answer: Answer | Unsupported | WrongClaim
            try:
                answer = ask(name, question)
                _show(arguments, question, answer)
                _judge(arguments, name, question, answer)
            except Unsupported as error:
                answer = error
                declined = None if every else error
                if every or len(paths) > 1:
                    print(f"{workload.name} {name}: skipped: {error}", file=sys.stderr)
            except WrongClaim as error:
                answer, wrong = error, 1
                say_on_one_line(f"error: {workload.name}: {error}")
            if arguments.output is not None:
                from suite.tarnawski.records import write

                write(arguments.output, name, question, answer)
            _place(arguments, question, answer)
    if declined is not None and len(paths) == 1:
        raise declined
    return 2 if declined is not None else wrong


def _kept(arguments: argparse.Namespace, name: str, question: Question) -> bool:
    """Whether the answer is recorded already; a line says so."""
    from suite.tarnawski.records import recorded

    if arguments.output is None or arguments.json or arguments.placement is not None:
        return False
    record = recorded(arguments.output, name, question)
    if record is not None:
        print(f"{question.workload.name} {question.objective} {name}: recorded: {record['status']}")
    return record is not None


def _place(
    arguments: argparse.Namespace, question: Question, answer: Answer | Unsupported | WrongClaim
) -> None:
    """Turn the answer, where there is one, back into a placement where that is asked for."""
    if arguments.placement is None or isinstance(answer, Exception):
        return
    from suite.formats.interchange import write_placement
    from suite.tarnawski.placements import problem_of, turned_back

    problem = problem_of(question.workload)
    placement = turned_back(problem, question.workload, answer.split)
    write_placement(placement, problem, arguments.placement)


def _judge(arguments: argparse.Namespace, name: str, question: Question, answer: Answer) -> None:
    """Judge latency answers that are recorded, as placements.

    The record of the placement comes before that of the answer, which makes the cell finished.
    """
    workload = question.workload
    if arguments.output is not None and question.objective == "latency":
        from suite.tarnawski.judged import judge

        record = judge(arguments.output, name, question, answer)
        if record is not None and not arguments.json:
            step = f"a step of {record['step_time']:.4f} s ({record['status']})"
            print(f"{workload.name} {name}: as a placement, {step}", flush=True)


def _files(path: Path) -> Iterator[Path]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} holds no .json; give a workload or a folder of workloads")
    yield from files


def _question(arguments: argparse.Namespace, workload: Workload, path: Path) -> Question:
    from suite.tarnawski.workload import Question

    return Question(
        workload,
        arguments.objective,
        arguments.gap,
        arguments.seconds,
        arguments.seed,
        arguments.calls,
        arguments.ideals,
        _expert(arguments.experts, workload, path),
    )


def _expert(experts: Path | None, workload: Workload, path: Path) -> Split | None:
    """The expert split of a workload: a file, or X_expert.json of a folder for ``layer_X.json``."""
    if experts is None or not experts.is_dir():
        return None if experts is None else _split(experts, workload)
    file = experts / f"{path.stem.removeprefix('layer_')}_expert.json"
    try:
        return _split(file, workload) if file.exists() else None
    except InputError as error:
        # An expert of the same model may be for another number of accelerators.
        print(f"{workload.name} expert: not used: {error}", file=sys.stderr)
        return None


def _split(file: Path, workload: Workload) -> Split:
    """Read a split; InputError where the file is none."""
    from suite.tarnawski.reader import read_split

    try:
        return read_split(file, workload)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{file} is no split of dnn-partitioning: {what}") from None


def _show(arguments: argparse.Namespace, question: Question, answer: Answer) -> None:
    from suite.tarnawski.records import described

    if arguments.json:
        print(json.dumps(described(question, answer)), flush=True)
        return
    w = question.workload
    rate = f"{w.bandwidth / 2**30:.3g} GiB/s" if w.bandwidth == w.bandwidth else "no bandwidth"
    print(
        f"{w.name} {question.objective} {answer.algorithm}: {answer.objective:.6g} ms "
        f"({answer.status}), bound {answer.bound:.6g} ms, gap {100 * answer.gap:.2f} %, "
        f"{answer.seconds:.2f} s; edge costs in {arguments.cost_unit} imply {rate}",
        flush=True,
    )
