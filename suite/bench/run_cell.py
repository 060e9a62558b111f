"""One job to one record: load, place, judge, bound. Every outcome is a record."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from suite.bench.ask import ask
from suite.bench.cell import SIMULATOR, Job, RealRuns
from suite.bench.fingerprint import fingerprint, semantics
from suite.bench.judge import (
    bound_of,
    is_bounded,
    judged,
    robust_judge,
    simulator_under,
    simulators,
)
from suite.bench.load_problem import problem_of, timed_graph, times_in_use
from suite.bench.made_by import code_of
from suite.bench.provenance import provenance
from suite.bench.record import FORMAT, Record
from suite.core.arrays import Ints
from suite.core.cores import my_share
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Judge
from suite.execution.real_judge import RealJudge
from suite.formats.policy_file import PolicyFile
from suite.search.checkpoint import Checkpoint, Memory
from suite.search.placer import Placer, Search
from suite.search.progress_log import Journal
from suite.search.registry import failure, make_placer, parameters_of
from suite.search.subprocess_call import NativeCrash
from suite.search.training import policy_path

if TYPE_CHECKING:
    from suite.search.best_answers import BestAnswers

NO_MEMORY = "ResourceExhaustedError"
"""What TensorFlow raises where memory runs out; named, since most cells need no TensorFlow."""
NOT_BOUNDED = "none: the run ended before; placebench rebound computes it"
"""Stands for the kind of bound until there is one."""


def run(
    job: Job, journal: Journal | None = None, saved: Checkpoint | None = None
) -> tuple[Record, Ints | None]:
    """Run a job: (record, devices int32[ops] or None). Only a crash of the process raises.

    A search writes into ``journal``, and goes on from what ``saved`` holds. The record lacks the
    bound: see :func:`bounded`.
    """
    record, blame = header(job), "error"
    where: str | None = None
    placement: Placement | None = None
    try:
        problem = problem_of(job)
        record |= _about(problem, job.semantics)
        placer: Placer = make_placer(job.placer, job.parameters)
        record["parameters"], where = parameters_of(job.placer, placer), type(placer).__module__
        simulators(problem)  # a problem that the simulator cannot count is no placement's fault
        _check_runs(job)
        journal = journal or Journal()
        search = search_of(job, problem, journal, saved)
        # What stops real runs may be the host: then the cell is to be tried again.
        blame = "error" if isinstance(job.judge, RealRuns) else "invalid"
        placement, cost, best = _placed(job, problem, placer, search, saved)
        blame = "error"
        # Whatever happens to its runs, the search is not lost: even a record of an error has it.
        record |= cost
        if best is not None:
            placement, record["measured_top"] = _fastest(job, problem, placement, best)
        simulated = judged(problem, placement, job.semantics)
        record |= _verdict(job, problem, placement, simulated)
    except Unsupported as reason:
        record |= {"status": "skipped", "reason": str(reason)}
    except InputError as error:
        record |= {"status": blame, "reason": str(error)}
    except Exception as error:
        record |= {"status": "error", "reason": failure(error, where)}
    if placement is None:
        return record, None
    record.setdefault("placement_hash", placement.hash)
    return record, np.asarray(placement.devices)


def bounded(job: Job, record: Record) -> Record:
    """The record of a job with the lower bound, where its semantics has one.

    Where the bound cannot be computed, ``bound_kind`` says why, and the record is good all the
    same.
    """
    if record.get("bound_kind") != NOT_BOUNDED:
        return record
    try:
        bound = bound_of(problem_of(job), job.semantics)
    except Exception as error:
        return record | {"lower_bound": None, "bound_kind": f"none: {failure(error)}"}
    return record | {"lower_bound": bound.seconds, "bound_kind": bound.kind}


def _fastest(
    job: Job, problem: Problem, answer: Placement, best: BestAnswers
) -> tuple[Placement, Record]:
    """Run the best answers of a search; InputError where that fails, which says so."""
    from suite.bench.measured import fastest

    try:
        return fastest(job, problem, answer, best)
    except Exception as error:
        why = str(error) if isinstance(error, InputError) else failure(error)
        raise InputError(f"the search's best answers did not run: {why}") from error


def _check_runs(job: Job) -> None:
    """Raise InputError where no answer of a job could be run: before the search, not after."""
    if job.backend != SIMULATOR:
        from suite.bench.measured import step_of_job

        step_of_job(job)


def _verdict(job: Job, problem: Problem, placement: Placement, simulated: Record) -> Record:
    if job.backend == SIMULATOR:
        return simulated
    from suite.bench.measured import measured

    return measured(job, problem, placement, simulated)


def _placed(
    job: Job, problem: Problem, placer: Placer, search: Search, saved: Checkpoint | None
) -> tuple[Placement, Record, BestAnswers | None]:
    """Let the placer answer; return its placement, what that cost and what else was found.

    A placer that fails after it took up a checkpoint starts once more without: were the checkpoint
    at fault, the cell would fail for ever. The next run goes on from it where the host has failed,
    with a full disk, say; otherwise it is set aside.
    """
    journal = search.journal
    try:
        try:
            placement = ask(placer, problem, search)
        except (Unsupported, BudgetExhausted, OSError, MemoryError, NativeCrash):
            raise
        except Exception as error:
            hosts = isinstance(error, InputError) and isinstance(job.judge, RealRuns)
            hosts = hosts or type(error).__name__ == NO_MEMORY
            if hosts or saved is None or not saved.taken_up:
                raise
            why, kept = failure(error), saved.set_aside()
            warnings.warn(
                f"{saved.path} does not work ({why}); rename {kept.name}, as it is called now, to"
                " try it again; starting afresh",
                stacklevel=2,
            )
            search = search_of(job, problem, journal, saved)
            placement = ask(placer, problem, search)
    finally:
        journal.close()
    cost = {
        "wall_seconds": round(search.clock.wall, 6),
        "cpu_seconds": round(search.clock.processor, 6),
        "evaluations": search.evaluations,
        "history": [[n, round(seconds, 3), best] for n, seconds, best in search.history],
        "planner": search.notes,
    }
    judge, best = search.judge, None
    if job.measure_top is not None:
        from suite.search.best_answers import Remembering

        if isinstance(judge, Remembering):
            best, judge = judge.best, judge.judge
    if isinstance(judge, RealJudge):
        cost["real_runs"] = judge.as_record()
    return placement, cost, best


def search_of(
    job: Job, problem: Problem, journal: Journal | None = None, saved: Checkpoint | None = None
) -> Search:
    """The search that a job's placer gets; InputError where its judge lacks what it needs."""
    seed, judge = job.cell.derived_seed(job.base_seed), _judge(job, problem)
    limits = job.max_evaluations, job.max_seconds
    top = job.measure_top
    memories: list[Memory] = [judge] if isinstance(judge, RealJudge) else []
    if top is not None:
        # Loads scipy's optimization, which no other cell needs.
        from suite.search.best_answers import BestAnswers, Remembering

        best = BestAnswers(problem.machine, top.count, top.apart)
        judge = Remembering(judge, best)
        memories.append(best)
    if saved is not None:
        saved.memories = memories
    return Search(problem, judge, seed, *limits, journal or Journal(), saved)


