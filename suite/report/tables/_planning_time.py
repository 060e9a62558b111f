"""How long the searches of the race took until they were as fast as an expert or a partitioner."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isinf, isnan, nan
from statistics import median, median_low

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.load_records import of_cells
from suite.report.outcome import JUDGED
from suite.report.table import Section
from suite.report.until import printed, reached

SEARCHES = ("annealing", "coarse_to_fine", "window_by_window")
"""Searches of the race that are asked when they got there."""
EXPERT, EXPERT_GRID = "human_expert", "quick"
PARTITIONERS = ("metis", "scotch", "mincut", "mtkahypar")
ANSWERS = ("reference", "quick", "strong")
"""Grids with their single answers; one seed's is the same in each, and counts once."""
RESTARTS = "restarts_"
"""Before a partitioner's name: the label of its restarts in the race."""
LEAD = """\
Seconds that passed, and placements that were judged, in the searches above until one was no slower
than the human expert's, than what the best partitioner answers once, and than what a minute of its
restarts found: the median over seeds, in square brackets the least and the most, and how many seeds
got there [1]. Most of these seconds go by before any placement is judged, in reading the structure
of the graph and making the starts: the rows `any that fits` say when the first was there that fits
in memory."""


@dataclass(frozen=True)
class Target:
    """What a search is to be as fast as."""

    name: str
    seconds: float
    """Of a step; infinite for whatever fits in memory, NaN where there is no record."""


@dataclass(frozen=True)
class Reached:
    """When the seeds of one search got there: placements and seconds, infinite where not."""

    numbers: tuple[float, ...]
    seconds: tuple[float, ...]

    @classmethod
    def of(cls, searches: pd.DataFrame, target: Target) -> Reached:
        """Read it off the histories of ``searches``, a seed each."""
        if isnan(target.seconds):
            return cls((), ())
        both = [reached(history, target.seconds) for history in searches["history"]]
        return cls(tuple(number for number, _ in both), tuple(passed for _, passed in both))

    @property
    def cells(self) -> tuple[str, str, str]:
        """Seconds, placements, and how many seeds."""
        there = sum(map(isfinite, self.numbers))
        count = f"{there} of {len(self.numbers)}" if self.numbers else "missing"
        return _spread(self.seconds, _seconds), _spread(self.numbers, printed), count


def planning_time(
    records: pd.DataFrame, race: pd.DataFrame, tasks: Sequence[tuple[str, int]]
) -> tuple[Section, pd.DataFrame]:
    """The section, and a row for each of its targets and seeds.

    ``records`` are all there are, ``race`` those of the race, ``tasks`` its names and GPUs.
    """
    cells = [cell for grid in ANSWERS for cell in planned_cells(grid)]
    # A seed that failed is none that never got there: it tells nothing of a whole search.
    single, race = (part[part["status"].isin(JUDGED)] for part in (of_cells(records, cells), race))
    rows, entries = [], []
    for task, gpus in tasks:
        ours, answers = (
            part[(part["task"] == task) & (part["gpus"] == gpus)] for part in (race, single)
        )
        searches = {name: ours[ours["placer"] == name] for name in SEARCHES}
        for target in _targets(ours, answers):
            found = {name: Reached.of(mine, target) for name, mine in searches.items()}
            time = f"{target.seconds:.3f}" if isfinite(target.seconds) else "-"
            cells_of = [cell for one in found.values() for cell in one.cells]
            rows.append((task, str(gpus), target.name, time, *cells_of))
            for name, one in found.items():
                seeds = zip(searches[name]["seed"], one.numbers, one.seconds, strict=False)
                entries += [
                    {
                        **{"grid": "race", "task": task, "gpus": gpus, "placer": name},
                        **{"seed": seed, "no_slower_than": target.name},
                        **{"target_step_time": target.seconds},
                        **{"reached_evaluations": number, "reached_seconds": passed},
                    }
                    for seed, number, passed in seeds
                ]
    heads = (f"{name}, {what}" for name in SEARCHES for what in ("s", "placements", "seeds"))
    header = ("task", "GPUs", "no slower than", "step time", *heads)
    return Section("Time until as fast", header, tuple(rows), LEAD), pd.DataFrame(entries)


def _targets(race: pd.DataFrame, answers: pd.DataFrame) -> Iterator[Target]:
    """Whatever fits, the expert's placement, the best partitioner's, and its restarts'."""
    yield Target("any that fits", inf)
    experts = answers[(answers["placer"] == EXPERT) & (answers["grid"] == EXPERT_GRID)]
    yield Target(EXPERT, _median(experts))
    once = {name: _once(answers[answers["placer"] == name]) for name in PARTITIONERS}
    again = {name: _median(race[race["placer"] == RESTARTS + name]) for name in PARTITIONERS}
    best, fastest = _least({n: _median(own) for n, own in once.items()}), _least(again)
    if not best:
        yield Target("one answer of a partitioner", nan)
    else:
        yield Target(f"one answer of {best}, n={len(once[best])}", _median(once[best]))
    for name in dict.fromkeys((best, fastest)):
        if name and not isnan(again[name]):
            more = ", the fastest" if name == fastest else ""
            yield Target(f"60 s of {name} again and again{more}", again[name])


def _once(answers: pd.DataFrame) -> pd.DataFrame:
    """One record a seed, of the first of ANSWERS that has it."""
    order = answers["grid"].map({grid: i for i, grid in enumerate(ANSWERS)})
    return answers.loc[order.sort_values(kind="stable").index].drop_duplicates("seed")


def _median(records: pd.DataFrame) -> float:
    """The median step time over seeds; what does not fit is slower than all, NaN if none does."""
    fits = zip(records["status"], records["step_time"], strict=True)
    middle = median([float(t) if s == "ok" else inf for s, t in fits] or [nan])
    return middle if isfinite(middle) else nan


def _least(times: dict[str, float]) -> str:
    """The name of the shortest; empty where there is none."""
    known = {name: time for name, time in times.items() if not isnan(time)}
    return min(known, key=lambda name: known[name], default="")


def _spread(values: Iterable[float], text: Callable[[float], str]) -> str:
    """The median, which is infinite where fewer than half got there, and the range of those."""
    values = tuple(values)
    if not values:
        return "missing"
    there = sorted(value for value in values if isfinite(value))
    ends = f" [{text(there[0])}-{text(there[-1])}]" if len(there) > 1 else ""
    return text(median_low(values)) + ends


def _seconds(number: float) -> str:
    return "not reached" if isinf(number) else f"{number:.2f}"
