"""Annealing whose moves are chosen by what was learned on other graphs.

Not from a paper. A search on one graph learns from thousands of evaluations which changes of a
placement make the step faster; most of what it learns holds for any graph. So a small network is
trained once, on searches of several graphs, to tell from first-order effects
(planners/features/moves.py) how much of an improvement a change is likely to be. On a graph that it
has never seen, many changes are drawn at a time and only the most promising is evaluated.

The file goes from the settings to the walks, the network, and its training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from baselines.annealing import Annealing
from baselines.local_search.walk import ChoosingWalk, Classes, Walk
from baselines.local_search.walks import Walks
from planners.features.moves import FEATURES, Surroundings
from planners.nn.backend import tf
from planners.nn.optimizer import Optimizer
from planners.nn.perceptron import Perceptron
from planners.nn.tensor import Tensor
from planners.policy_gradient.checks import check_counts, check_positive
from planners.policy_gradient.trained import weights_of
from suite.core.arrays import Floats
from suite.core.errors import BudgetExhausted, InputError
from suite.core.problem import Problem
from suite.formats.policy_file import PolicyFile
from suite.search.placer import Search
from suite.search.training import POLICY_FILE, Learned, Training
from suite.simulator.timeline import Timeline

SHIPPED = Path(__file__).with_suffix(".npz")
"""The policy that comes with placebench."""
WORTH = 0.03
"""Share of the step time that a change saves to be worth 1 - 1/e of the most."""
BATCH = 256
"""Changes of a step of a training, at least."""
DIGITS = 6
"""Decimals of a change's worth: processors add up products in other orders, and a search in which
two changes swap ranks once ends at another placement."""


@dataclass(frozen=True)
class LearnedMoves(Annealing):
    """Annealing that evaluates only the most promising of many changes."""

    batch: int = 1
    """Changes judged at a time, of which the best is the candidate."""
    drawn: int = 16
    """Changes that are drawn, and ranked, for each batch that is judged."""
    patience: int = 16
    """Changes of one placement that were tried in vain when half of the next come as they are
    drawn: the policy knows no better than that."""
    policy: str = field(default=str(SHIPPED), metadata=POLICY_FILE)
    """Policy file (``placebench train``) that ranks the changes; empty: they come as drawn."""
    width: int = 32
    """Units of each of the network's two hidden layers."""
    rounds: int = 4
    """Searches of each graph in a training; in the first, no network ranks the changes."""
    epochs: int = 10
    """Times that a training goes through all changes after each round."""
    learning_rate: float = 0.001
    """Adam's, in a training."""

    def __post_init__(self) -> None:
        """Refuse counts below one (InputError)."""
        super().__post_init__()
        check_counts(self, "drawn", "patience", "width", "rounds", "epochs")
        check_positive(self, "learning_rate")

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Return walks that follow the policy.

        Raises NativeCrash when METIS fails at the groups, InputError for a file that is no policy
        of this planner.
        """
        ranking = Ranking.load(self.policy) if self.policy else None
        return LearnedWalks(self, problem, search, ranking)

    def train(self, training: Training) -> Learned:
        """Search on all graphs, and learn from all that was evaluated, in rounds.

        A training that was stopped goes on after the last round that was finished. Raises
        BudgetExhausted when a graph's budget does not allow the starting points.
        """
        seen = [Seen(self, search) for search in training.searches]
        done = min(one.rounds for one in seen)
        ranking = self._fitted(seen, training.seed) if done else None
        for _ in range(done, self.rounds):
            for one in seen:
                one.search_once(ranking)
            training.checkpoint(seen)
            ranking = self._fitted(seen, training.seed)
        assert ranking is not None
        return Learned((), {str(i): array for i, array in enumerate(ranking.weights)})

    def _fitted(self, seen: Sequence[Seen], seed: int) -> Ranking:
        """A network that knows all changes; from scratch, so that it is theirs alone."""
        features = np.concatenate([found for one in seen for found in one.features])
        gains = np.concatenate([found for one in seen for found in one.gains])
        return fitted(self, features, gains, np.random.default_rng(seed))


class LearnedWalks(Walks):
    """Walks whose neighbours are the most promising of many."""

    def __init__(
        self,
        settings: LearnedMoves,
        problem: Problem,
        search: Search,
        ranking: Ranking | None,
        explored: float = 0.0,
    ) -> None:
        """Prepare the moves; a share ``explored`` of the neighbours comes as drawn.

        NativeCrash when METIS fails at the groups.
        """
        super().__init__(settings, problem, search)
        self.ranking, self.explored = ranking, explored
        self.many, self.patience = settings.drawn, settings.patience
        self.surroundings = Surroundings(problem)
        self.features, self.gains = list[Floats](), list[Floats]()
        """Of all that the walks had judged."""

    def walk(
        self, cost: float, row: Classes, others: Classes, heat: float, rng: np.random.Generator
    ) -> Walk:
        """One walk of this search."""
        return LearnedWalk(self, cost, row, others, heat, rng)


class LearnedWalk(ChoosingWalk):
    """A walk whose neighbours are the most promising of many."""

    walks: LearnedWalks

    def look(self, times: Timeline) -> None:
        """See what could be better, and what changes are compared with."""
        super().look(times)
        self.step = self.walks.surroundings.step(times, self.fitted(self.current))
        self._in_vain = 0

    def neighbours(self) -> Classes:
        """The most promising changes that were not tried since the last that was accepted."""
        walks, ranking = self.walks, self.walks.ranking
        trust = (1 - walks.explored) / (1 + self._in_vain / walks.patience)
        ranked = ranking is not None and self.rng.random() < trust
        rows = self.candidates(walks.many if ranked else walks.batch)
        found = walks.surroundings.features(self.step, rows)
        if ranking is not None and ranked:
            best = np.argsort(-ranking(found), kind="stable")[: walks.batch]
            rows, found = rows[best], found[best]
        self.tried, self._in_vain = found, self._in_vain + len(rows)
        return self.chosen(rows)

    def judged(self, rows: Classes, costs: Floats, most: float) -> None:
        """Go to the best, or not; what the changes were and brought is kept."""
        self.walks.features.append(self.tried)
        self.walks.gains.append(np.maximum(0.0, 1 - costs / self.cost))
        super().judged(rows, costs, most)


class Seen:
    """All that the searches of one graph have tried."""

    def __init__(self, settings: LearnedMoves, search: Search) -> None:
        """Take up what a training has kept."""
        self.settings, self.search = settings, search
        self.rounds, self.features, self.gains = 0, list[Floats](), list[Floats]()
        saved = search.restore()
        if saved is not None:
            self.rounds = int(saved["rounds"])
            self.features, self.gains = [saved["features"]], [saved["gains"]]

    def search_once(self, ranking: Ranking | None) -> None:
        """Search with an equal share of the budget; at least half of the changes come as drawn.

        What the network expects nothing of is to be seen, too.
        """
        share = self.search.remaining / (self.settings.rounds - self.rounds)
        inner = self.search.inner(int(self.search.rng.integers(2**31)), share)
        walks = LearnedWalks(self.settings, inner.problem, inner, ranking, explored=0.5)
        starts = walks.starts()
        with suppress(BudgetExhausted):
            walks.anneal(starts)
        self.search.count(inner)
        self.features += walks.features
        self.gains += walks.gains
        self.rounds += 1
        self.search.log(self.rounds, cost=walks.cheapest[0])

    def save(self) -> None:
        """Hand what was tried to the search's checkpoint."""
        self.search.checkpoint(self._state)

    def _state(self) -> Mapping[str, NDArray[np.generic]]:
        return {
            "rounds": np.array(self.rounds),
            "features": np.concatenate(self.features),
            "gains": np.concatenate(self.gains),
        }


