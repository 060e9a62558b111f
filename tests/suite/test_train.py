"""Trained policies from the command line, in grids and in records."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import SMOKE_GRAPH
from fan import fan

from suite import cli
from suite.bench.fingerprint import fingerprint
from suite.bench.grid import load_grid
from suite.bench.lock import output_locked
from suite.bench.run_cell import run
from suite.bench.train import checkpoint_path, lessons_of
from suite.core.errors import InputError
from suite.formats.interchange import write_graph
from suite.formats.policy_file import PolicyFile
from suite.report.load_records import load_records
from suite.report.policies import seen_mark, seen_note
from suite.search.checkpoint import Checkpoint

GRID = """
machine = "k40"
[budget]
evaluations = 4
[[task]]
name = "tiny"
gpus = 2
graph = "{smoke}"
[[task]]
name = "fan"
gpus = 2
graph = "fan.npz"
"""
SMALL = "width = 6, heads = 2, hops = 1, layers = 0, samples = 4, epochs = 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A grid of two graphs, and a policy that was trained on the first."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    found = tmp_path_factory.mktemp("train")
    write_graph(fan().graph, found / "fan.npz")
    tasks = GRID.format(smoke=SMOKE_GRAPH)
    placers = f'[[placer]]\nname = "gdp"\nparameters = {{ {SMALL} }}\n[[placer]]\nname = "metis"\n'
    (found / "mine.toml").write_text(tasks + placers)
    using = f'policy = "{found}/without_{{task}}.npz", updates = 0'
    (found / "unseen.toml").write_text(
        f'{tasks}[[placer]]\nname = "gdp"\nparameters = {{ {using} }}\n'
    )
    assert train(found, "fan") == 0
    yield found
    tf.config.run_functions_eagerly(False)


def train(folder: Path, without: str, *more: str) -> int:
    output = str(folder / f"without_{without}.npz")
    grid = str(folder / "mine.toml")
    return cli.main(["train", grid, "--without", without, "--output", output, *more])


def test_training_twice_is_training_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "without_fan.npz"
    before = path.read_bytes()
    assert train(folder, "fan") == 0
    assert f"finished before: {path}" in capsys.readouterr().out
    assert path.read_bytes() == before
    assert not checkpoint_path(path).exists()


def test_variants_are_lessons_of_their_own(folder: Path, tmp_path: Path) -> None:
    def trained(name: str, *more: str) -> PolicyFile:
        output = tmp_path / name
        words = ["train", str(folder / "mine.toml"), "--output", str(output), "--without", "fan"]
        assert cli.main([*words, *more]) == 0
        return PolicyFile.load(output)

    plain, varied = trained("plain.npz"), trained("varied.npz", "--variants", "2")
    [task] = [one.task for one in plain.lessons]
    names = [task, f"{task} (variant 1)", f"{task} (variant 2)"]
    assert [one.task for one in varied.lessons] == names
    assert len({one.graph for one in varied.lessons}) == 3
    assert varied.lessons[0].graph == plain.lessons[0].graph
    assert varied.identity != plain.identity
    assert any((varied.weights[name] != plain.weights[name]).any() for name in plain.weights)


def test_by_what_a_policy_was_judged_is_part_of_what_it_is(folder: Path, tmp_path: Path) -> None:
    grid, output = tmp_path / "judged.toml", tmp_path / "judged.npz"
    gdp = '[[placer]]\nname = "gdp"\n'
    judge = f'{gdp}judge = {{ score = "worst", machines = 2, spread = 0.2 }}\n'
    whole = (folder / "mine.toml").read_text().replace(gdp, judge)
    grid.write_text(whole.replace('"fan.npz"', f'"{folder}/fan.npz"'))
    words = ["train", str(grid), "--without", "fan", "--output", str(output)]
    assert cli.main(words) == 0
    plain = PolicyFile.load(folder / "without_fan.npz")
    assert PolicyFile.load(output).identity != plain.identity
    grid.write_text(grid.read_text().replace("0.2", "0.3"))
    assert cli.main(words) == 2  # it would be another


def test_another_policy_is_not_written_over(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "without_fan.npz").read_bytes()
    assert train(folder, "fan", "--seed", "1") == 2
    told = capsys.readouterr().err
    assert "was trained on other graphs, with other settings or by other code" in told
    assert told.count("\n") == 1
    assert (folder / "without_fan.npz").read_bytes() == before


def test_one_training_at_a_time_writes_a_policy(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", str(folder / "mine.toml"), "--without", "fan", "--output"]
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    with output_locked(one):
        assert cli.main([*words, str(one)]) == 2
        assert f"is writing into {one}; wait until it ends" in capsys.readouterr().err
        assert cli.main([*words, str(other)]) == 0
    assert not one.exists()


def test_what_another_training_has_reached_is_not_written_over(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "new" / "p.npz"
    reached = checkpoint_path(output)
    Checkpoint(reached, "seed 0's").save({"elapsed": 9999.0}, {})
    before = reached.read_bytes()
    words = ["train", str(folder / "mine.toml"), "--without", "fan", "--checkpoint", "0"]
    words += ["--output", str(output)]
    assert cli.main(words) == 2
    told = capsys.readouterr().err
    assert f"{reached} is of a training with other settings or by other code; give" in told
    assert told.count("\n") == 1
    assert reached.read_bytes() == before
    reached.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match=r"p.npz.checkpoint.npz is damaged .*; starting afresh"):
        assert cli.main(words) == 0
    assert not reached.exists()


def test_a_policy_says_what_it_is_of(folder: Path) -> None:
    policy = PolicyFile.load(folder / "without_fan.npz")
    [lesson] = policy.lessons
    [job] = lessons_of(load_grid(str(folder / "mine.toml")), None, without=["fan"])
    assert (lesson.task, lesson.machine, lesson.gpus, lesson.devices) == ("tiny", "k40", 2, 3)
    assert lesson.evaluations == 4
    assert policy.planner == "gdp"
    assert len(policy.code) == len(policy.identity) == len(lesson.graph) == 16
    assert policy.settings["width"] == 6
    assert job.cell.task == "tiny"
    # A graph of the same task whose costs are others counts as seen, too.
    asked = [(lesson.graph, None), ("other", "tiny"), ("other", "fan"), ("other", None)]
    assert [policy.about(*one)["seen"] for one in asked] == [True, True, False, False]


def test_records_say_whether_their_graph_was_trained_on(folder: Path) -> None:
    """``{task}`` names the policy of each task; here both tasks use that of fan's hold-out."""
    grid = load_grid(str(folder / "unseen.toml"))
    names = [job.parameters["policy"] for job in grid.jobs]
    assert names == [f"{folder}/without_{task}.npz" for task in ("tiny", "fan")]
    shared = {"policy": f"{folder}/without_fan.npz", "updates": 0}
    seen = []
    for job in grid.jobs:
        record, devices = run(replace(job, parameters=shared))
        assert (record["status"], record["evaluations"]) == ("ok", 0)
        assert devices is not None
        seen.append(record["policy"]["seen"])
        assert [one["task"] for one in record["policy"]["trained_on"]] == ["tiny"]
    assert seen == [True, False]


