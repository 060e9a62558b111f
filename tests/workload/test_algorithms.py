"""Algorithms against brute force and against each other; every answer is re-scored by ask."""

import itertools
import tempfile
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_workloads import document, documents, edge, load, node

from suite.core.errors import InputError, Unsupported
from suite.tarnawski.algorithms import dp, greedy
from suite.tarnawski.blocks import blocks
from suite.tarnawski.bounds import lower_bound
from suite.tarnawski.calls import one_call_a_pass
from suite.tarnawski.evaluator import WrongClaim, contiguous, score
from suite.tarnawski.max_load import in_line, scattered
from suite.tarnawski.run import algorithms, ask
from suite.tarnawski.workload import Claim, Question, Split

SLOW = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def read(data):
    with tempfile.TemporaryDirectory() as folder:
        return load(Path(folder), data)


def brute(workload, objective, line):
    """The best split that fits, among contiguous ones (``line``) or all with one call a pass."""
    best = inf
    classes = int(workload.colour.max()) + 1
    for device in itertools.product(range(workload.devices), repeat=classes):
        split = one_call_a_pass(workload, np.array(device)[workload.colour])
        try:
            found = score(workload, split, objective)
        except InputError:
            continue
        if not found.oom and (not line or contiguous(workload, split)):
            best = min(best, found.objective)
    return best


def test_what_takes_no_time_takes_room_all_the_same():
    """A node of 0 ms is not joined to its reader where both do not fit on one accelerator."""
    nodes = [node(0, 50, 1, size=60), node(1, 0, 0, size=60), node(2, 50, 1, size=10)]
    workload = read(document(nodes, [edge(0, 1, 0.1), edge(0, 2, 0.1)], cpus=0, memory=100))
    assert value("dp", workload) == pytest.approx(1.1)


def value(name, workload, objective="throughput", **options):
    try:
        return ask(name, Question(workload, objective, gap=0.0, **options)).objective
    except Unsupported:
        return inf


@SLOW
@given(documents())
def test_dp_and_contiguous_ip_equal_brute_force(data):
    workload = read(data)
    best = pytest.approx(brute(workload, "throughput", True), rel=1e-6)
    assert value("dp", workload) == best
    assert value("ip_contiguous", workload) == best


@SLOW
@given(documents(most=5))
def test_ip_equals_brute_force(data):
    workload = read(data)
    best = brute(workload, "throughput", False)
    assert value("ip", workload) == pytest.approx(best, rel=1e-6)
    assert best <= brute(workload, "throughput", True)


@SLOW
@given(documents(most=4))
def test_latency_ip_equals_brute_force(data):
    workload = read(data)
    best = brute(workload, "latency", False)
    assert value("ip_contiguous", workload, "latency") == pytest.approx(best, rel=1e-6)
    assert value("ip", workload, "latency") <= best * (1 + 1e-6)


@SLOW
@given(documents(), st.sampled_from(["throughput", "latency"]))
def test_every_algorithm_gives_a_valid_answer_and_none_beats_brute_force(data, objective):
    """Valid: ``ask`` scores it again, apart from the algorithm, and refuses wrong claims.

    For latency there may be more calls than brute force tries.
    """
    workload = read(data)
    best = brute(workload, objective, False) if objective == "throughput" else 0.0
    for name in sorted(set(algorithms()) - {"scotch", "expert", "ip", "ip_contiguous"}):
        try:
            answer = ask(name, Question(workload, objective))
        except Unsupported:
            continue
        assert answer.status == "oom" or answer.objective >= best * (1 - 1e-6)


@settings(SLOW, max_examples=12)
@given(documents(most=4), st.sampled_from(["throughput", "latency"]))
def test_a_program_that_stops_early_proves_no_more_than_the_best_is(data, objective):
    workload = read(data)
    asked = Question(workload, objective, gap=0.9)
    for name, line in (("ip", False), ("ip_contiguous", objective == "throughput")):
        try:
            answer = ask(name, replace(asked, calls=1) if objective == "latency" else asked)
        except Unsupported:
            continue
        best = brute(workload, objective, line)
        assert answer.bound <= best * (1 + 1e-6) <= answer.objective * (1 + 2e-6)


def chains(count, length):
    """Parallel chains: (length + 1) ** count ideals."""
    nodes = [node(i, colorClass=i) for i in range(count * length)]
    ends = range(count * length)
    return document(nodes, [edge(i, i + 1) for i in ends if (i + 1) % length])


