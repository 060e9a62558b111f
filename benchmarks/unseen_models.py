"""How our searches fare on Keras models that are no tasks: nothing in them was chosen for these.

Three networks whose structure no task has, each on 2 and 4 GPUs of the machine `k40`:
DenseNet-121, where every layer of a block reads all before it; an encoder of eight transformer
layers; a tagger of two bidirectional LSTM layers over 40 words, which Keras unrolls. Beside
annealing, with its own defaults and 4,000 evaluations, every placer that `placebench place` tries
where none is named: single devices, partitioners, list schedules. Then three placers that evaluate
nothing, and annealing, learned_moves, with the policy that comes with placebench, and
estimated_moves after fewer evaluations; and after how many evaluations these are as fast as
annealing is after 1,000. Nobody has placed these networks by hand, so that no human expert is among
them.

    python benchmarks/unseen_models.py

Writes benchmarks/unseen_models.md. With --only TEXT, networks whose name contains it, or --gpus N,
it prints its rows and writes nothing. All figures but the seconds come out the same on every
machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from page import write_page

from suite.bench.compare import QUICK, Answer, Trial, attempt, compare, fastest
from suite.bounds.lower_bound import lower_bound
from suite.capture.load_model import load
from suite.capture.options import Options
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.report.table import Section
from suite.report.until import History, median_until, printed
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

if TYPE_CHECKING:
    import keras

MACHINE = "k40"
GPUS = (2, 4)
EVALUATIONS = 4000
UNJUDGED = ("random", "metis", "best_estimate")
"""Placers that evaluate nothing, beside one another: what is known of a graph at first sight."""
SHORTER = (
    *(("annealing", 100), ("learned_moves", 100), ("estimated_moves", 100)),
    *(("annealing", 1000), ("learned_moves", 1000)),
)
"""Placer, and evaluations."""
MARK = ("annealing", 1000)
"""Whose median is to be reached."""
COUNTED = (("learned_moves", 1000), ("estimated_moves", 100))
"""Whose evaluations until then are counted."""
SEEDS = 3
WORDS, VOCABULARY = 40, 20_000


def networks() -> Iterator[tuple[str, keras.Model]]:
    """The networks, compiled for training."""
    import keras

    yield "DenseNet-121", keras.applications.DenseNet121(weights=None)
    words = keras.Input((WORDS,), dtype="int32")
    hidden = keras.layers.Embedding(VOCABULARY, 512)(words)
    for _ in range(8):
        seen = keras.layers.MultiHeadAttention(8, 64)(hidden, hidden)
        hidden = keras.layers.LayerNormalization()(hidden + seen)
        inner = keras.layers.Dense(2048, activation="relu")(hidden)
        hidden = keras.layers.LayerNormalization()(hidden + keras.layers.Dense(512)(inner))
    logits = keras.layers.Dense(VOCABULARY, activation="softmax")(hidden)
    yield "Transformer encoder", keras.Model(words, logits)
    hidden = keras.layers.Embedding(VOCABULARY, 512)(words)
    for _ in range(2):
        layer = keras.layers.LSTM(512, return_sequences=True, unroll=True)
        hidden = keras.layers.Bidirectional(layer)(hidden)
    yield "BiLSTM tagger", keras.Model(words, keras.layers.Dense(64, activation="softmax")(hidden))


@dataclass(frozen=True)
class Found:
    """What a search ends with, and how it got there."""

    answer: Answer
    history: History


def searched(
    problem: Problem, simulator: Simulator, placer: str, evaluations: int | None = None
) -> list[Found]:
    """What a search finds, with each seed."""
    made, found = make_placer(placer, {}), []
    for seed in range(SEEDS):
        search = Search(problem, simulator, seed, max_evaluations=evaluations)
        answer = attempt(problem, simulator, made, search)
        found.append(Found(answer, search.history))
    return found


def row(name: str, problem: Problem) -> tuple[str, ...]:
    """Annealing beside the best of the others."""
    simulator = Simulator(problem)
    longest = searched(problem, simulator, "annealing", EVALUATIONS)
    answers = [found.answer for found in longest]
    steps = [answer.result.step_time for answer in answers]
    trials = compare(problem, simulator, Trial.of("annealing", answers[0]), 0, QUICK)
    other, single = fastest(trials[1:]), fastest([t for t in trials if t.placer == "gpu_only"])
    assert other is not None
    assert other.answer is not None
    theirs, mine = other.answer.result.step_time, median(steps)
    bound = lower_bound(problem).seconds
    shorter = {asked: searched(problem, simulator, *asked) for asked in SHORTER}
    wanted = median(found.answer.result.step_time for found in shorter[MARK])
    alone = single.answer.result.step_time if single is not None and single.answer else None
    return (
        name,
        f"{problem.graph.n_ops:,}",
        str(len(problem.machine.gpus)),
        "OOM" if alone is None else f"{alone:.4f}",
        f"{theirs:.4f} ({other.placer})",
        summary(longest),
        f"{100 * (1 - mine / theirs):.1f} %",
        f"x{mine / bound:.2f}",
        f"{median(answer.seconds for answer in answers):.0f}",
        *(summary(searched(problem, simulator, placer)) for placer in UNJUDGED),
        *(summary(found) for found in shorter.values()),
        *(reached(shorter[asked], wanted) for asked in COUNTED),
    )


def summary(searches: list[Found]) -> str:
    """Median and range of step times, seconds."""
    steps = [found.answer.result.step_time for found in searches]
    return f"{median(steps):.4f} ({min(steps):.4f}-{max(steps):.4f})"


def reached(searches: list[Found], wanted: float) -> str:
    """The evaluations by which half of the seeds took at most ``wanted`` seconds a step."""
    return printed(median_until([found.history for found in searches], wanted))


def main() -> None:
    """Place, and write the page."""
    parser = argparse.ArgumentParser(description="searches on models that are no tasks")
    parser.add_argument("--only", default="", metavar="TEXT", help="networks with TEXT in the name")
    parser.add_argument("--gpus", type=int, choices=GPUS, help="this number of GPUs alone")
    asked = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="placebench-") as folder:
        for name, network in networks():
            if asked.only not in name:
                continue
            network.compile("adam", "sparse_categorical_crossentropy")
            path = Path(folder) / f"{name.replace(' ', '_')}.keras"
            network.save(path)
            graph = load(str(path), Options()).graph
            for gpus in (asked.gpus,) if asked.gpus else GPUS:
                rows.append(row(name, Problem.create(graph, load_machine(MACHINE).with_gpus(gpus))))
                print(*rows[-1], file=sys.stderr, flush=True)
    heads = ("single GPU, s", "best of the others, s", "annealing, s", "shorter by", "x bound")
    lead = (
        f"`python benchmarks/unseen_models.py`: a training step, batch 32, machine `{MACHINE}`,"
        f" simulated. Annealing: {EVALUATIONS:,} evaluations, median and range of {SEEDS} seeds, no"
        f" parameter set. The others: {', '.join(QUICK)}. {', '.join(UNJUDGED)}: one placement of"
        f" each of {SEEDS} seeds, nothing evaluated. There is no human expert for these networks:"
        f" nobody has placed them by hand. The last columns: evaluations by which half of the seeds"
        f" were as fast as the median of {' after '.join((MARK[0], f'{MARK[1]:,}'))}."
    )
    shorter = [f"{placer} {evaluations:,}, s" for placer, evaluations in SHORTER]
    unjudged = [f"{placer}, s" for placer in UNJUDGED]
    until = [f"{placer}, of {evaluations:,}, until then" for placer, evaluations in COUNTED]
    header = ("network", "operations", "GPUs", *heads, "planning, s", *unjudged, *shorter, *until)
    title = "Searches on models that are no tasks"
    page = Section(title, header, tuple(rows), lead)
    if not asked.only and not asked.gpus:
        write_page(__file__, page)


if __name__ == "__main__":
    main()
