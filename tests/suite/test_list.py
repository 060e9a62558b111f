"""placebench list NAME: all that there is to say of one placer, task, machine, grid or table."""

from dataclasses import dataclass, fields
from types import ModuleType

import pytest

from suite.cli import main
from suite.commands._described import WIDTH, attribute_docs, describe_placer, first_line
from suite.commands.list import KINDS
from suite.core.paths import ROOT
from suite.search.registry import placer_class, placers, tasks


def told(name, capsys):
    assert main(["list", name]) == 0
    return capsys.readouterr().out.splitlines()


def test_of_a_placer_it_says_what_its_parameters_are(capsys):
    lines = told("hdp_tuned", capsys)
    assert lines[0] == "placer hdp_tuned, planners/hdp_tuned.py"
    assert "HDP with changes of ours, under which it learns faster and better." in lines
    at = lines.index("  groups = 32")
    assert lines[at + 1] == "      Groups offered to the Grouper; the paper has 256."
    at = lines.index("  type_embedding = 20")  # of the class above
    assert lines[at + 1] == "      Size of the learned embedding of an operation's type."
    assert max(map(len, lines)) <= WIDTH


@dataclass(frozen=True)
class Silent:
    groups: int = 3


def test_a_class_that_says_nothing_of_itself_says_no_signature(monkeypatch):
    monkeypatch.setattr("suite.search.registry.placer_class", lambda name: Silent)
    lines = list(describe_placer("silent"))
    assert "  groups = 3" in lines
    assert "Silent(" not in "".join(lines)
    assert first_line(ModuleType("silent"), Silent) == ""


@pytest.mark.parametrize("name", sorted(placers()))
def test_every_parameter_is_explained(name):
    cls = placer_class(name)
    words = attribute_docs(cls)
    assert [field.name for field in fields(cls) if field.init and not words.get(field.name)] == []


def test_a_file_that_comes_with_placebench_is_named_wherever_that_lies(capsys):
    text = "\n".join(told("learned_moves", capsys))
    assert "  policy = 'planners/learned_moves.npz'" in text
    assert str(ROOT) not in text


def test_of_a_task_it_says_what_was_chosen(capsys):
    lines = told("nmt_8", capsys)
    assert {"GPUs: 8", "operations in the paper: 83,712"} <= set(lines)
    listed = " ".join(line.strip() for line in lines)
    assert all(" ".join(choice.split()) in listed for choice in tasks()["nmt_8"].choices)


def test_of_a_machine_it_says_what_it_has_and_where_from(capsys):
    lines = told("k40", capsys)
    assert {"1 x cpu of 50 GB", "8 x gpu of 12.1 GB", "links: assumed"} <= set(lines)
    assert any("Nvidia Tesla K40" in line for line in lines)


def test_of_a_grid_it_says_what_it_runs(capsys):
    lines = told("race", capsys)
    assert "budget of each: seconds 60" in " ".join(lines)
    text = " ".join(line.strip() for line in lines)
    assert "nmt_8 (8 GPUs)" in text
    assert "coarse_to_fine (3 seeds)" in text


def test_what_two_have_as_their_name_is_said_of_both(capsys):
    heads = [line for line in told("annealing", capsys) if line.endswith(".py")]
    assert heads == [
        "placer annealing, baselines/annealing.py",
        "table annealing, suite/report/tables/annealing.py",
    ]


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_name_of_every_kind_can_be_described(kind, capsys):
    for name in KINDS[kind].names():
        assert f"{kind.removesuffix('s')} {name}, " in "\n".join(told(name, capsys))


def test_a_name_that_nothing_has_is_one_line(capsys):
    assert main(["list", "hdpp"]) == 2
    assert capsys.readouterr().err == (
        "placebench: error: nothing is named 'hdpp'; did you mean 'hdp'? placebench list prints"
        " all names\n"
    )