def test_dp_counts_ideals_and_declines_before_memory_fills(tmp_path):
    workload = load(tmp_path, chains(20, 20))
    with pytest.raises(Unsupported, match="more than 1,000 ideals"):
        ask("dp", Question(workload, "throughput", ideals=1000))
    assert ask("dpl", Question(workload, "throughput")).objective > 0


@pytest.mark.parametrize("name", ["dp", "dpl"])
def test_a_row_of_more_blocks_than_a_word_has_bits_is_cut_in_its_middle(name, tmp_path):
    workload = load(tmp_path, chains(1, 140) | {"maxCPUs": 0})
    assert ask(name, Question(workload, "throughput")).objective == 70.5
    # The same split, which says nothing of latency.
    answer = ask(name, Question(workload, "latency"))
    assert (answer.objective, answer.status) == (141, "feasible")


def test_dp_handles_17576_ideals_in_seconds(tmp_path):
    """As many as GNMT's layer graph has; equal chains, so that any exact order balances."""
    data = chains(3, 25) | {"maxFPGAs": 6}
    question = Question(load(tmp_path, data), "throughput", ideals=17_576, seconds=60)
    answer = ask("dp", question)
    assert answer.status == "optimal"
    # 75 ms on six accelerators and transfers; the CPU is ten times slower.
    assert 12.5 <= answer.objective <= 14
    with pytest.raises(Unsupported, match="17,575 ideals"):
        ask("dp", replace(question, ideals=17_575))


def test_a_latency_program_that_would_be_too_large_is_not_built(tmp_path):
    workload = load(tmp_path, chains(100, 10) | {"maxFPGAs": 100})
    with pytest.raises(Unsupported, match="380,000 rows, 300,000 are allowed"):
        ask("ip_contiguous", Question(workload, "latency"))


def test_dp_out_of_time_answers_with_the_linearised_split(tmp_path):
    workload = load(tmp_path, chains(3, 12))
    late = ask("dp", Question(workload, "throughput", seconds=0.0))
    assert late.status == "time limit"
    assert late.objective == ask("dpl", Question(workload, "throughput")).objective


def test_the_contiguous_program_starts_from_contiguous_answers_of_others(tmp_path):
    drawn = Random(27)
    pairs = [(i, j) for i in range(24) for j in range(i + 1, 24) if drawn.random() < 0.06]
    nodes = [node(i, colorClass=i) for i in range(24)]
    data = document(nodes, [edge(*pair) for pair in pairs]) | {"maxFPGAs": 3}
    question = Question(load(tmp_path, data), "throughput", gap=1.0, seconds=20)
    found = ask("local_search", question)
    assert found.contiguous
    assert found.objective < ask("dpl", question).objective
    assert ask("ip_contiguous", question).objective <= found.objective


@pytest.mark.parametrize("name", ["ip", "ip_contiguous"])
def test_an_integer_program_out_of_time_answers_with_what_it_started_from(tmp_path, name):
    workload = load(tmp_path, chains(4, 12))
    answer = ask(name, Question(workload, "throughput", gap=0.0, seconds=1e-6))
    assert answer.objective <= ask("dpl", Question(workload, "throughput")).objective
    assert answer.bound <= answer.objective


def test_scotch_splits_evenly(tmp_path):
    workload = load(tmp_path, chains(2, 6))
    answer = ask("scotch", Question(workload, "throughput"))
    assert answer.objective == pytest.approx(6)


def test_scotch_balances_times_of_accelerators(tmp_path):
    """3 ms against three of 1 ms; on the CPU it is the last that takes as long as all others."""
    nodes = [node(i, cpu, fast) for i, (cpu, fast) in enumerate([(1, 3), (1, 1), (1, 1), (3, 1)])]
    workload = load(tmp_path, document(nodes, []))
    assert ask("scotch", Question(workload, "throughput")).objective == 3


def test_scotch_needs_no_cpu_where_accelerators_run_all(tmp_path):
    workload = load(tmp_path, document([node(0), node(1)], [], cpus=0))
    assert ask("scotch", Question(workload, "throughput")).objective == 1


