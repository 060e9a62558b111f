"""Placeto's searches (Addanki et al., NeurIPS 2019), and those they are compared with."""

from __future__ import annotations

from math import nan
from statistics import median

import pandas as pd

from suite.bench.cell import Cell
from suite.report.outcome import JUDGED, Outcome
from suite.report.until import History, median_until

SIMPLE = {
    "cpu_only": "CPU only",
    "gpu_only": "1 GPU",
    "human_expert": "Expert",
}
"""Placer of grid ``quick`` -> its column in the paper."""
SCOTCH = {"scotch": "Scotch"}
"""The paper's other simple column, of grid ``reference``, which has more than one seed."""
PLACETO = {
    "placeto": "Placeto",
    "terminal": "Placeto, terminal reward",
    "placeto_released": "Placeto as released",
    "released_decay": "Placeto as released, entropy's weight to 0",
}
RNN = "hdp_tf_release"
"""What the paper calls RNN-based: the code of HDP that TensorFlow's repository had."""
LEARNED = {RNN: "RNN-based (HDP as released)", "hdp": "HDP", "hdp_tuned": "HDP tuned"}
"""Learned placer of grid ``reference`` -> its column."""
TRANSFERRED = {
    "placeto_zero_shot": "zero-shot",
    "placeto_fine_tuned": "50 placements after training",
    "placeto_from_scratch": "50 placements from scratch",
}
"""Placer of grid ``transfer``, where a policy is applied to a graph that it was not trained on."""
HEADS = SIMPLE | SCOTCH | PLACETO | LEARNED
"""The columns of step times, in their order."""
BUDGETS = 2.0
"""Ratio of two budgets up to which it is compared when each search found its best: one of 20,000
placements would find its own late whatever it is compared with."""


class Row:
    """One task: what each placer found, and after how many placements."""

    def __init__(self, ours: pd.DataFrame, wanted: list[Cell], task: str, gpus: int) -> None:
        here = ours[(ours["task"] == task) & (ours["gpus"] == gpus)]
        self.task, self.gpus = task, gpus
        self.outcome, self.placements = dict[str, Outcome](), dict[str, float]()
        self.budget = dict[str, float]()
        self.records = dict[str, pd.DataFrame]()
        """Placer -> those of its searches that came to their end, also where nothing fitted."""
        for placer in HEADS | TRANSFERRED:
            records = here[here["placer"] == placer]
            expected = sum((c.task, c.gpus, c.placer) == (task, gpus, placer) for c in wanted)
            self.outcome[placer] = Outcome.of(records, expected)
            self.records[placer] = records[records["status"].isin(JUDGED)]
            last = [history[-1][0] for history in self._histories(placer) if history]
            self.placements[placer] = median(last) if last else nan
            self.budget[placer] = max(records["evaluations"].dropna(), default=nan)

    def reduction(self, placer: str, base: str) -> float:
        """Percent of the base's step time; NaN where one of the two has none."""
        other = self.outcome[base].median
        return 100 * (other - self.outcome[placer].median) / other

    def speed_up(self, placer: str, base: str) -> float:
        """How many times as many placements the base needed until its best.

        NaN where one of the two had BUDGETS times as many as the other, or more.
        """
        budgets = sorted((self.budget[base], self.budget[placer]))
        if not budgets[1] < BUDGETS * budgets[0]:
            return nan
        return self.placements[base] / self.placements[placer]

    def until(self, placer: str, base: str) -> float:
        """Placements by which half of the seeds were as fast as the base in the end, or inf."""
        return median_until(self._histories(placer), self.outcome[base].median)

    def _histories(self, placer: str) -> list[History]:
        return list(self.records[placer]["history"])
