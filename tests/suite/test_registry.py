"""What files of one's own are told that are no placers and no models."""

import sys

import pytest
from hand_made import machine

import baselines
import models
from suite.bench.load_problem import expert, rule_of
from suite.cli import main
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.search.registry import (
    load,
    make_placer,
    parameters_of,
    placers,
    task,
    task_sources,
    tasks,
)

MODEL = "from models.nmt import TASKS as known\nTASKS = dict(list(known.items())[:1])\n"
CALLED_TWICE = "two tasks are named 'nmt_2': models.again and models.nmt; rename one"
LIKE_ANOTHER = "two placers are named 'hdp': baselines.hdp and planners.hdp; rename one"


@pytest.fixture(autouse=True)
def _forgets():
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("baselines.", "models.")):
            del sys.modules[name]
    for found in (placers, tasks, task_sources):
        found.cache_clear()


@pytest.mark.parametrize(
    ("package", "name", "text", "told"),
    [
        (models, "bare", "X = 1\n", "models.bare defines no TASKS, a mapping of names to models;"),
        (models, "again", MODEL, CALLED_TWICE),
        (
            models,
            "odd",
            "\nTASKS = made\n",
            "NameError: name 'made' is not defined (odd.py:2); mend",
        ),
        (
            models,
            "needy",
            "import not_there\n",
            "No module named 'not_there' (needy.py:1); install",
        ),
        (baselines, "odd", "def place(:\n", "cannot import baselines.odd: SyntaxError: invalid"),
        (baselines, "hdp", "", LIKE_ANOTHER),
    ],
)
def test_a_file_that_fails_is_told_in_one_line(
    tmp_path, request, capsys, package, name, text, told
):
    (tmp_path / f"{name}.py").write_text(text)
    package.__path__.append(str(tmp_path))
    request.addfinalizer(lambda: package.__path__.remove(str(tmp_path)))
    for found in (placers, tasks, task_sources):
        found.cache_clear()
    kind = "placers" if package is baselines else "tasks"
    assert main(["list", kind]) == 2
    error = capsys.readouterr().err
    assert error.startswith("placebench: error: ")
    assert told in error
    assert error.count("\n") == 1


PLACER = """
from dataclasses import dataclass, field
from pathlib import Path
@dataclass(frozen=True)
class Mine:
    {}
    def __post_init__(self):
        {}
    def place(self, problem, search): ...
"""


@pytest.fixture
def more_placers(tmp_path):
    """Write a placer ``mine`` with these fields and checks, for the time of a test."""
    baselines.__path__.append(str(tmp_path))
    placers.cache_clear()
    yield lambda fields, checks="pass": (tmp_path / "mine.py").write_text(
        PLACER.format(fields, checks)
    )
    baselines.__path__.remove(str(tmp_path))


@pytest.mark.parametrize(
    ("fields", "checks", "told"),
    [
        ("k: int = 0", "assert self.k > 0", "placer mine: AssertionError: (mine.py:8)"),
        ("k: object = Path('a')", "pass", "placer mine: k is PosixPath('a'), which no record can"),
    ],
)
def test_what_a_placers_parameters_cannot_be_is_told_in_one_line(
    more_placers, fields, checks, told
):
    more_placers(fields, checks)
    with pytest.raises(InputError) as error:
        make_placer("mine", {})
    assert told in str(error.value)


def test_what_follows_from_parameters_is_none(more_placers):
    more_placers("lock: object = field(init=False)\n    k: tuple = (1, 2)")
    assert parameters_of("mine", make_placer("mine", {})) == {"k": [1, 2]}


