"""Figure 4 of GDP (Zhou et al. 2019): policies of many graphs, fine-tuned on one of them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import FIGURE4, LEARNED, printed_table
from suite.report.metrics import metric
from suite.report.outcome import Printed
from suite.report.policies import policies_section, seen_mark
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import (
    LESS,
    RULE,
    Claim,
    claims_section,
    gain_over,
    percent,
    seconds,
)
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import as_gain, over_new
from suite.report.tables._gdp_claims import search_seconds
from suite.report.tables._intervals import seed_intervals
from suite.report.tables._search_cost import PLACEMENTS, SearchCost
from suite.report.tables._search_cost import SECONDS as WALL

SECONDS = metric("step_time")
GRIDS = FIGURE4.grids
"""What ``placebench bench`` runs for this page: grid gdp_figure4, and what it is held against."""
HEADS = {
    "gdp": "GDP-one",
    "gdp_batch": "GDP-batch",
    "gdp_batch_fine_tuned": "fine-tuned",
    "gdp_tuned": "GDP-one, tuned",
    "gdp_tuned_batch": "GDP-batch, tuned",
    "gdp_tuned_batch_fine_tuned": "fine-tuned, tuned",
}
"""Placer or label -> its column."""
ALONE = {"gdp_batch_fine_tuned": "gdp", "gdp_tuned_batch_fine_tuned": "gdp_tuned"}
"""The fine-tuned policy of many graphs -> the planner that learns one alone, from scratch."""
RUN_TIME = metric("runtime_reduction")

TITLE = "GDP, Figure 4: policies fine-tuned on graphs that they were trained on"
LEAD = """\
Seconds of one training step, simulated; lower is better. One policy is trained on all of these
graphs at once, and then fine-tuned on each of them for 10 updates of 10 placements: **every
fine-tuned cell is of a policy that was trained on it**, on the very graph. It is held against
GDP-one, the same planner from scratch on that graph alone. GDP (Zhou et al., arXiv 1910.01578,
2019, Figure 4) says that this takes 5 % off the run time and 86 % off the search time, on average;
what it draws of each graph was not at hand, so that no cell has a published number beside it."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a record of a fine-tuned policy nothing is found, though other tables may have what it
    is compared with.
    """
    # The paper's Table 2 has the graphs of the batch, and figures that are not about this.
    ours = FIGURE4.beside(records, printed_table(published, "2"), HEADS)
    claims = list(_claims(ours, printed_table(published, "claims")))
    sections = (
        claims_section(claims, 5),
        _run_times(ours),
        *_searches(ours),
        _whole(ours),
        *policies_section(ours, {new: HEADS[new] for new in ALONE}),
    )
    data = long_form(ours, list(HEADS), _entries(ours, claims))
    tuned = ours.records["placer"].isin(list(ALONE)).any()
    found = ours.found if tuned else 0
    return Table(TITLE, LEAD, sections, _notes(ours), data, ours.expected, found)


def _cost(ours: Comparison, new: str) -> SearchCost:
    """What fine-tuning costs until it is as fast as the same planner from scratch ends."""
    return SearchCost(ours, ALONE[new], {new: "fine-tuned"}, "GDP-one")


def _claims(ours: Comparison, printed: pd.DataFrame) -> Iterator[Claim]:
    """Run time, then search time by three measures, as shares of those of one graph alone."""
    run_time = Printed.of(printed, "all", "fine_tuned_batch_run_time")
    search = Printed.of(printed, "all", "fine_tuned_batch_search")
    for new in ALONE:
        gains = [_gain(ours, row, new) for row in ours.rows]
        what = "run time below GDP-one's"
        yield _claim("run_time", what, new, gains, run_time)
    what = "search time below GDP-one's"
    for unit in (PLACEMENTS, WALL):
        for new in ALONE:
            ratios = _cost(ours, new).ratios(new, unit)
            most, least = (
                [over_new(one, 1) for one in ends]
                for ends in ([r.most for r in ratios], [r.value for r in ratios])
            )
            text = f"{what}, in {unit.name} to GDP-one's final quality"
            yield _claim(f"search_{unit.name}", text, new, most, search, least)
    for new in ALONE:
        gains = [over_new(_times(ours, row, new), 1) for row in ours.rows]
        yield _claim("search_cpu", f"{what}, in CPU seconds of whole searches", new, gains, search)


def _claim(
    name: str,
    what: str,
    new: str,
    gains: list[float],
    theirs: Printed,
    least: list[float] | None = None,
) -> Claim:
    target = as_gain(theirs.value)
    return Claim(name, what, HEADS[new], gains, percent(theirs), target, LESS, least)


def _gain(ours: Comparison, row: Row, new: str) -> float:
    """Of run time, in percent of the fine-tuned policy's."""
    return gain_over(seconds(ours.ours(row, ALONE[new])), seconds(ours.ours(row, new)))


def _times(ours: Comparison, row: Row, new: str) -> float:
    """CPU seconds of the whole search from scratch over those of fine-tuning."""
    return search_seconds(ours, row, ALONE[new]) / search_seconds(ours, row, new)


def _run_times(ours: Comparison) -> Section:
    rows = []
    for row in ours.rows:
        cells = []
        for new in ALONE:
            cells += [_cell(ours, row, placer) for placer in _beside(new)]
            gain = _gain(ours, row, new)
            cells.append(LESS.text(gain) if gain == gain else "missing")
        rows.append((f"{row.label} ({row.gpus})", *cells))
    header = ["Model (#devices)"]
    for new in ALONE:
        one, *others = (HEADS[placer] for placer in _beside(new))
        header += [*(f"{head} [2]" for head in (one, *others)), f"less run time than {one}"]
    return Section("Run time", tuple(header), tuple(rows))