@pytest.mark.parametrize(
    "change",
    [
        {"objective": 1.0},
        {"bound": 1e9},
        # Devices are 0 to 2.
        *({"split": Split.of(np.array([0, device]))} for device in (-1, 3, 9)),
    ],
)
def test_a_wrong_claim_is_an_error(tmp_path, monkeypatch, change):
    workload = load(tmp_path, document([node(0), node(1)], [edge(0, 1)]))
    true = dp.solve(Question(workload, "throughput"))
    monkeypatch.setattr(dp, "solve", lambda _: Claim(**(vars(true) | change)))
    with pytest.raises(WrongClaim):
        ask("dp", Question(workload, "throughput"))


@pytest.mark.parametrize(
    ("device", "claimed", "memory", "message"),
    [
        ([0, 1, 0], {"contiguous": True}, 9, "claims a contiguous split; it is not"),
        ([0, 0, 0], {"objective": 3.0}, 2, r"accelerators \(0,\) are out of memory"),
        ([0, 0, 0], {"contiguous": True}, 2, r"accelerators \(0,\) are out of memory"),
    ],
)
def test_a_claim_that_the_split_does_not_keep_is_an_error(
    tmp_path, monkeypatch, device, claimed, memory, message
):
    nodes = [node(i, size=1) for i in range(3)]
    chain = document(nodes, [edge(0, 1), edge(1, 2)], memory=memory)
    claim = Claim(Split.of(np.array(device)), "feasible", **claimed)
    monkeypatch.setattr(dp, "solve", lambda _: claim)
    with pytest.raises(WrongClaim, match=message):
        ask("dp", Question(load(tmp_path, chain), "throughput"))


def test_an_answer_without_a_claim_is_scored_bound_and_checked_all_the_same(tmp_path, monkeypatch):
    """Three nodes of 1 ms, 10 on the CPU, in a row; two outputs of 0.5 ms."""
    nodes = [node(i, size=1) for i in range(3)]
    chain = document(nodes, [edge(0, 1), edge(1, 2)], memory=2)
    question = Question(load(tmp_path, chain), "throughput")
    monkeypatch.setattr(dp, "solve", lambda _: Claim(Split.of(np.zeros(3)), "feasible"))
    answer = ask("dp", question)
    assert (answer.status, answer.objective, answer.contiguous) == ("oom", 3.0, True)
    # A share f of 3 ms leaves each of two accelerators for the CPU: (3 - f) / 2 = 10 f.
    assert answer.bound == pytest.approx(10 / 7)
    assert answer.gap == pytest.approx((3 - 10 / 7) / 3)
    monkeypatch.setattr(
        dp, "solve", lambda _: Claim(Split.of(np.array([0, 1, 0])), "feasible", bound=2.0)
    )
    answer = ask("dp", question)
    assert (answer.status, answer.objective, answer.bound) == ("feasible", 4 - 1.0, 2.0)
    assert not answer.contiguous
    # What a solver proves is no more than its answer, but for rounding.
    split = Split.of(np.array([0, 1, 1]))
    claim = Claim(split, "optimal", 2.5, 2.5 * (1 + 1e-9))
    monkeypatch.setattr(dp, "solve", lambda _: claim)
    answer = ask("dp", question)
    assert (answer.objective, answer.bound, answer.gap) == (2.5, 2.5, 0)


def test_an_orphan_of_the_backward_pass_is_part_of_the_line(tmp_path):
    nodes = [node(i, colorClass=i) for i in range(3)]
    nodes += [node(10 + i, isBackwardNode=True) for i in range(3)]
    for i in (0, 2):
        nodes[3 + i]["colorClass"] = i
    ends = [(0, 1), (1, 2), (2, 12), (12, 11), (11, 10)]
    workload = load(tmp_path, document(nodes, [edge(*pair) for pair in ends], 3))
    answer = ask("dp", Question(workload, "throughput"))
    assert answer.status == "optimal"
    # Class 1 lies between the others; 11, which has no forward node, has the place of its mirror.
    place = dict(zip(workload.ids.tolist(), answer.split.device.tolist(), strict=True))
    assert place[0] == place[10]
    assert place[2] == place[12]
    parts = blocks(workload, contiguous=True, merge=False)
    of = dict(zip(workload.ids.tolist(), parts.of.tolist(), strict=True))
    assert {(of[0], of[11]), (of[11], of[2])} <= set(map(tuple, parts.edges.tolist()))


