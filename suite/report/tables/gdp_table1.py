"""Table 1 of GDP (Zhou et al. 2019): seconds of one training step, and speed-ups."""

from __future__ import annotations

from statistics import geometric_mean

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import (
    LEARNED,
    LEARNERS,
    MORE,
    MORE_LEARNED,
    PAPER,
    PLACERS,
    SPEEDUPS,
    TODAY,
    printed_table,
)
from suite.report.metrics import metric
from suite.report.outcome import Outcome, Printed, beside, best_of
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import RULE, claims_section
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import Gain, mean_gain, over_new
from suite.report.tables._gdp_claims import (
    gdp_claims,
    search_cost,
    search_cost_tuned,
    search_seconds,
    search_speedup,
    untried,
)
from suite.report.tables._intervals import seed_intervals
from suite.report.tables._search_cost import PLACEMENTS
from suite.report.tables._search_cost import SECONDS as WALL
from suite.report.tables._sections import fullest, graph_section, memory_section

SECONDS = metric("step_time")
SEARCH = metric("search_speedup")
GRIDS = TODAY.grids
"""What ``placebench bench gdp_table1`` runs."""

TITLE = "GDP, Table 1: run time of one training step"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by GDP (Zhou et al., GDP: Generalized Device Placement for Dataflow Graphs, arXiv
1910.01578, 2019, Table 1) and ours / published. The paper gives of its models no more than names
and layers and of its machine the kinds of processor, so that seconds are not the aim: orderings,
speed-ups and the OOM pattern are."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    printed = printed_table(published, "1")
    ours = TODAY.beside(records, printed, PLACERS)
    gains = {(row, name): _gain(ours, row, name) for row in ours.rows for name in SPEEDUPS}
    claims = list(gdp_claims(ours, printed))
    sections = (
        claims_section(claims, 11, untried(printed_table(published, "claims"))),
        _main(ours, printed, gains),
        *_to_quality(ours),
        _search(ours, printed),
        _more(ours),
        graph_section(ours, printed_table(published, "models")),
        memory_section(ours, PLACERS),
    )
    derived = [gain.entry() for gain in gains.values()]
    derived += [_search_entry(ours, row) for row in ours.rows]
    derived += search_cost(ours).entries(PLACEMENTS, WALL)
    derived += search_cost_tuned(ours).entries(PLACEMENTS, WALL)
    derived += [claim.entry() for claim in claims]
    data = long_form(ours, list(PLACERS), derived)
    return Table(TITLE, LEAD, sections, _notes(ours), data, ours.expected, ours.found)


def _main(ours: Comparison, printed: pd.DataFrame, gains: dict[tuple[Row, str], Gain]) -> Section:
    rows = []
    for row in ours.rows:
        outcomes = {placer: ours.ours(row, placer) for placer in PAPER}
        best = best_of(outcomes, SECONDS)
        cells = [
            beside(_text(placer, outcome), outcome, ours.theirs(row, placer), placer == best)
            for placer, outcome in outcomes.items()
        ]
        speedups = [gains[row, name].text(outcomes[LEARNED]) for name in SPEEDUPS]
        rows.append((f"{row.label} ({row.gpus})", *cells, *speedups))
    means = [_mean_text(ours, printed, gains, name) for name in SPEEDUPS]
    rows.append(("GEOMEAN", *["-"] * len(PAPER), *means))
    marks = {LEARNED: " [4]", "human_expert": " [3]", "metis": " [2]", "hdp": " [4]"}
    heads = [f"{head}{marks[placer]}" for placer, head in PAPER.items()]
    header = ("Model (#devices)", *heads, "speed-up over HP [5]", "over HDP [5]")
    return Section("The paper's table", header, tuple(rows))


def _text(placer: str, outcome: Outcome) -> str:
    return outcome.learned_text(SECONDS) if placer in LEARNERS else outcome.text(SECONDS)


def _gain(ours: Comparison, row: Row, name: str) -> Gain:
    """(other - GDP) / GDP, as the paper computes it."""
    base, new = ours.ours(row, SPEEDUPS[name]), ours.ours(row, LEARNED)
    return Gain(row, name, over_new(base.median, new.median), ours.theirs(row, name))


def _mean_text(
    ours: Comparison, printed: pd.DataFrame, gains: dict[tuple[Row, str], Gain], name: str
) -> str:
    """Geometric mean of the ratios of step times, less 1, over the rows that have both."""
    every = (gains[row, name].value for row in ours.rows)
    known = [value for value in every if value == value]
    theirs = Printed.of(printed, "all", name)
    shown = f"{metric(name).format(mean_gain(known))}% of {len(known)}" if known else "missing"
    return f"{shown} ({theirs.text}%)"


