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
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from answers import FORMAT, OTHERS, Outcome, Pool, known
from page import write_page

from suite.bench.load_problem import make_problem
from suite.core.arrays import digest
from suite.core.errors import Unsupported
from suite.core.problem import Problem
from suite.core.scores import Judge
from suite.execution.backends import make_backend
from suite.execution.contest import contest
from suite.execution.measurement import Backend, Step
from suite.execution.real_judge import RealJudge
from suite.formats.json_file import write_json
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
    for name in OTHERS:
        try:
            answer = make_placer(name, {}).place(problem, Search(problem, simulator, seed))
        except Unsupported:
            continue
        pool.add(name, np.asarray(answer.devices))
    ran = contest(backend, step, pool.devices, settings.rounds, tell=tell)
    return {
        "found": pool.found,
        "spent": spent,
        "simulated": [simulator.run(one).step_time for one in pool.devices],
        "relative": [list(entry.relative) for entry in ran.entries],
        "step_times": [[list(one) for one in entry.step_times] for entry in ran.entries],
        "status": [entry.status for entry in ran.entries],
    }


WAYS = {
    "simulated alone": lambda o: o.alone(SIMULATED),
    "simulated + measure-top": lambda o: o.chosen(SIMULATED),
    **{who: partial(lambda o, who: o.alone(who), who=who) for who in REAL},
    **{f"{who} + measure-top": partial(lambda o, who: o.chosen(who), who=who) for who in REAL},
}


def row(task: str, records: list[dict[str, Any]]) -> tuple[str, ...]:
    """A line of the table: each way against simulation alone, over all seeds of a task."""
    outcomes = [Outcome(record) for record in records]
    cells = []
    for way in WAYS.values():
        ratios = [o.time(way(o)) / o.time(o.alone(SIMULATED)) for o in outcomes]
        held = sum(o.is_fastest(way(o)) for o in outcomes)
        cells.append(f"{geometric_mean(ratios):.3f} ({held} of {len(outcomes)})")
    others = geometric_mean([o.others() / o.time(o.alone(SIMULATED)) for o in outcomes])
    seconds = sum(record["spent"][who]["run_seconds"] for record in records for who in REAL)
    return (task, *cells, f"{others:.3f}", f"{seconds / len(REAL) / len(records):,.0f}")


def main() -> None:
    """Run what is missing; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("machine")
    parser.add_argument("task", nargs="+")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--simulated", type=int, default=4000, help="evaluations")
    parser.add_argument("--real", type=int, default=100, help="evaluations")
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--apart", type=float, default=0.02)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--output", type=Path, default=Path("results/real_judge"))
    parser.add_argument("--expose", action="store_true", help="as placebench bench has it")
    asked = parser.parse_args()
    if asked.rounds < 2:
        parser.error("--rounds must be 2 at least: one half chooses, the other tells")
    settings = Settings(**{name: getattr(asked, name) for name in Settings.__dataclass_fields__})
    rows = []
    for task in asked.task:
        problem = make_problem(task, asked.machine, 0)
        mark = digest([problem.fingerprint, str(settings)])
        records = []
        for seed in range(asked.seeds):
            path = asked.output / f"{task}-seed{seed}.json"
            record = known(path, mark)
            if record is None:
                with make_backend("cluster", problem.machine, expose=asked.expose) as backend:
                    record = experiment(problem, task, seed, settings, backend)
                record |= {"format": FORMAT, "fingerprint": mark, "settings": vars(settings)}
                write_json(record, path)
            records.append(record)
        rows.append(row(task, records))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
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
