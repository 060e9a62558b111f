"""Let the placer that ``place`` was given search, and run its best answers where that is asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from suite.commands._answers import REAL, measured_step
from suite.commands._common import backend_of, machine_name
from suite.commands._display import Display
from suite.commands._placer import telling_failures
from suite.commands._ray import spread_judge
from suite.core.one_line import say_on_one_line

if TYPE_CHECKING:
    from suite.bench.cell import MeasureTop, RealRuns
    from suite.bench.compare import Answer
    from suite.bench.measure_top import Measured
    from suite.capture.load_model import Loaded
    from suite.core.problem import Problem
    from suite.core.scores import Judge
    from suite.core.uncertainty import Judging
    from suite.execution.measurement import Backend, Step
    from suite.search.placer import Placer, Search
    from suite.simulator.judges import AnySimulator


class Found(NamedTuple):
    """What a placer that was named, or stands for one, has found."""

    answer: Answer
    measured: Measured | None
    """The runs of its best answers, where they were asked for."""
    judge: Judge
    """By what it searched."""


def find(
    arguments: argparse.Namespace,
    loaded: Loaded,
    problem: Problem,
    simulator: AnySimulator,
    placer: Placer,
    judging: Judging | RealRuns | None,
    top: MeasureTop | None,
    keep: Callable[[Answer], None],
) -> Found:
    """Let the placer search by the judge that was asked for, and run its best answers if asked.

    ``keep`` is given what the search found, and what was chosen of it; where an exception ends
    the search, the best that it had met, if anything did fit in memory.
    """
    from suite.bench.cell import RealRuns
    from suite.bench.judge import robust_judge
    from suite.execution.real_judge import RealJudge
    from suite.formats.measured_costs import times_name
    from suite.simulator.judges import own_semantics

    semantics = own_semantics(problem.machine).name
    judge: Judge = simulator
    if judging is not None and not isinstance(judging, RealRuns):
        names = machine_name(arguments), times_name(loaded.graph, loaded.task)
        judge = robust_judge(problem, *names, judging, semantics)
    for_real = isinstance(judging, RealRuns) or top is not None
    # Opened before the search: a host that is not the machine is to be told before the hours.
    with _running(arguments, problem, loaded) if for_real else nullcontext() as running:
        if running is not None and isinstance(judging, RealRuns):
            judge = RealJudge(simulator, *running)
        with spread_judge(arguments, simulator, judge, semantics) as asks:
            if running is None or top is None:
                answer = _answer(arguments, problem, simulator, asks, placer, keep)
                return Found(answer, None, judge)
            parts = simulator, asks, placer, running, top, keep
            return Found(*_measured(arguments, problem, *parts), judge)


@contextmanager
def _running(
    arguments: argparse.Namespace, problem: Problem, loaded: Loaded
) -> Iterator[tuple[Backend, Step]]:
    """What runs placements on this host, and the step that it runs."""
    from suite.execution.backends import make_backend

    name = backend_of(arguments, problem.machine, otherwise="cluster")
    step = measured_step(arguments, loaded, name)
    where = name, problem.machine, arguments.cluster
    with make_backend(*where, expose=arguments.expose) as backend:
        yield backend, step


def _measured(
    arguments: argparse.Namespace,
    problem: Problem,
    simulator: AnySimulator,
    judge: Judge,
    placer: Placer,
    running: tuple[Backend, Step],
    top: MeasureTop,
    keep: Callable[[Answer], None],
) -> tuple[Answer, Measured]:
    """Let the placer search, run the best that it found, and answer with the fastest."""
    from suite.bench.measure_top import measure
    from suite.search.best_answers import BestAnswers, Remembering, candidates

    best = BestAnswers(problem.machine, top.count, top.apart)
    # Kept before it is run: whatever happens to the runs, the search was not for nothing.
    answer = _answer(arguments, problem, simulator, Remembering(judge, best), placer, keep)
    tell = partial(print, file=sys.stderr, flush=True)
    measured = measure(candidates(problem, answer.placement, best), *running, top, tell=tell)
    placement = measured.placement
    chosen = replace(answer, placement=placement, result=simulator.run(placement.devices))
    keep(chosen)
    return chosen, measured


def _answer(
    arguments: argparse.Namespace,
    problem: Problem,
    simulator: AnySimulator,
    judge: Judge,
    placer: Placer,
    keep: Callable[[Answer], None],
) -> Answer:
    """Let the placer search, and keep its answer; whatever ends that early, the best it had met."""
    from suite.bench.compare import Answer
    from suite.bench.gathering_search import GatheringSearch

    budget = arguments.evaluations, arguments.seconds
    search = GatheringSearch(problem, judge, arguments.seed, *budget)
    search.one_by_one = arguments.judge == REAL
    try:
        answer = _shown(arguments, problem, simulator, placer, search)
    except BaseException:
        search.gather()
        if (best := search.best) is not None:
            result = simulator.run(best.devices)
            keep(Answer(best, result, search.elapsed, search.evaluations))
        raise
    keep(answer)
    return answer


def _shown(
    arguments: argparse.Namespace,
    problem: Problem,
    simulator: AnySimulator,
    placer: Placer,
    search: Search,
) -> Answer:
    """Let the placer search, and show it: on stderr where stdout is for JSON."""
    from suite.bench.compare import attempt
    from suite.search.progress_log import Journal, most_steps

    if arguments.tensorboard:
        arguments.tensorboard.mkdir(parents=True, exist_ok=True)
    with Display(stream=sys.stderr if arguments.json else sys.stdout) as display:
        told = partial(display.searching, arguments.placer)
        steps = most_steps(placer)
        search.journal = Journal(board=arguments.tensorboard, listener=told, steps=steps)
        try:
            with telling_failures(arguments.placer, placer):
                answer = attempt(problem, simulator, placer, search)
        finally:
            search.journal.close()
    if arguments.tensorboard and answer.evaluations and search.journal.empty:
        say_on_one_line(f"{arguments.placer} logs no steps, so that --tensorboard wrote nothing")
    return answer