def test_the_content_of_a_policy_is_part_of_a_cell_and_its_name_is_not(folder: Path) -> None:
    job = load_grid(str(folder / "unseen.toml")).jobs[1]
    path, other = Path(job.parameters["policy"]), folder / "moved.npz"
    before = fingerprint(job)
    other.write_bytes(path.read_bytes())
    moved = replace(job, parameters={**job.parameters, "policy": str(other)})
    assert fingerprint(moved) == before
    replace(PolicyFile.load(path), seed=5).save(other)
    assert fingerprint(moved) != before


def test_a_missing_policy_is_told_before_anything_runs(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = str(folder / "unseen.toml")
    assert cli.main(["bench", grid, "--output", str(tmp_path), "--workers", "0"]) == 2
    assert f"there is no policy {folder}/without_tiny.npz" in capsys.readouterr().err
    assert not list(tmp_path.rglob("seed*.json"))


def test_place_says_what_a_policy_was_trained_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(folder / "without_fan.npz")
    found = []
    for graph in (SMOKE_GRAPH, folder / "fan.npz"):
        asked = ["place", "--graph", str(graph), "--machine", "k40", "--gpus", "2"]
        asked += ["--placer", "gdp", "--policy", policy, "--json"]
        assert cli.main(asked) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert [one["policy"]["seen"] for one in found] == [True, False]
    assert [one["evaluations"] for one in found] == [0, 0]
    assert cli.main([*asked[:-1], "--evaluations", "4", "--set", "samples=4"]) == 0
    told = capsys.readouterr().out
    assert "trained on tiny (2 GPUs): this graph is none of them" in told


def test_placers_that_start_from_no_policy_say_so(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2"]
    assert cli.main([*asked, "--placer", "metis", "--policy", str(folder / "x.npz")]) == 2
    assert "metis starts from no policy" in capsys.readouterr().err
    assert cli.main([*asked, "--policy", str(folder / "x.npz")]) == 2
    assert "--policy goes with a placer" in capsys.readouterr().err


def test_the_best_placement_met_in_training_can_be_asked_for(folder: Path) -> None:
    policy = folder / "without_fan.npz"
    jobs = load_grid(str(folder / "unseen.toml")).jobs
    asked = {"policy": str(policy), "updates": 0, "remembered": True}
    tiny, unseen = (run(replace(job, parameters=asked))[0] for job in jobs)
    assert tiny["step_time"] == PolicyFile.load(policy).lessons[0].best_time
    assert tiny["policy"]["seen"]
    assert unseen["status"] == "skipped"
    assert "not trained on this graph" in unseen["reason"]


def test_what_cannot_be_trained_is_refused(folder: Path) -> None:
    grid = load_grid(str(folder / "mine.toml"))
    for asked, told in (
        ({"placer": "metis"}, "metis cannot be trained .* that can: gdp"),
        ({"placer": "none"}, "no placer of mine 'none'"),
        ({"placer": None, "only": ["nothing"]}, "no task of mine 'nothing'"),
        ({"placer": None, "without": ["tiny", "fan"]}, "no task of mine is left"),
        ({"placer": None, "gpus": 99}, "99 GPUs are asked for, k40 has"),
    ):
        with pytest.raises(InputError, match=told):
            lessons_of(grid, **asked)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="gdp starts from a policy; leave that out"):
        lessons_of(load_grid(str(folder / "unseen.toml")), "gdp")


def test_a_budget_of_seconds_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The graphs take turns, so that each one's clock runs while the others learn."""
    grid, output = folder / "clock.toml", tmp_path / "policy.npz"
    grid.write_text((folder / "mine.toml").read_text().replace("[budget]", "[budget]\nseconds = 9"))
    words = ["train", str(grid), "--without", "fan", "--output", str(output)]
    assert cli.main(words) == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert "clock has seconds in its budget" in told
    assert "give --evaluations N, of each graph" in told
    assert not output.exists()
    assert cli.main([*words, "--evaluations", "4"]) == 0
    plain, named = PolicyFile.load(folder / "without_fan.npz"), PolicyFile.load(output)
    assert named.identity == plain.identity


def test_tables_mark_cells_whose_graph_was_trained_on(folder: Path, tmp_path: Path) -> None:
    policy = str(folder / "without_fan.npz")
    grid = (folder / "unseen.toml").read_text().replace(f"{folder}/without_{{task}}.npz", policy)
    (folder / "both.toml").write_text(grid)
    asked = ["bench", str(folder / "both.toml"), "--output", str(tmp_path), "--workers", "0"]
    assert cli.main(asked) == 0
    records = load_records(tmp_path)
    by_task = {str(task): rows for task, rows in records.groupby("task")}
    assert seen_mark(by_task["tiny"]) == " (trained on it)"
    assert seen_mark(by_task["fan"]) == ""
    assert seen_note(records) == [
        "**Judged on a graph that the policy was trained on**: tiny / gdp."
    ]
    assert seen_note(by_task["fan"]) == []


def test_a_task_on_several_numbers_of_gpus_is_one_lesson_on_one(tmp_path: Path) -> None:
    tasks = "".join(f'[[task]]\nname = "nmt_2"\ngpus = {gpus}\n' for gpus in (1, 2))
    text = f'machine = "k40"\n[budget]\nevaluations = 5\n{tasks}[[placer]]\nname = "gdp_tuned"\n'
    (tmp_path / "g.toml").write_text(text)
    grid = load_grid(str(tmp_path / "g.toml"))
    assert [job.cell.gpus for job in lessons_of(grid, None)] == [1, 2]
    assert [job.cell.gpus for job in lessons_of(grid, None, gpus=2)] == [2]
