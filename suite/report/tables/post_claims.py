"""What Post claims (Gao et al., NeurIPS 2018): both rules against each alone and against others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import inf
from statistics import median

import pandas as pd

from suite.core.statistics import Interval, median_interval
from suite.report import post
from suite.report.outcome import Printed
from suite.report.post import BUDGETS, GRID, OTHERS, PLACERS, Duel, Found, Searches, Task
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes

GRIDS = (GRID, *OTHERS)
DUELS = (
    ("post", "post_ce"),
    ("post", "post_ppo"),
    ("post", "post_pg"),
    ("post", "hdp"),
    ("post", "colocrl"),
    ("post", "hdp_tuned"),
    ("post_tuned", "post"),
    ("post_tuned", "hdp_tuned"),
)
"""Who is said to be faster than whom."""
PRINTED_AT = 2400
"""Placements of the paper's searches."""
LITTLE = 0.01
"""What more placements may still bring where so many are called enough: our reading."""

TITLE = "Post: cross-entropy minimisation and PPO together, alone, and against others"
LEAD = """\
Simulated seconds of one training step of the best placement found after so many evaluated ones,
lower is better. Post (Gao, Chen and Li, NeurIPS 2018) follows cross-entropy minimisation and PPO in
turn. Of the paper, its abstract, what its reviews quote and a summary of its algorithm were at
hand, not its tables: its claims are tried, and no cell stands beside a published one."""
DUEL_LEAD = """\
Step time of the first over that of the second, after equally many placements [1]: below 1 the first
is faster. In square brackets its interval [2]."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    searches = Searches(records)
    sections = (
        _claims(searches, published),
        _summary(searches),
        *(_duels(searches, *pair) for pair in DUELS),
        _found(searches),
    )
    data = pd.DataFrame([*_found_entries(searches), *_duel_entries(searches)])
    text = _notes(searches)
    return Table(TITLE, LEAD, sections, text, data, len(post.own_cells()), len(searches.own))


def _claims(searches: Searches, published: pd.DataFrame) -> Section:
    """What is printed beside ours."""
    claims = published[published["paper"] == "Post"]
    rows = (
        _up_to(
            "shorter training time than the state of the art, up to",
            Printed.of(claims, "all", "state_of_the_art_reduction"),
            [_against(t, _rival(searches, t), searches, 1000) for t in post.planned("hdp")],
            "HDP or ColocRL, whichever is the faster, after 1,000 placements",
        ),
        _up_to(
            "better than policy gradient, up to",
            Printed.of(claims, "all", "policy_gradient_improvement"),
            [_against(t, "post_pg", searches, PRINTED_AT) for t in post.tasks()],
            "the same table of logits with the policy gradient, after 2,400 placements",
        ),
        _up_to(
            "the same",
            Printed.of(claims, "all", "policy_gradient_improvement"),
            [_against(t, "hdp", searches, 1000) for t in post.planned("hdp")],
            "HDP, which is a policy gradient, after 1,000 placements",
        ),
        _enough(searches, Printed.of(claims, "all", "samples")),
    )
    header = ("the paper's claim", "published", "ours", "against", "verdict [3]")
    lead = (
        "The largest gain of any task, in percent of the other's step time, as the paper says it."
    )
    return Section("The published claims", header, rows, lead)


Against = tuple[Task, Duel]


def _against(task: Task, other: str, searches: Searches, budget: int) -> Against:
    return task, searches.duel(task, "post", other, budget)


def _rival(searches: Searches, task: Task) -> str:
    """The faster of the two planners that were the state of the art."""
    medians = {name: searches.at(task, name, 1000).median for name in ("hdp", "colocrl")}
    known = {name: value for name, value in medians.items() if value == value}
    return min(known, key=lambda name: known[name], default="hdp")


def _up_to(claim: str, theirs: Printed, duels: Sequence[Against], against: str) -> tuple[str, ...]:
    """A row: our largest reduction, and whether it reaches the published one."""
    known = [(task, duel) for task, duel in duels if duel.verdict != post.MISSING]
    published = f"{theirs.text} %"
    if not known:
        return (claim, published, post.MISSING, against, post.MISSING)
    task, best = min(known, key=lambda one: one[1].ratio)
    low, high, _ = best.interval
    ends = f"{_what(best)}{100 * (1 - high):.1f} to {100 * (1 - low):.1f}"
    percent = f"{100 * (1 - best.ratio):.1f} % [{ends}]"
    faster = Counter(duel.verdict for _, duel in known)[post.HOLDS]
    ours = f"{percent} ({task.name}, {_counts(best)}); faster on {faster} of {len(known)} tasks"
    return (claim, published, ours, against, _reached(duels, 1 - theirs.value / 100))


def _reached(duels: Sequence[Against], target: float) -> str:
    """Whether any task's ratio is at most ``target``; a missing one might be."""
    intervals = [_sure(duel.interval) for _, duel in duels]
    if any(high <= target for _, high in intervals):
        return post.HOLDS
    return post.FAILS if all(low > target for low, _ in intervals) else post.UNDECIDED