def _search(ours: Comparison, printed: pd.DataFrame) -> Section:
    header = (
        *("Model (#devices)", "HDP, CPU seconds of a whole search"),
        *("GDP-one, CPU seconds of a whole search", "HDP / GDP-one"),
    )
    rows, known = [], []
    for row in ours.rows:
        theirs = ours.theirs(row, "search_speedup")
        cells = [_seconds_text(ours, row, placer) for placer in ("hdp", LEARNED)]
        times = search_speedup(ours, row)
        known += [times] if times == times else []
        shown = f"x{SEARCH.format(times)}" if times == times else "missing"
        rows.append((f"{row.label} ({row.gpus})", *cells, f"{shown} (x{theirs.text})"))
    theirs = Printed.of(printed, "all", "search_speedup")
    shown = f"x{SEARCH.format(geometric_mean(known))} of {len(known)}" if known else "missing"
    rows.append(("GEOMEAN", "-", "-", f"{shown} (x{theirs.text})"))
    lead = (
        "CPU seconds of one whole search by the simulator's step times, the least of all seeds:"
        " they were timed on hosts of which some take twice as long as others. Both searches"
        " evaluate equally many placements, and one may end slower than the other [6]. In brackets"
        " the paper's search speed-up."
    )
    return Section("CPU seconds of whole searches", header, tuple(rows), lead)


def _to_quality(ours: Comparison) -> tuple[Section, ...]:
    """What a search costs until it is as fast as HDP's end."""
    theirs = {row: ours.theirs(row, "search_speedup") for row in ours.rows}
    lead = (
        "The target is the median of the step times that HDP's seeds end with. Each cell: the"
        " median over seeds of the {unit} until the best placement so far takes no longer, and how"
        " many of the seeds got there; not reached: fewer than half of them did. Ratios above 1:"
        " GDP is there sooner. A ratio behind `<` is of a search that did not get there before its"
        " end [10].{more}"
    )
    more = " In brackets the paper's search speed-up."
    title = "Search cost to HDP's final quality"
    cost = search_cost(ours)
    return (
        cost.section(
            PLACEMENTS,
            f"{title}, in placements",
            lead.format(unit="evaluated placements", more=more),
            theirs,
        ),
        cost.section(
            WALL, f"{title}, in seconds", lead.format(unit="seconds that passed", more=more), theirs
        ),
    )


def _seconds_text(ours: Comparison, row: Row, placer: str) -> str:
    seconds = search_seconds(ours, row, placer)
    return metric("cpu_seconds").format(seconds) if seconds == seconds else "missing"


def _search_entry(ours: Comparison, row: Row) -> Entry:
    theirs = ours.theirs(row, "search_speedup")
    return {
        **{"task": row.task, "gpus": row.gpus, "metric": "search_speedup"},
        **{"value": search_speedup(ours, row)},
        **{"published": theirs.digits, "published_status": theirs.status},
    }


def _more(ours: Comparison) -> Section:
    """Our other placers, and the lower bound."""
    seconds, rows = metric("lower_bound"), []
    for row in ours.rows:
        bound, kind = ours.bound(row)
        times = ours.ours(row, "human_expert").median / bound
        rows.append(
            (
                row.label,
                *(_text(placer, ours.ours(row, placer)) for placer in MORE | MORE_LEARNED),
                seconds.format(bound) if bound == bound else "missing",
                kind or "-",
                f"x{metric('ratio_to_bound').format(times)}" if times == times else "-",
            )
        )
    heads = (*MORE.values(), *(f"{head} [4]" for head in MORE_LEARNED.values()))
    header = ("Tasks", *heads, "Lower bound [7]", "what binds", "HP / bound")
    lead = "Seconds. Tuned: the same two planners with changes of ours."
    return Section("Not in the paper", header, tuple(rows), lead)


def _room(ours: Comparison, placer: str) -> str:
    """How much memory a placer takes at most, where that is less than there is; else empty."""
    shares = [(fullest(ours.of_cell(row, placer))[0], row.label) for row in ours.rows]
    share, label = max(shares)
    if not 0 < share < 1:
        return ""
    printed = f"{metric('memory_share').format(share)} of a GPU's memory ({label})"
    return (
        f" Ours takes at most {printed}: at the batch sizes of public configurations these models"
        " are far from filling a P100, so that the paper's were larger or its METIS more lopsided."
    )


