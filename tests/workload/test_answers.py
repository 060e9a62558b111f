"""What is written of an answer, and which questions are the same."""

import json
from dataclasses import replace

import numpy as np
import pytest
from small_workloads import document, edge, load, node

from suite.core.errors import Unsupported
from suite.tarnawski.evaluator import WrongClaim
from suite.tarnawski.records import described, fingerprint, recorded, write
from suite.tarnawski.run import ask
from suite.tarnawski.workload import Question, Split

# Ids that are no positions; 7 -> 3 -> 5 in a row of 1 ms each, 10 on the CPU.
ROW = document([node(i, size=4) for i in (7, 3, 5)], [edge(7, 3, 0.5), edge(3, 5, 0.25)], memory=8)


@pytest.fixture
def question(tmp_path):
    """Of the row, with a human's split of it: two calls on one accelerator, a CPU in between."""
    expert = Split(np.array([1, 2, 1]), np.array([0, 0, 1]))
    return Question(load(tmp_path, ROW), "latency", expert=expert)


def test_an_answer_names_nodes_by_their_ids(question):
    told = described(question, ask("expert", question))
    assert told["objective"] == (1 + 0.5) + 10 + (0.25 + 1)
    assert told["split"]["stage"] == {5: 1}
    assert [part["nodes"] for part in told["split"]["fpgas"]] == [[], [7, 5]]
    assert [part["nodes"] for part in told["split"]["cpus"]] == [[3]]
    # What each would hold a device for, as for throughput: two nodes and both outputs.
    assert [part["load"] for part in told["split"]["fpgas"]] == [0, 2 + 0.5 + 0.25]
    assert [part["load"] for part in told["split"]["cpus"]] == [10]
    # Each where it is fastest.
    assert (told["oom"], told["status"], told["bound"]) == ([], "feasible", 3)


def test_a_record_says_how_a_question_ended(question, tmp_path):
    full = replace(question, expert=Split.of(np.zeros(3)), seed=1)
    ends = [
        (question, ask("expert", question), "ok", ""),
        (full, ask("expert", full), "oom", ""),
        (replace(question, seed=2), Unsupported("too large"), "skipped", "too large"),
        (replace(question, seed=3), WrongClaim("it is not"), "error", "it is not"),
    ]
    for asked, answer, status, reason in ends:
        path = write(tmp_path, "expert", asked, answer)
        record = json.loads(path.read_text())
        assert (record["status"], record["reason"]) == (status, reason)
        # An error is asked again.
        again = recorded(tmp_path, "expert", asked)
        assert (again is None) == (status == "error")
        assert recorded(tmp_path, "expert", replace(asked, gap=0.5)) is None
    ok = json.loads(write(tmp_path, "expert", *ends[0][:2]).read_text())
    assert (ok["step_time"], ok["lower_bound"]) == pytest.approx((12.75e-3, 3e-3))
    assert ok["planner"] == {"contiguous": False, "stages": 2}


def test_questions_that_may_have_other_answers_have_other_fingerprints(question):
    w = question.workload
    workloads = {
        **{name: getattr(w, name) + 1 for name in ("ids", "cpu", "accelerator", "size", "cost")},
        **{"backward": ~w.backward, "colour": w.colour * 0, "edges": w.edges[:1]},
        **{"name": "other", "accelerators": 3, "cpus": 2, "memory": 9.0},
    }
    asked = {"objective": "throughput", "gap": 0.02, "seconds": 61.0, "seed": 1, "calls": 3}
    asked |= {"ideals": 9, "expert": Split(np.array([1, 2, 2]), question.expert.stage)}
    others = [replace(question, workload=replace(w, **{k: v})) for k, v in workloads.items()]
    others += [replace(question, **{name: value}) for name, value in asked.items()]
    assert fingerprint(replace(question)) == fingerprint(question)
    found = {fingerprint(one) for one in (question, replace(question, expert=None), *others)}
    assert len(found) == 2 + len(workloads) + len(asked)
