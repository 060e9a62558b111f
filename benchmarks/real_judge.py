"""What a search is worth whose every evaluation is a real run, beside one that simulates.

For each task and seed, annealing searches with many simulated evaluations and its best answers are
run (``--measure-top``); annealing and ``estimated_moves`` search with few evaluations, which are
real runs (``--judge real``). Their best answers, and those of placers that do not search, are then
run in one contest, of whose rounds the first half chooses and the second tells, as in
benchmarks/answers.py: so all is compared on the same host in the same minutes.

    placebench profile two_cores --cpus 2 --task rnnlm_small --task nmt_2_small --task nmt_4_small
    python benchmarks/real_judge.py two_cores rnnlm_small nmt_2_small nmt_4_small

Below --output lies a file for each task and seed: what is there is not run again. Writes
benchmarks/real_judge.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from answers import OTHERS, Pool, Ways, add_arguments, compared, parsed, run_all, table
from page import write_page

from suite.core.problem import Problem
from suite.core.scores import Judge
from suite.execution.measurement import Backend, Step
from suite.execution.real_judge import RealJudge
from suite.report.table import Section
from suite.search.best_answers import BestAnswers, Remembering, candidates
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

SIMULATED = "annealing"
REAL = {"annealing, real": "annealing", "estimated_moves, real": "estimated_moves"}


@dataclass(frozen=True)
class Settings:
    """All that decides a file."""

    machine: str
    simulated: int
    real: int
    count: int
    apart: float
    rounds: int


def experiment(
    problem: Problem, task: str, seed: int, settings: Settings, backend: Backend
) -> dict[str, Any]:
    """One task and seed: searches, then one contest of all that they found."""
    tell = partial(print, f"{task} seed {seed}:", file=sys.stderr, flush=True)
    pool, simulator, step = Pool(), Simulator(problem), Step.of_task(task)
    searches = {SIMULATED: (SIMULATED, settings.simulated)}
    searches |= {who: (placer, settings.real) for who, placer in REAL.items()}
    spent = {}
    for who, (placer, evaluations) in searches.items():
        real = RealJudge(simulator, backend, step) if who in REAL else None
        judge: Judge = simulator if real is None else real
        best = BestAnswers(problem.machine, settings.count, settings.apart)
        search = Search(problem, Remembering(judge, best), seed, evaluations)
        answer = make_placer(placer, {}).place(problem, search)
        runs = {} if real is None else real.as_record()
        spent[who] = {"seconds": search.elapsed, "history": search.history, **runs}
        for one in candidates(problem, answer, best):
            pool.add(who, np.asarray(one.placement.devices))
        tell(f"{who}: {search.evaluations} evaluations, {search.elapsed:.0f} s")
    return {"spent": spent} | run_all(pool, problem, task, seed, settings, backend)


WAYS: Ways = {
    "simulated alone": lambda o: o.alone(SIMULATED),
    "simulated + measure-top": lambda o: o.chosen(SIMULATED),
    **{who: partial(lambda o, who: o.alone(who), who=who) for who in REAL},
    **{f"{who} + measure-top": partial(lambda o, who: o.chosen(who), who=who) for who in REAL},
}


def row(task: str, records: list[dict[str, Any]]) -> tuple[str, ...]:
    """A line of the table."""
    seconds = sum(record["spent"][who]["run_seconds"] for record in records for who in REAL)
    each = seconds / len(REAL) / len(records)
    return (task, *compared(records, WAYS, SIMULATED), f"{each:,.0f}")


def main() -> None:
    """Run what is missing; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--simulated", type=int, default=4000, help="evaluations")
    parser.add_argument("--real", type=int, default=100, help="evaluations")
    add_arguments(parser, seeds=1, count=3, output="results/real_judge")
    asked = parsed(parser)
    settings = Settings(**{name: getattr(asked, name) for name in Settings.__dataclass_fields__})
    rows = table(asked, settings, experiment, row)
    head = ("task", *WAYS, "best of others", "seconds of a search's runs")
    lead = (
        f"`python benchmarks/real_judge.py {asked.machine} ...`: annealing with"
        f" {settings.simulated:,} simulated evaluations; annealing and estimated_moves with"
        f" {settings.real} real ones; seeds: {asked.seeds}; measure-top: the {settings.count} best"
        f" answers, {settings.apart:.0%} of the operations apart. Measured step time as a multiple"
        " of that of simulation alone, geometric mean over seeds, from rounds that chose nothing;"
        " in brackets, how often nothing that was run is faster beyond the range of those rounds."
        f" Others: {', '.join(OTHERS)}."
    )
    write_page(__file__, Section("Searches judged by real runs", head, tuple(rows), lead))


if __name__ == "__main__":
    main()