def test_pipedream_joins_what_branches_and_cuts_where_branches_meet(tmp_path):
    """Two residual blocks: the released code joins 0 and 1, 2 and 3, and leaves 4."""
    ends = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)]
    nodes = [node(i, 100, fast) for i, fast in enumerate((1, 9, 1, 9, 1))]
    residual = document(nodes, [edge(*pair, 0.25) for pair in ends], accelerators=2)
    answer = ask("pipedream", Question(load(tmp_path, residual), "throughput"))
    device = answer.split.device.tolist()
    assert device[0] == device[1] != device[2] == device[3]
    assert answer.objective == pytest.approx(9 + 1 + 1 + 0.5)


def test_a_move_onto_the_busiest_device_may_help(tmp_path):
    """All in one place: what is sent costs more than it computes."""
    nodes = [node(0, 50, 10), node(1, 50, 1)]
    pair = document(nodes, [edge(0, 1, 4)], accelerators=2, cpus=0)
    for seed in range(5):
        workload = load(tmp_path, pair)
        answer = ask("local_search", Question(workload, "throughput", seed=seed))
        assert answer.objective == pytest.approx(11)


def test_restarts_find_what_single_moves_from_one_start_may_not(tmp_path):
    """3 + 3 and 2 + 2 + 2; from 3 + 2 + 2 and 3 + 2 no move of one helps."""
    nodes = [node(i, 99, fast) for i, fast in enumerate((3, 3, 2, 2, 2))]
    workload = load(tmp_path, document(nodes, [], accelerators=2, cpus=0))
    found = {
        ask("local_search", Question(workload, "throughput", seed=s)).objective for s in range(9)
    }
    assert found == {6}


def test_no_search_for_latency_moves_to_where_there_is_no_room(tmp_path):
    """Each of two nodes fills an accelerator; on one of them both would end 1 ms sooner."""
    nodes = [node(0, 50, 1, size=1), node(1, 50, 1, size=1)]
    workload = load(tmp_path, document(nodes, [edge(0, 1)], memory=1))
    answer = ask("local_search", Question(workload, "latency"))
    assert (answer.status, answer.objective) == ("feasible", 1.5 + 1.5)


@pytest.mark.parametrize(
    ("times", "sizes", "memory", "objective", "device"),
    [
        # The last accelerator takes what is left, however much that is.
        ((4, 8, 2), (1, 1, 1), 9, "throughput", [0, 1, 1]),
        ((1, 1, 1), (1, 1, 1), 2, "latency", [0, 0, 1]),
        ((1, 1, 1, 1), (1, 2, 1, 1), 2, "throughput", [0, 1, 2, 2]),
    ],
)
def test_greedy_fills_one_accelerator_after_the_other(
    tmp_path, times, sizes, memory, objective, device
):
    nodes = [node(i, 99, t, size=s) for i, (t, s) in enumerate(zip(times, sizes, strict=True))]
    row = document(nodes, [edge(i, i + 1) for i in range(len(times) - 1)], memory=memory)
    found = greedy.solve(Question(load(tmp_path, row), objective))
    assert found.split.device.tolist() == device


def test_greedy_parts_what_a_cpu_takes(tmp_path):
    nodes = [node(0, 9, 1, size=1), node(1, 9, 1, size=9), node(2, 9, 1, size=1)]
    chain = document(nodes, [edge(0, 1), edge(1, 2)], accelerators=2, cpus=1, memory=4)
    found = greedy.solve(Question(load(tmp_path, chain), "latency"))
    assert found.split.device.tolist() == [0, 2, 1]


def test_the_largest_block_is_a_bound(tmp_path):
    whole = document([node(0, 100, 10), node(1, 100, 0)], [], accelerators=2, cpus=2)
    assert lower_bound(load(tmp_path, whole), "throughput") == 10.0


@pytest.mark.parametrize(
    ("nodes", "accelerators", "cpus", "least"),
    [
        # The CPU takes the first node, and as much of the others as makes both end at once.
        ([(4, 4), (40, 4), (40, 4)], 1, 1, 4 + 40 / 11),
        # What no accelerator runs stays on a CPU.
        ([(30, None)] * 3 + [(10, 4)], 1, 1, 90.0),
        ([(30, None), (30, None), (44, 11)] + [(44, 11)] * 5, 1, 4, 15 + 51 / 2),
        ([(8, 9), (8, 1), (8, 2)], 3, 0, 9.0),
        ([(8, 3), (8, 2), (8, 2)], 2, 0, 3.5),
        ([(8, 1), (5, 1), (8, 1)], 0, 2, 10.5),
    ],
)
def test_the_load_bound_shares_out_what_may_be_shared(tmp_path, nodes, accelerators, cpus, least):
    made = [
        node(i, cpu, fast or 0, supportedOnFpga=fast is not None)
        for i, (cpu, fast) in enumerate(nodes)
    ]
    workload = load(tmp_path, document(made, [], accelerators, cpus))
    assert lower_bound(workload, "throughput") == pytest.approx(least)


