"""How often the gate sees a planted regression, and how often one that is not there (docs/gate.md).

Run ``python benchmarks/gate.py [REPEATS]``: real records, their step times drawn anew with noise.
Measured: every step has its own noise, the machine drifts from run to run, a round is now and then
disturbed. Learned: the spread of seeds is that of all recorded learned cells.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from suite.bench.cell import Cell
from suite.core.arrays import Floats
from suite.gate.groups import kind_of
from suite.gate.rule import Rule
from suite.gate.runs import Runs, read_runs
from suite.gate.verdict import LEARNED, SLOWER, Verdict

RESULTS = Path(__file__).parents[1] / "results"
REGRESSIONS = (0.0, 0.01, 0.03, 0.10)
STEPS = 5
DRIFT = 0.005
"""Standard deviation of the machine's speed from one run to the next, a random walk."""
DISTURBED, DISTURBANCE = 0.02, 0.3
"""Share of runs that are disturbed, and by how much."""
TWO_JOBS, BETWEEN_JOBS = "first all A, then all B", 0.15
"""Instead of turns; by how much the machine's speed differs between the two."""
SECOND = 0.05
"""By how much the second run of a round is slower, whichever code it runs."""
Draw = Callable[[np.random.Generator, float], tuple[Runs, Runs]]
"""Draws base and head, the head slower by a share."""


def measured(rounds: int, noise: float, turns: str = "ABBA", second_slower: float = 0.0) -> Draw:
    """Rounds of one measured cell, of two runs each in the order ``turns``."""
    record = {"status": "ok", "backend": "session", "parameters": {}}
    cell = Cell("planted", "machine", 2, "task", "placer", 0)
    order = "A" * rounds + "B" * rounds if turns == TWO_JOBS else turns * rounds
    base = np.array([side == "A" for side in order[: 2 * rounds]])

    def draw(rng: np.random.Generator, slower: float) -> tuple[Runs, Runs]:
        level = np.exp(np.cumsum(rng.normal(0, DRIFT, 2 * rounds)))
        level[1::2] *= 1 + second_slower
        if turns == TWO_JOBS:
            level *= np.repeat(np.exp(rng.normal(0, BETWEEN_JOBS, 2)), rounds)
        steps = level[:, None] * np.exp(rng.normal(0, noise, (2 * rounds, STEPS)))
        times = np.median(steps, axis=1) * (1 + DISTURBANCE * (rng.random(2 * rounds) < DISTURBED))
        return runs(times[base]), runs(times[~base] * (1 + slower))

    def runs(times: Floats) -> Runs:
        return {cell: {i: record | {"step_time": float(t)} for i, t in enumerate(times)}}

    return draw


def learned(seeds: int, spreads: Floats) -> Draw:
    """Seeds of one learned cell, spread as one of the recorded cells is."""
    record = {"status": "ok", "backend": "simulator", "planner": {"updates": 1}}

    def draw(rng: np.random.Generator, slower: float) -> tuple[Runs, Runs]:
        spread = rng.choice(spreads)
        times = np.exp(rng.normal(0, spread, (2, seeds)))
        times[1] *= 1 + slower
        return runs(times[0]), runs(times[1])

    def runs(times: Floats) -> Runs:
        cells = [Cell("planted", "machine", 2, "task", "placer", i) for i in range(seeds)]
        return {c: {0: record | {"step_time": float(t)}} for c, t in zip(cells, times, strict=True)}

    return draw


def recorded_spreads(results: Path) -> Floats:
    """Standard deviation of log step time over the seeds of every learned cell."""
    groups: dict[str, list[float]] = {}
    for cell, rounds in read_runs(results).items():
        record = rounds[0]
        if kind_of(record) == LEARNED and record["status"] == "ok":
            groups.setdefault(cell.name.rpartition("/")[0], []).append(record["step_time"])
    logs = [np.log(times) for times in groups.values() if len(times) > 2]
    return np.array([np.std(log, ddof=1) for log in logs])


def exact() -> Draw:
    """The recorded simulated cells of the quick grid, one of them slower."""
    records = {
        cell: rounds
        for cell, rounds in read_runs(RESULTS).items()
        if cell.grid == "quick" and kind_of(rounds[0]) != LEARNED and rounds[0]["status"] == "ok"
    }

    def draw(rng: np.random.Generator, slower: float) -> tuple[Runs, Runs]:
        cell = list(records)[rng.integers(len(records))]
        record = records[cell][0]
        worse = record | {"step_time": record["step_time"] * (1 + slower)}
        return records, records | {cell: {0: worse}}

    return draw


def red_rates(draw: Draw, slower: float, repeats: int) -> tuple[float, float, float]:
    """Shares of repeats in which the gate is red, red twice in a row, and red under another rule:
    the whole interval beyond the tolerance."""
    rng, rule = np.random.default_rng(1), Rule()
    first, second, strict = [], [], []
    for _ in range(repeats):
        one, two = (rule.compare(*draw(rng, slower)) for _ in range(2))
        first.append(_red(one))
        second.append(_red(one) and _red(two))
        strict.append(any(v.interval.low > 1 + rule.tolerance for v in one))
    return float(np.mean(first)), float(np.mean(second)), float(np.mean(strict))


def _red(verdicts: list[Verdict]) -> bool:
    return any(verdict.word == SLOWER for verdict in verdicts)


def main(repeats: int) -> None:
    """Print one line for each kind of cell and regression."""
    spreads = recorded_spreads(RESULTS)
    print(f"learned: {len(spreads)} recorded cells, median spread {np.median(spreads):.1%}")
    draws = {"exact": exact()}
    draws |= {
        f"measured, {rounds} rounds, noise {noise:.0%}": measured(rounds, noise)
        for noise in (0.01, 0.03, 0.08)
        for rounds in (5, 7, 9, 11)
    }
    draws["measured, 9 rounds, noise 3%, two jobs"] = measured(9, 0.03, TWO_JOBS)
    draws |= {
        f"measured, 9 rounds, noise 3%, second run {SECOND:.0%} slower, {turns}": measured(
            9, 0.03, turns, SECOND
        )
        for turns in ("ABAB", "ABBA")
    }
    draws |= {f"learned, {n} seeds": learned(n, spreads) for n in (3, 5, 10)}
    quiet = spreads[spreads < 0.025]
    draws |= {f"learned, {n} seeds, spread < 2.5 %": learned(n, quiet) for n in (3, 5, 10)}
    print(f"{repeats} repeats; red / red twice / interval beyond the tolerance")
    print("| cells | " + " | ".join(f"{r:.0%}" for r in REGRESSIONS) + " |")
    for name, draw in draws.items():
        rates = (red_rates(draw, slower, repeats) for slower in REGRESSIONS)
        shown = (" / ".join(f"{100 * rate:.1f}" for rate in triple) for triple in rates)
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