def _sure(interval: Interval) -> tuple[float, float]:
    """Its ends, or everything where too few searches are behind it."""
    low, high, _ = interval
    return (0.0, inf) if low != low or interval.is_range else (low, high)


def _enough(searches: Searches, theirs: Printed) -> tuple[str, ...]:
    """A row: what the placements after the published number still bring."""
    gains: dict[str, Interval] = {}
    for task in post.tasks():
        after = searches.at(task, "post", max(BUDGETS)).seconds
        before = searches.at(task, "post", PRINTED_AT).seconds
        if after and len(after) == len(before):
            each = [1 - late / soon for soon, late in zip(before, after, strict=True)]
            gains[f"{task.name} {100 * median(each):.1f} %"] = median_interval(each)
    claim = "placements needed"
    if not gains:
        return (claim, theirs.text, post.MISSING, "", post.MISSING)
    ends = [_sure(interval) for interval in gains.values()]
    verdict = post.UNDECIDED
    if len(gains) == len(post.tasks()) and all(high <= LITTLE for _, high in ends):
        verdict = post.HOLDS
    elif any(low > LITTLE and high < inf for low, high in ends):
        verdict = post.FAILS
    ours = f"up to 4,000 still bring, medians over seeds: {', '.join(gains)}"
    return (claim, theirs.text, ours, "itself", verdict)


def _summary(searches: Searches) -> Section:
    """On how many tasks the first is faster, not faster, undecided."""
    rows = []
    for ours, theirs in DUELS:
        cells = []
        for budget in BUDGETS:
            duels = [searches.duel(task, ours, theirs, budget) for task in post.tasks()]
            counts = Counter(duel.verdict for duel in duels)
            words = (post.HOLDS, post.FAILS, post.UNDECIDED, post.MISSING)
            cells.append(" / ".join(str(counts[word]) for word in words))
        rows.append((f"{PLACERS[ours]} faster than {PLACERS[theirs]}", *cells))
    lead = (
        "Tasks on which it holds / does not hold, the other being faster / is undecided / is"
        " missing a record [2]."
    )
    heads = tuple(f"{budget:,} placements" for budget in BUDGETS)
    return Section("Who is faster", ("claim", *heads), tuple(rows), lead)


def _duels(searches: Searches, ours: str, theirs: str) -> Section:
    """A pair: a row a task that has records of both, a column a budget."""
    rows = []
    for task in post.tasks():
        duels = [searches.duel(task, ours, theirs, budget) for budget in BUDGETS]
        if any(duel.verdict != post.MISSING for duel in duels):
            rows.append((task.name, str(task.gpus), *(_duel(duel) for duel in duels)))
    heads = ("task", "GPUs", *(f"{budget:,}" for budget in BUDGETS))
    title = f"{PLACERS[ours]} against {PLACERS[theirs]}"
    return Section(title, heads, tuple(rows), DUEL_LEAD)


def _what(duel: Duel) -> str:
    """Says so where too few seeds leave a range in the place of an interval."""
    return "range " * duel.interval.is_range


def _duel(duel: Duel) -> str:
    if duel.verdict == post.MISSING:
        return post.MISSING
    ends = post.bracketed(duel.interval)
    return f"x{duel.ratio:.3f}{ends}, {_counts(duel)}: {duel.verdict}"


