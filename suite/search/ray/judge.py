"""A judge whose simulations are spread over the nodes of a Ray cluster."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError

from suite.core.arrays import Floats, Ints
from suite.core.cores import my_share
from suite.core.scores import Scores
from suite.search.ray.cluster import Crew, Member, Say
from suite.search.ray.judging_node import JudgingNode, Question
from suite.simulator.judges import AnySimulator

WORTHWHILE = 0.02
"""Seconds that a batch must take here to be sent away: about ten times what sending it takes."""
PARTS = 4
"""Into so many parts per node a large batch is divided, so that fast nodes can take more."""


class RayJudge:
    """Judges as a simulator of this host does (a :class:`suite.core.scores.ImpatientJudge`).

    Every placement is simulated by itself, so that it makes no difference where. What a node had
    when it died is judged by others, and here where none is left. Small batches stay here.
    """

    def __init__(self, simulator: AnySimulator, semantics: str, say: Say) -> None:
        """Start a judging process on every node of the cluster; return when all are ready.

        InputError where no node can be used.
        """
        self.simulator = simulator
        self.sent = 0
        """Placements that were judged on nodes."""
        question = ray.put(Question.of(simulator.problem, semantics))
        self.crew = Crew(JudgingNode, (question,), say)
        self.crew.gather()
        self._row_seconds = 0.0
        self._one_at_a_time = threading.Lock()
        """Placers may search in several threads; nodes join, work and are lost in one."""

    def __call__(self, devices: Ints) -> Scores:
        """Score ``devices``, int32[batch, ops]."""
        with self._one_at_a_time:
            return self._judged(devices, None)

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Score ``devices``, int32[batch, ops]; those slower than float64[batch] are broken off."""
        with self._one_at_a_time:
            return self._judged(devices, np.asarray(seconds, np.float64))

    def close(self) -> None:
        """End the processes on the nodes."""
        self.crew.close()

    def _judged(self, devices: Ints, seconds: Floats | None) -> Scores:
        if len(devices) * self._row_seconds / my_share().threads < WORTHWHILE:
            return self._here(devices, seconds)
        parts = deque(self._parts(len(devices)))
        found: dict[int, Scores] = {}
        flights: dict[Any, tuple[Member, slice]] = {}
        while parts or flights:
            if parts and not self.crew.members:
                part = parts.popleft()
                found[part.start] = self._here(*_cut(devices, seconds, part))
                continue
            for member in self.crew.members:
                if parts and all(member is not busy for busy, _ in flights.values()):
                    part = parts.popleft()
                    asked = member.actor.judge.remote(*_cut(devices, seconds, part))
                    flights[asked] = member, part
            done, _ = ray.wait(list(flights), num_returns=1)
            for reference in done:
                member, part = flights.pop(reference)
                try:
                    scores, spent = ray.get(reference)
                except RayError as error:
                    self.crew.lose(member, error, "others judge what it had")
                    parts.appendleft(part)
                    continue
                found[part.start] = scores
                self._row_seconds = spent / (part.stop - part.start)
                self.sent += part.stop - part.start
        return _joined([found[start] for start in sorted(found)])

    def _here(self, devices: Ints, seconds: Floats | None) -> Scores:
        start = time.process_time()
        if seconds is None:
            scores = self.simulator(devices)
        else:
            scores = self.simulator.within(devices, seconds)
        self._row_seconds = (time.process_time() - start) / max(1, len(devices))
        return scores

    def _parts(self, rows: int) -> list[slice]:
        """Parts of a batch in order; none smaller than what keeps a node's CPUs busy."""
        self.crew.look()
        cpus = [member.cpus for member in self.crew.members] or [1]
        size = max(-(-rows // (PARTS * len(cpus))), min(max(cpus), -(-rows // len(cpus))))
        return [slice(at, min(rows, at + size)) for at in range(0, rows, size)]


def _cut(devices: Ints, seconds: Floats | None, part: slice) -> tuple[Ints, Floats | None]:
    return devices[part], None if seconds is None else seconds[part]


def _joined(parts: list[Scores]) -> Scores:
    return Scores(
        np.concatenate([part.step_time for part in parts]),
        np.concatenate([part.oom for part in parts]),
        np.concatenate([part.peak_memory for part in parts]),
    )