def _hosts(ours: Comparison) -> str:
    """How much longer one seed's whole search took than another's."""
    spent = [ours.of_cell(row, p)["wall_seconds"] for row in ours.rows for p in LEARNERS]
    times = [float(s.max() / s.min()) for s in spent if len(s) > 1 and s.min() > 0]
    if not times:
        return ""
    return (
        f", so that one seed's whole search took up to {max(times):.1f} times as long as another's"
        " of the same planner and graph"
    )


def _notes(ours: Comparison) -> tuple[str, ...]:
    every, still = ours.pairs(*PAPER), ("human_expert", "metis")
    return (
        "Nothing was fitted: machine `p100` has data sheets' figures, the links are assumed, and"
        " efficiencies and overheads are machine `k40`'s. All cells are **predictions**:"
        f" {notes.spread(every, PAPER)}. {notes.concordance(every)}.",
        "METIS is TensorFlow's in the paper, whose weights are not known; ours balances seconds,"
        " minimises the time of transfers, and knows no memory."
        f" {notes.oom_pattern(ours.pairs(*still), PAPER)}{_room(ours, 'metis')}",
        "HP: the paper does not describe its experts. Here each LSTM and each Transformer-XL layer"
        " has its own GPU, each stack of WaveNet, and each run of as many cells of AmoebaNet;"
        " Inception is on one GPU, as HDP's expert has it.",
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets behind the median {seed_intervals(ours, *LEARNERS)}"
        f" {notes.effort(ours, LEARNERS)} The paper's are averages of six runs. Of GDP it prints"
        " the networks, the reward, its baseline and PPO, and no size, rate or count: those are"
        " chosen, and the cells depend on them (docs/planners.md).",
        "Speed-up = (other - GDP-one) / GDP-one, of medians; GEOMEAN: geometric mean of other /"
        " GDP-one, less 1. In the paper, 26.1% for AmoebaNet is 11.7% from its printed seconds,"
        " 11.4% for the 4-layer and 8.9% for the 8-layer Transformer-XL over HP are 10.5% and 8.7%."
        " Its two means are not made alike: 16% is near the mean of ratios that its printed"
        " percentages give (16.3%; from its seconds 15.0%), while 9.2% is the geometric mean of the"
        " percentages themselves (of the ratios: 11.2%).",
        "The paper does not say how it measures a search. The CPU seconds are those of two whole"
        " searches that evaluate equally many placements, as many as note 4 says. They are not to"
        " equal quality: they say what a planner's own arithmetic costs beside the simulations,"
        " and not which planner finds a placement sooner.",
        "Lower bound: no valid placement has a smaller step time under this simulator's costs; the"
        " next column names the part that gives it.",
        f"{notes.oom_times(ours.records)} {notes.close_calls(ours, PLACERS)}",
        "Bold: faster than every other column of this table's row, with no overlap between the"
        " ranges of their measurements.",
        "Search cost to HDP's final quality: the target is the median of what HDP's seeds end with,"
        " so that by definition only about half of HDP's own seeds reach it (two of three, unless"
        " two end alike), and HDP's cost is that of the later of these. A search that never gets"
        " there counts as slower than all that do. Where that decides GDP's median, its whole"
        " search stands for it in the ratio: GDP needs more than that, and the ratio is below"
        " the one behind `<`. GEOMEAN takes these as they are. The seconds are those that passed,"
        f" on hosts which differ and had other work{_hosts(ours)}: placements can be compared,"
        " seconds only roughly.",
        f"{RULE} Of searches, the same about a ratio of 1. As published: the row GEOMEAN of the"
        " paper's table; of METIS the paper prints no mean. The first row of each claim says what"
        " the rule makes of the paper's own cells. The other rows are ours: those of GDP, tuned,"
        " are about our changes, and where HDP has our changes too the paper says nothing. OOM"
        " counts as an infinite step time, and is left out of GEOMEAN, which is made as note 5"
        " says. Behind `<` are numbers with upper ends in them (note 10): what is counted as better"
        " is so without them, and a verdict is one that they cannot turn. Attention and"
        " superposition: [GDP's parts](gdp_parts.md). What fine-tuning a policy that was trained on"
        " the graph saves of GDP-one's run time and search time: [Figure 4](gdp_figure4.md). Not"
        " tried: Placeto's figures are what the paper sets beside its own over HDP; our Placeto is"
        " not run on these graphs, but on [those of HDP](placeto_run_times.md).",
        *notes.choices(ours),
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