@dataclass(frozen=True)
class Ranking:
    """The network: two hidden layers of rectifiers over the features."""

    weights: Sequence[NDArray[np.float32]]
    """float32: of each layer the weights [inputs, outputs], then the biases [outputs]."""

    @classmethod
    def load(cls, path: str) -> Ranking:
        """Read a policy file; InputError where it is none of this planner's."""
        found, name = PolicyFile.load(Path(path)), __name__.rpartition(".")[2]
        if found.planner != name:
            raise InputError(
                f"policy {path} is one of {found.planner}, not of {name}; name {found.planner}, or"
                " train another"
            )
        weights = [found.weights[str(i)] for i in range(len(found.weights))]
        if not weights or len(weights[0]) != len(FEATURES):
            raise InputError(f"policy {path} has other weights; train it again")
        return cls(weights)

    def __call__(self, features: Floats) -> Floats:
        """float64[rows]: how promising changes, float64[rows, FEATURES], are, rounded."""
        x = squashed(features)
        for i in range(0, len(self.weights), 2):
            weights, biases = np.float64(self.weights[i]), np.float64(self.weights[i + 1])
            x = (np.maximum(x, 0) if i else x) @ weights + biases
        return np.round(x[:, 0], DIGITS)


def squashed(features: Floats) -> Floats:
    """Logarithms that keep the sign: shares of a step range from thousandths to hundreds."""
    return np.sign(features) * np.log1p(100 * np.abs(features))  # type: ignore[no-any-return]


def fitted(
    settings: LearnedMoves, features: Floats, gains: Floats, rng: np.random.Generator
) -> Ranking:
    """Fit a network to changes, float64[rows, FEATURES], and the shares of time that they saved.

    It learns what to expect: 0 where nothing was saved, near 1 where a tenth or more was.
    """
    x = squashed(features).astype(np.float32)
    worth = (1 - np.exp(-gains / WORTH)).astype(np.float32)
    mean, deviation = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-3)
    x = (x - mean) / deviation
    network = Perceptron(rng, (len(FEATURES), settings.width, settings.width, 1))
    optimizer = Optimizer(network.variables)

    @tf.function(autograph=False, reduce_retracing=True)  # type: ignore[untyped-decorator]
    def gradients(x: Tensor, worth: Tensor) -> list[Tensor]:
        with tf.GradientTape() as tape:
            logits = network(x)[:, 0]
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(worth, logits))
        return list(tape.gradient(loss, network.variables))

    for _ in range(settings.epochs):
        for rows in np.array_split(rng.permutation(len(x)), max(1, len(x) // BATCH)):
            optimizer.apply(gradients(x[rows], worth[rows]), settings.learning_rate)
    weights = list(weights_of(network.variables).values())
    # What is learned of standardised features holds for the features themselves.
    weights[0] = weights[0] / deviation[:, None]
    weights[1] = weights[1] - mean @ weights[0]
    return Ranking(weights)