@pytest.mark.parametrize("branches", [[(9, 5), (3, 4)], [(3, 4), (9, 5)]])
def test_the_latency_bound_is_the_longest_path_of_the_fastest(tmp_path, branches):
    """Each node where it is fastest: 2, then 5 or 3, then 1; and 7 alone."""
    times = [(2, 9), *branches, (1, 6), (7, 8)]
    nodes = [node(i, *pair) for i, pair in enumerate(times)]
    ends = [(0, 1), (0, 2), (1, 3), (2, 3)]
    workload = load(tmp_path, document(nodes, [edge(*pair) for pair in ends]))
    assert lower_bound(workload, "latency") == 2 + 5 + 1


@SLOW
@given(documents(most=5), st.sampled_from(["throughput", "latency"]))
def test_no_split_is_below_the_bound(data, objective):
    workload = read(data)
    assert lower_bound(workload, objective) <= brute(workload, objective, False) * (1 + 1e-9)


def test_greedy_takes_the_block_that_ends_nearest_to_the_share(tmp_path):
    nodes = [node(0, 9, 3), node(1, 9, 4), node(2, 9, 3)]
    chain = document(nodes, [edge(0, 1), edge(1, 2)], accelerators=2, cpus=1)
    found = greedy.solve(Question(load(tmp_path, chain), "throughput"))
    assert found.split.device.tolist() == [0, 0, 1]


@pytest.mark.parametrize("costs", [(0.25, 4), (4, 0.25)])
def test_what_takes_no_time_between_two_goes_where_less_is_sent(costs):
    nodes = [node(0, 50, 4), node(1, 0, 0), node(2, 50, 4)]
    row = document(nodes, [edge(0, 1, costs[0]), edge(1, 2, costs[1])], cpus=0)
    assert value("dp", read(row)) == 4 + 0.25


@SLOW
@given(documents(most=5))
def test_the_programs_themselves_equal_brute_force(data):
    """Without a start, which would hide that a program forbids the best split."""
    workload = read(data)
    for program, line in ((scattered, False), (in_line, True)):
        model = program(workload, blocks(workload, contiguous=line))
        solved = model.program.minimise(model.target, 0.0, 20, {}, 0)
        best = brute(workload, "throughput", line)
        assert solved.infeasible if best == inf else solved.optimal
        if best < inf:
            assert solved.values[model.target] == pytest.approx(best, rel=1e-6)


def test_dp_out_of_time_says_nothing_of_latency(tmp_path):
    workload = load(tmp_path, chains(3, 12))
    late = ask("dp", Question(workload, "latency", seconds=0.0))
    assert late.status == "time limit"
    assert late.objective == ask("dpl", Question(workload, "latency")).objective


@pytest.mark.parametrize("name", ["dp", "dpl"])
def test_where_nothing_fits_there_is_no_answer(name, tmp_path):
    """Three nodes of 3 bytes; two accelerators of 3 bytes each and no CPU."""
    nodes = [node(i, size=3) for i in range(3)]
    row = document(nodes, [edge(0, 1), edge(1, 2)], cpus=0, memory=3)
    with pytest.raises(Unsupported, match="fits into memory"):
        ask(name, Question(load(tmp_path, row), "throughput"))


def test_a_class_on_both_sides_of_a_node_shares_its_device_only_in_a_line(tmp_path):
    nodes = [node(0, colorClass=0), node(1, colorClass=1), node(2, colorClass=0)]
    workload = load(tmp_path, document(nodes, [edge(0, 1, 0.1), edge(1, 2, 0.1)], cpus=0))
    assert value("dp", workload) == 3
    assert value("ip", workload) == pytest.approx(2.2)


def test_an_integer_program_out_of_time_does_not_prove_its_start(tmp_path):
    workload = load(tmp_path, chains(4, 12))
    late = ask("ip", Question(workload, "throughput", gap=0.0, seconds=1e-6))
    assert late.status == "time limit"
    assert late.bound < late.objective
