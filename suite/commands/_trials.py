"""What ``place`` says of a placement and of those it is compared with: as a table, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suite.commands._common import about

if TYPE_CHECKING:
    from suite.bench.compare import Trial
    from suite.bounds.lower_bound import Bound
    from suite.capture.load_model import Loaded
    from suite.core.problem import Problem


def trials_text(
    loaded: Loaded,
    problem: Problem,
    trials: list[Trial],
    bound: Bound,
    best: Trial | None,
    how: str | None,
) -> str:
    """The answer, which comes first of all trials, its bound, and a line for each; ``how`` it came.

    ``best`` is the fastest of them, which its line says.
    """
    from suite.commands._verdict import as_json, as_text

    answer = trials[0].answer
    assert answer is not None
    verdict = as_text(problem, as_json(problem, answer.result))
    ratio = _ratio(answer.result.step_time, bound.seconds)
    lines = [about(loaded, problem), *filter(None, [how]), verdict]
    lines.append(f"bound      {bound.seconds:.6f} s, proven ({bound.kind}); this is x{ratio:.2f}")
    head = f"{'placer':18} {'step time':>12} {'x bound':>8} {'to place':>10} {'evaluations':>12}"
    rows = [_row(problem, trial, bound) + "  fastest" * (trial is best) for trial in trials]
    return "\n".join([*lines, "", head, *rows])


def _row(problem: Problem, trial: Trial, bound: Bound) -> str:
    if trial.answer is None:
        return f"{trial.placer:18} {trial.status}: {trial.reason}"
    result, names = trial.answer.result, [d.name for d in problem.machine.devices]
    full = [name for name, oom in zip(names, result.oom, strict=True) if oom]
    ratio = _ratio(result.step_time, bound.seconds)
    cells = f"{trial.placer:18} {result.step_time:10.6f} s {ratio:8.2f}"
    cells += f" {trial.answer.seconds:8.2f} s {trial.answer.evaluations:12,}"
    return cells + (f"  out of memory: {', '.join(full)}" if full else "")


def _ratio(seconds: float, bound: float) -> float:
    """A step of no operations takes no time, and so does its bound."""
    return seconds / bound if bound else 1.0


def trials_json(
    loaded: Loaded, problem: Problem, trials: list[Trial], bound: Bound
) -> dict[str, Any]:
    """The same as one object."""
    from suite.formats.json_file import sayable

    graph, (asked, *others) = loaded.graph, trials
    return {
        "model": loaded.origin,
        "graph": {"name": graph.name, "ops": graph.n_ops, "tensors": graph.n_tensors},
        "choices": list(graph.metadata.get("choices", ())),
        "machine": problem.machine.name,
        "capacity": {d.name: d.memory for d in problem.machine.devices},
        "lower_bound": bound.seconds,
        "bound_kind": bound.kind,
        "bound_parts": sayable(bound.parts),
        **_trial_json(problem, asked, bound),
        "comparison": [_trial_json(problem, trial, bound) for trial in others],
    }


def _trial_json(problem: Problem, trial: Trial, bound: Bound) -> dict[str, Any]:
    from suite.commands._verdict import as_json

    if trial.answer is None:
        return {"placer": trial.placer, "status": trial.status, "reason": trial.reason}
    result = trial.answer.result
    return {
        "placer": trial.placer,
        "status": trial.status,
        **as_json(problem, result),
        "ratio_to_bound": _ratio(result.step_time, bound.seconds),
        "place_seconds": trial.answer.seconds,
        "evaluations": trial.answer.evaluations,
    }
