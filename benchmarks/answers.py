"""What makes answers hold in reality: a robust judge, running the best answers, both together.

For each task and seed, annealing searches three times with the same seed and the same number of
evaluations: judged on the machine as it is, by the mean and by the worst of MACHINES machines drawn
from its uncertainty. The best answers of all three, and those of placers that do not search, are
then run for real in one contest. The first half of its rounds chooses where a search may choose;
the second half alone tells how good the choice was, since the fastest of several noisy figures
flatters itself. So all is compared on the same host in the same minutes.

    placebench profile two_cores --cpus 2 --task rnnlm_small --task nmt_2_small \\
        --task nmt_4_small --task inception_v3
    python benchmarks/answers.py two_cores rnnlm_small nmt_2_small nmt_4_small inception_v3

Below --output lies a file for each task and seed: what is there is not run again. Writes
benchmarks/answers.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
from page import write_page

from suite.bench.judge import robust_judge
from suite.bench.load_problem import make_problem
from suite.core.arrays import Ints, digest
from suite.core.errors import InputError, Unsupported
from suite.core.problem import Problem
from suite.core.scores import Judge
from suite.core.uncertainty import Judging
from suite.execution.backends import make_backend
from suite.execution.contest import contest
from suite.execution.measurement import Backend, Step
from suite.formats.json_file import read_json, write_json
from suite.formats.machine_toml import load_machine
from suite.report.table import Section
from suite.search.best_answers import BestAnswers, Remembering, candidates
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator
from suite.simulator.semantics import PLACEBENCH

FORMAT = "placebench-answers-1"
JUDGES = {"machine": None, "mean": "mean", "worst": "worst"}
OTHERS = ("human_expert", "metis", "mtkahypar")
"""Placers that do not search, to tell whether a search's answer is the fastest."""


@dataclass(frozen=True)
class Settings:
    """All that decides a file."""

    machine: str
    evaluations: int
    machines: int
    spread: float | None
    count: int
    apart: float
    rounds: int


class Pool:
    """Placements to run, each once, and who found which, the best first."""

    def __init__(self) -> None:
        """Begin with none."""
        self.devices: list[Ints] = []
        self.found: dict[str, list[int]] = {}
        self._known: dict[str, int] = {}

    def add(self, who: str, devices: Ints) -> None:
        """Add a placement, int[ops], to what ``who`` found."""
        key = digest([np.asarray(devices, np.int32)])
        if key not in self._known:
            self._known[key] = len(self.devices)
            self.devices.append(devices)
        mine = self.found.setdefault(who, [])
        if self._known[key] not in mine:
            mine.append(self._known[key])


def collect(problem: Problem, task: str, seed: int, settings: Settings) -> tuple[Pool, Any]:
    """Search under every judge; what was found, and the seconds that each search took."""
    pool, seconds = Pool(), {}
    for who, score in JUDGES.items():
        judge: Judge = Simulator(problem)
        if score is not None:
            judging = Judging(score, settings.machines, settings.spread)
            judge = robust_judge(problem, settings.machine, task, judging, PLACEBENCH.name)
        best = BestAnswers(problem.machine, settings.count, settings.apart)
        search = Search(problem, Remembering(judge, best), seed, settings.evaluations)
        answer = make_placer("annealing", {}).place(problem, search)
        seconds[who] = search.elapsed
        for one in candidates(problem, answer, best):
            pool.add(who, np.asarray(one.placement.devices))
        print(f"{task} seed {seed}: judged by {who}, {seconds[who]:.0f} s", file=sys.stderr)
    return pool, seconds


def experiment(
    problem: Problem, task: str, seed: int, settings: Settings, backend: Backend
) -> dict[str, Any]:
    """One task and seed: searches, then one contest of all that they found."""
    pool, seconds = collect(problem, task, seed, settings)
    return {"search_seconds": seconds} | run_all(pool, problem, task, seed, settings, backend)


def run_all(
    pool: Pool, problem: Problem, task: str, seed: int, settings: Any, backend: Backend
) -> dict[str, Any]:
    """One contest of all that searches found and of the placers that do not search."""
    simulator = Simulator(problem)
    for name in OTHERS:
        try:
            answer = make_placer(name, {}).place(problem, Search(problem, simulator, seed))
        except Unsupported:
            continue
        pool.add(name, np.asarray(answer.devices))
    ran = contest(
        backend,
        Step.of_task(task),
        pool.devices,
        settings.rounds,
        tell=lambda line: print(f"{task} seed {seed}: {line}", file=sys.stderr, flush=True),
    )
    return {
        "found": pool.found,
        "simulated": [simulator.run(one).step_time for one in pool.devices],
        "relative": [list(entry.relative) for entry in ran.entries],
        "step_times": [[list(one) for one in entry.step_times] for entry in ran.entries],
        "status": [entry.status for entry in ran.entries],
        "runs": ran.runs,
        "run_seconds": ran.seconds,
    }