def _judge(job: Job, problem: Problem) -> Judge:
    if job.judge is None:
        return simulator_under(problem, job.semantics)
    if isinstance(job.judge, RealRuns):
        from suite.bench.measured import real_judge

        return real_judge(job, problem, simulator_under(problem, job.semantics))
    kept = times_in_use(job.cell.task, job.cell.machine, job.graph_file)
    return robust_judge(problem, job.cell.machine, kept, job.judge, job.semantics)


def header(job: Job) -> Record:
    """The fields of a record that are known before the job runs."""
    asked = {"judge": job.judge, "measure_top": job.measure_top}
    policy = policy_of(job)
    return {
        "format": FORMAT,
        "cell": job.cell.as_dict(),
        "backend": job.backend,
        "semantics": semantics(job),
        "fingerprint": fingerprint(job),
        "code": code_of(job),
        "base_seed": job.base_seed,
        "workers": my_share().workers,
        "threads": my_share().threads,
        "budget": {"evaluations": job.max_evaluations, "seconds": job.max_seconds},
        "status": "error",
        "reason": "",
        "step_time": None,
        "step_times": [],
        "placer": job.placer,
        "parameters": dict(job.parameters),
        "provenance": provenance(),
        **{name: asdict(one) for name, one in asked.items() if one is not None},
        **({} if policy is None else {"policy": policy}),
    }


def policy_of(job: Job) -> Record | None:
    """The policy file that a job's placer starts from: what it was trained on; None without one.

    ``seen`` is true where the cell's own graph is among that. InputError for a bad file.
    """
    path = policy_path(make_placer(job.placer, job.parameters))
    if path is None:
        return None
    graph = timed_graph(job.cell.task, job.cell.machine, job.graph_file)
    return PolicyFile.load(path).about(graph.fingerprint, job.cell.task)


def _about(problem: Problem, semantics: str) -> Record:
    """Facts about the graph and the machine; no bound yet."""
    graph, facts = problem.graph, problem.graph.metadata
    return {
        "graph": {
            "name": graph.name,
            "ops": graph.n_ops,
            "ops_unpruned": facts.get("ops_unpruned", graph.n_ops),
            "paper_ops": facts.get("paper_ops"),
            "tensors": graph.n_tensors,
            "edges": len(graph.consumers),
            "flops": float(graph.flops.sum()),
            "parameters": facts.get("parameters"),
            "persistent_bytes": int(graph.persistent_bytes.sum()),
            "choices": list(facts.get("choices", ())),
            "fingerprint": graph.fingerprint,
        },
        "capacity": {d.name: d.memory for d in problem.machine.devices},
        "lower_bound": None,
        "bound_kind": NOT_BOUNDED if is_bounded(semantics) else "",
    }