def _beside(new: str) -> tuple[str, ...]:
    """Alone, as the policy was trained, fine-tuned."""
    return ALONE[new], new.removesuffix("_fine_tuned"), new


def _cell(ours: Comparison, row: Row, placer: str) -> str:
    text = ours.ours(row, placer).learned_text(SECONDS)
    return text + seen_mark(ours.of_cell(row, placer))


def _searches(ours: Comparison) -> Iterator[Section]:
    """What fine-tuning costs until it is as fast as GDP-one ends."""
    for unit, things in ((PLACEMENTS, "evaluated placements"), (WALL, "seconds that passed")):
        for new, one in ALONE.items():
            tuned = " Both planners are the one with our changes." * (one != LEARNED)
            lead = (
                "The target is the median of the step times that GDP-one's seeds end with. Each"
                f" cell: the median over seeds of the {things} until the best placement so far"
                " takes no longer, and how many of the seeds got there; not reached: fewer than"
                " half of them did. Ratios above 1: the fine-tuned policy, which was trained on the"
                " graph, is there sooner. A ratio behind `<` is of a search that did not get there"
                f" before its end [4].{tuned}"
            )
            both = ", both with our changes" * (one != LEARNED)
            title = f"Search cost to GDP-one's final quality{both}, in {unit.name}"
            yield _cost(ours, new).section(unit, title, lead)


def _whole(ours: Comparison) -> Section:
    """CPU seconds of searches to their end."""
    rows = []
    for row in ours.rows:
        cells = []
        for new in ALONE:
            cells += [_spent(ours, row, placer) for placer in (ALONE[new], new)]
            gain = over_new(_times(ours, row, new), 1)
            cells.append(LESS.text(gain) if gain == gain else "missing")
        rows.append((f"{row.label} ({row.gpus})", *cells))
    header = ["Model (#devices)"]
    for new, one in ALONE.items():
        header += [HEADS[one], HEADS[new], f"less than {HEADS[one]}"]
    lead = (
        "CPU seconds, the least of all seeds. The searches do not evaluate equally many placements"
        " [2], so that most of this is what was chosen for them, and they do not end equally fast."
    )
    return Section("CPU seconds of whole searches", tuple(header), tuple(rows), lead)


def _spent(ours: Comparison, row: Row, placer: str) -> str:
    spent = search_seconds(ours, row, placer)
    return metric("cpu_seconds").format(spent) if spent == spent else "missing"


def _entries(ours: Comparison, claims: list[Claim]) -> Iterator[Entry]:
    for new in ALONE:
        for row in ours.rows:
            key = {"task": row.task, "gpus": row.gpus, "column": new, "unit": RUN_TIME.unit}
            less = LESS.value(_gain(ours, row, new))
            yield {**key, "metric": RUN_TIME.name, "value": less}
        yield from _cost(ours, new).entries(PLACEMENTS, WALL)
    yield from (claim.entry() for claim in claims)


def _notes(ours: Comparison) -> tuple[str, ...]:
    return (
        "All cells are predictions: nothing was fitted to them (see [Table 1](gdp_table1.md), where"
        " the machine and the models are explained). The graphs are those of"
        " [Table 2](gdp_table2.md): the paper's are not known to be the same, nor how long its"
        " policies were trained, or fine-tuned for its Figure 4.",
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets behind the median {seed_intervals(ours, *HEADS)}"
        f" {notes.effort(ours, HEADS)} Seeds of a fine-tuned policy are of fine-tuning alone: there"
        " is one policy of each planner, trained once. GDP-batch is the best placement that the"
        " policy met in training, which fine-tuning does not know: it starts from the policy.",
        "Before a policy is fine-tuned its logits are divided, and a planner with our changes gets"
        " a table of logits for the graph (docs/planners.md): the paper says nothing of either."
        " Training the policy counts nowhere in what a search costs; the last section says how many"
        " placements of each graph it had. The paper does not say whether its 86 % counts it.",
        "Search cost: the target is the median of what the seeds from scratch end with, so that by"
        " definition only about half of these reach it (two of three, unless two end alike), and"
        " their cost is that of the later. A search that never gets there counts as slower than all"
        " that do. Where that decides the median, the whole search stands for it in the ratio: it"
        " needs more than that, and the ratio is below the one behind `<`. The seconds are those"
        " that passed, on hosts which differ and had other work, and the first search of a process"
        " has those that TensorFlow takes to load: placements can be compared, seconds only"
        " roughly.",
        f"{RULE} All figures are shares: (GDP-one - fine-tuned) / GDP-one, of medians over seeds,"
        " where each planner is held against itself: what has our changes against what has them,"
        " too, of which the paper says nothing. The paper prints two averages and not how it made"
        " them; ours is GEOMEAN: 1 less the geometric mean of fine-tuned / GDP-one. Behind `<` are"
        " numbers with upper ends in them (note 4): what is counted as better is so without them,"
        " and a verdict is one that they cannot turn. -inf: what was fine-tuned runs out of memory,"
        " and counts in no GEOMEAN. The interval is over graphs. In CPU seconds of whole searches"
        " the claim is about the number of placements, which is ours.",
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