def test_a_placer_is_listed_whatever_its_words_and_fields(more_placers, capsys):
    more_placers('""" """\n    k: int\n    n: int = field(default=3, init=False)\n    m: int = 2')
    assert main(["list", "placers"]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if " mine" in one]
    assert line.split() == ["placer", "mine"]
    assert main(["list", "mine"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-2:] == ["  k", "  m = 2"]


@pytest.mark.parametrize("name", ["not_there", "not_there.deeper", "suite.not_there"])
def test_a_module_that_is_not_there_is_looked_for_in_no_file(name):
    with pytest.raises(InputError) as told:
        load(name)
    missing = name.removesuffix(".deeper")
    assert str(told.value) == f"there is no module {missing}; install it, or mend its name"


def test_a_file_that_fails_keeps_nobody_from_the_list_of_the_others(
    more_placers, more_models, capsys
):
    more_placers("k: int = made")
    (more_models / "odd.py").write_text("TASKS = made\n")
    assert main(["list"]) == 2
    told = capsys.readouterr()
    assert [line.split(": ")[2] for line in told.err.splitlines()] == [
        "placer mine",
        "cannot import models.odd",
    ]
    listed = {tuple(line.split()[:2]) for line in told.out.splitlines()}
    assert {("placer", "hdp"), ("machine", "k40"), ("plot", "quality_time")} <= listed
    assert len([kind for kind, _ in listed if kind == "placer"]) == len(placers()) - 1


def test_a_tasks_name_is_a_folders(more_models):
    text = "from models.nmt import TASKS as known\nTASKS = {'a/b': known['nmt_2']}\n"
    (more_models / "slash.py").write_text(text)
    with pytest.raises(InputError, match=r"models\.slash: task 'a/b' cannot name a folder"):
        tasks()


WHOLE = {
    "gpus": "1",
    "paper_ops": "None",
    "choices": "()",
    "build": "lambda self: None",
    "expert": "lambda self, graph, gpus: [0] * graph.n_ops",
    "block": "lambda self, name: None",
}
"""The members of a model, as a class has them."""


@pytest.fixture
def more_models(tmp_path_factory):
    """A folder whose files are among the models."""
    folder = tmp_path_factory.mktemp("models")
    models.__path__.append(str(folder))
    for found in (tasks, task_sources):
        found.cache_clear()
    yield folder
    models.__path__.remove(str(folder))


def _experts(folder, members):
    """What the expert of such a model says of two operations, on a CPU and a GPU."""
    text = f"Tiny = type('Tiny', (), dict({', '.join(map('='.join, members.items()))}))\n"
    (folder / "tiny.py").write_text(f"{text}TASKS = {{'tiny': Tiny()}}\n")
    graph = OpGraph.create("tiny", ["a", "b"], ["A", "B"], [0], [(0, 1)])
    return expert(graph, machine(2), "tiny")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"block": None}, "task tiny (models.tiny) has no block; a model has gpus, paper_ops, "),
        ({"gpus": "'2'"}, "task tiny (models.tiny): gpus is '2'; give a whole number >= 0"),
        ({"paper_ops": "'many'"}, "paper_ops is 'many'; give a whole number or None"),
        ({"choices": "'one'"}, "choices is 'one'; give a tuple of texts"),
        ({"build": "3"}, "task tiny (models.tiny): build is no method"),
        ({"expert": "lambda self, graph, gpus: 1 / 0"}, "fails: ZeroDivisionError: division by"),
        ({"expert": "lambda self, graph, gpus: exit(4)"}, "fails: SystemExit: 4"),
        ({"expert": "lambda self, graph, gpus: [0]"}, "gives int64[1]; return one integer for "),
        ({"expert": "lambda self, graph, gpus: [.5] * 2"}, "gives float64[2]; return one integer"),
        ({"expert": "lambda self, graph, gpus: [0, 1]"}, "gives GPUs 0 to 1; return 0 to 0, or -1"),
        ({"expert": "lambda self, graph, gpus: [-2, 0]"}, "gives GPUs -2 to 0; return 0 to 0, or"),
    ],
)
def test_what_is_wrong_with_a_model_is_told_in_one_line(more_models, changed, told):
    members = {name: text for name, text in (WHOLE | changed).items() if text is not None}
    with pytest.raises(InputError) as error:
        _experts(more_models, members)
    assert told in str(error.value)
    assert "models.tiny" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("1 / 0", "block of task tiny (models.tiny) fails: ZeroDivisionError: division by zero"),
        ("[name]", "block of task tiny (models.tiny) gives ['a'] for a; return a text or None"),
    ],
)
def test_what_is_wrong_with_a_models_blocks_is_told_in_one_line(more_models, block, told):
    _experts(more_models, WHOLE | {"block": f"lambda self, name: {block}"})
    with pytest.raises(InputError) as error:
        rule_of("tiny")("a")
    assert told in str(error.value)


def test_a_class_in_the_place_of_a_model_is_told(more_models):
    text = "class Tiny:\n    gpus = 1\nTASKS = {'tiny': Tiny}\n"
    (more_models / "tiny.py").write_text(text)
    with pytest.raises(InputError, match=r"is the class Tiny; list one of it, Tiny\(...\)"):
        task("tiny")


def test_an_experts_numbers_are_gpus(more_models):
    on_both = {"expert": "lambda self, graph, gpus: [-1, gpus - 1]"}
    assert _experts(more_models, WHOLE | on_both).tolist() == [0, 1]


def test_a_file_that_comes_with_placebench_is_recorded_without_its_folder():
    """Where it is installed says nothing, and differs from host to host."""
    shipped = parameters_of("learned_moves", make_placer("learned_moves", {}))["policy"]
    assert shipped == "planners/learned_moves.npz"
    ours = parameters_of("learned_moves", make_placer("learned_moves", {"policy": "/tmp/p.npz"}))
    assert ours["policy"] == "/tmp/p.npz"