def _counts(duel: Duel) -> str:
    return f"n={len(duel.ours.seconds)} and {len(duel.theirs.seconds)}"


def _found(searches: Searches) -> Section:
    """The step times behind it all."""
    rows = []
    for task in post.tasks():
        for placer, name in PLACERS.items():
            found = [searches.at(task, placer, budget) for budget in BUDGETS]
            if any(one.seconds for one in found):
                rows.append((task.name, str(task.gpus), name, *(_seconds(one) for one in found)))
    heads = ("task", "GPUs", "placer", *(f"{budget:,}" for budget in BUDGETS))
    lead = "Seconds: median over seeds, in square brackets its interval or range [2], n seeds."
    return Section("Step times found", heads, tuple(rows), lead)


def _seconds(found: Found) -> str:
    if not found.seconds:
        return post.MISSING
    if found.median == inf:
        return f"OOM, n={len(found.seconds)}"
    return f"{found.median:.3f}{post.bracketed(found.interval)}, n={len(found.seconds)}"


def _found_entries(searches: Searches) -> Iterator[dict[str, object]]:
    for task in post.tasks():
        for placer in PLACERS:
            for budget in BUDGETS:
                found = searches.at(task, placer, budget)
                yield {
                    **{"task": task.name, "gpus": task.gpus, "placer": placer, "against": ""},
                    **{"evaluations": budget, "metric": "step_time", "n": len(found.seconds)},
                    **{"n_against": None, "value": found.median},
                    **{f"interval_{k}": v for k, v in found.interval._asdict().items()},
                    "verdict": "",
                }


def _duel_entries(searches: Searches) -> Iterator[dict[str, object]]:
    for ours, theirs in DUELS:
        for task in post.tasks():
            for budget in BUDGETS:
                duel = searches.duel(task, ours, theirs, budget)
                yield {
                    **{"task": task.name, "gpus": task.gpus, "placer": ours, "against": theirs},
                    **{"evaluations": budget, "metric": "ratio", "n": len(duel.ours.seconds)},
                    **{"n_against": len(duel.theirs.seconds), "value": duel.ratio},
                    **{f"interval_{k}": v for k, v in duel.interval._asdict().items()},
                    "verdict": duel.verdict,
                }


def _notes(searches: Searches) -> tuple[str, ...]:
    missing = [f"{task.name} {label} {n}" for task, label, n in searches.missing()]
    return (
        "A search of 4,000 placements tells by its curve what fewer would have found. HDP and"
        " ColocRL are those of the grids `post_rivals` (the tasks of Post's paper) and"
        " `post_rivals_hdp` (HDP's tasks), 4,000 placements and 3 seeds; where these are not there,"
        " of `reference` (1,000, 3 seeds) and `paper` (4,000, one seed, three tasks)."
        " HDP tuned is that of the grids `post_rivals` and `equal_evaluations` (4,000"
        " placements, 5 seeds, HDP's six tasks), with the settings of `reference` and `paper` in"
        " everything but the budget: what its first three seeds had found after 1,000 placements is"
        " what those of `reference` found. Post has the settings of `planners/post.py`; the policy"
        " gradient is the same with one step of ascent, ten times as long as each of PPO's ten;"
        " tuned is `planners/post_tuned.py`.",
        "Interval of a ratio: the factors that a Mann-Whitney test at 5 % would not reject, of the"
        " median: between two of its values. A claim holds or does not where the interval is on one"
        " side of 1; it is undecided where 1 is within, and where too few searches are behind it.",
        "An `up to` claim holds where some task's interval reaches the published gain, does not"
        " where no task's does; it is undecided as long as there is no record of a task that might."
        " The paper's formulas are not known, ours is (other - Post) / other. So many placements"
        f" count as enough where more bring at most {LITTLE:.0%} on every task, by the interval of"
        " the median over seeds.",
        "OOM: nothing was found that fits in memory; it counts as slower than all that fits.",
        *([f"**Incomplete**: records missing: {', '.join(missing)}."] if missing else []),
        *notes.failures(searches.own),
        *notes.provenance(searches.own),
        *notes.code_note(searches.own),
    )