class Outcome:
    """What a file tells."""

    def __init__(self, record: dict[str, Any]) -> None:
        """Split the rounds: those that choose, and those that tell."""
        self.found, relative = record["found"], record["relative"]
        ran = [i for i, values in enumerate(relative) if values]
        half = len(relative[ran[0]]) // 2
        self.choosing = {i: median(relative[i][:half]) for i in ran}
        self.telling = {i: relative[i][half:] for i in ran}

    def alone(self, who: str) -> int:
        """The placement that a search returns without running any."""
        return int(self.found[who][0])

    def chosen(self, *who: str) -> int:
        """The one that it returns after running them; that of several searches together."""
        ran = [i for one in who for i in self.found[one] if i in self.choosing]
        return min(ran, key=self.choosing.__getitem__)

    def time(self, i: int) -> float:
        """A multiple of the round's median placement; infinite where it did not run."""
        return median(self.telling[i]) if i in self.telling else float("inf")

    def others(self) -> float:
        """That of the fastest placer that does not search."""
        return min(self.time(i) for name in OTHERS for i in self.found.get(name, ()))

    def is_fastest(self, i: int) -> bool:
        """Whether the range of no placement that was run lies below its own."""
        mine = self.telling.get(i)
        return mine is not None and all(max(o) >= min(mine) for o in self.telling.values())


Ways = Mapping[str, Callable[[Outcome], int]]
WAYS: Ways = {
    "search alone": lambda o: o.alone("machine"),
    "judge: mean": lambda o: o.alone("mean"),
    "judge: worst": lambda o: o.alone("worst"),
    "measure-top": lambda o: o.chosen("machine"),
    "mean + measure-top": lambda o: o.chosen("mean"),
    "worst + measure-top": lambda o: o.chosen("worst"),
}


def compared(records: list[dict[str, Any]], ways: Ways, against: str) -> tuple[str, ...]:
    """Each way, then the other placers, against one search alone, over all seeds of a task."""
    outcomes = [Outcome(record) for record in records]
    cells = []
    for way in ways.values():
        ratios = [o.time(way(o)) / o.time(o.alone(against)) for o in outcomes]
        held = sum(o.is_fastest(way(o)) for o in outcomes)
        cells.append(f"{geometric_mean(ratios):.3f} ({held} of {len(outcomes)})")
    others = geometric_mean([o.others() / o.time(o.alone(against)) for o in outcomes])
    return (*cells, f"{others:.3f}")


def row(task: str, records: list[dict[str, Any]]) -> tuple[str, ...]:
    """A line of the table."""
    runs = sum(record["runs"] for record in records)
    spent = sum(record["run_seconds"] for record in records)
    return (task, *compared(records, WAYS, "machine"), f"{runs:,}", f"{spent:,.0f}")


def main() -> None:
    """Run what is missing; write the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--evaluations", type=int, default=4000)
    parser.add_argument("--machines", type=int, default=5)
    parser.add_argument("--spread", type=float, help="instead of what the profile records")
    add_arguments(parser, seeds=3, count=6, output="results/answers")
    asked = parsed(parser)
    settings = Settings(**{name: getattr(asked, name) for name in Settings.__dataclass_fields__})
    rows = table(asked, settings, experiment, row)
    head = ("task", *WAYS, "best of others", "runs", "seconds of runs")
    lead = (
        f"`python benchmarks/answers.py {asked.machine} ...`: annealing with"
        f" {settings.evaluations:,} evaluations, {asked.seeds} seeds; {settings.machines} machines"
        f" drawn; the {settings.count} best answers, {settings.apart:.0%} of the operations apart."
        " Measured step time as a multiple of the search's alone, geometric mean over seeds, from"
        " rounds that chose nothing; in brackets, how often nothing that was run is faster beyond"
        f" the range of those rounds. Others: {', '.join(OTHERS)}."
    )
    write_page(__file__, Section("Answers that hold", head, tuple(rows), lead))


def add_arguments(parser: argparse.ArgumentParser, *, seeds: int, count: int, output: str) -> None:
    """What every such comparison is asked; its defaults."""
    parser.add_argument("machine")
    parser.add_argument("task", nargs="+")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--apart", type=float, default=0.02)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--output", type=Path, default=Path(output))
    parser.add_argument("--expose", action="store_true", help="as placebench bench has it")


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The command line; it ends here where the rounds are too few."""
    asked = parser.parse_args()
    if asked.rounds < 2:
        parser.error("--rounds must be 2 at least: one half chooses, the other tells")
    return asked


def table(
    asked: argparse.Namespace,
    settings: Any,
    experiment: Callable[[Problem, str, int, Any, Backend], dict[str, Any]],
    row: Callable[[str, list[dict[str, Any]]], tuple[str, ...]],
) -> list[tuple[str, ...]]:
    """Run what was not recorded under these settings; a row for each task."""
    rows, gpus = [], len(load_machine(asked.machine).gpus)
    for task in asked.task:
        problem = make_problem(task, asked.machine, gpus)
        mark = digest([problem.fingerprint, str(settings)])
        records = []
        for seed in range(asked.seeds):
            path = asked.output / f"{task}-seed{seed}.json"
            record = known(path, mark)
            if record is None:
                name = problem.machine.backend or "cluster"
                with make_backend(name, problem.machine, expose=asked.expose) as backend:
                    record = experiment(problem, task, seed, settings, backend)
                record |= {"format": FORMAT, "fingerprint": mark, "settings": vars(settings)}
                write_json(record, path)
            records.append(record)
        rows.append(row(task, records))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def known(path: Path, mark: str) -> dict[str, Any] | None:
    """What was recorded under the same settings; None where that is still to be run."""
    try:
        record = read_json(path, FORMAT)
    except InputError:
        return None
    return record if record.get("fingerprint") == mark else None


if __name__ == "__main__":
    main()
