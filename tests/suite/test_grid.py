"""Grids on a machine that is a host to be profiled: what is said where there is no profile."""

import re
from pathlib import Path

import pytest
from command_line import write_grid
from small_grid import CPU

from suite.bench.cell import MeasureTop, RealRuns
from suite.bench.grid import known_grids, load_grid, planned_cells
from suite.cli import main
from suite.core.uncertainty import Judging


@pytest.fixture
def machines(tmp_path, monkeypatch):
    """The folder of profiled machines, empty."""
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    (tmp_path / "machines").mkdir()
    return tmp_path / "machines"


def trouble(capsys, *arguments):
    assert main(["bench", *arguments]) == 2
    [line] = capsys.readouterr().err.splitlines()
    return line


def test_cells_that_fewer_gpus_would_mix_up_are_refused(tmp_path, capsys):
    """Two graphs by one name, told apart by their GPUs alone."""
    grid = write_grid(tmp_path / "g.toml", {"gpu_only": 1})
    [task] = re.findall(r"(?s)\[\[task\]\].*?(?=\n\[\[|\Z)", grid.read_text())[:1]
    other = re.sub("gpus = .*", "gpus = 5", task).replace("smoke.json", "other.json")
    assert other != task
    grid.write_text(f"{grid.read_text()}\n{other}\n")
    line = trouble(capsys, str(grid), "--gpus", "1", "--output", str(tmp_path / "r"))
    assert "with --gpus 1 two different cells are " in line


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "net.keras",
            "with its graph (placebench graph net.keras --output FILE.npz) as graph =",
        ),
        ("my.net:step", "(placebench graph my.net:step --output FILE.npz)"),
        ("mine.npz", 'is no task: name it, with its graph as graph = "mine.npz"'),
        ("nmt_44", "no task 'nmt_44'; did you mean"),
    ],
)
def test_a_model_of_ones_own_is_told_how_it_comes_into_a_grid(tmp_path, capsys, name, words):
    grid = tmp_path / "g.toml"
    grid.write_text(
        f'machine = "k40"\n[[task]]\nname = "{name}"\ngpus = 2\n[[placer]]\nname = "gpu_only"\n'
    )
    assert words in trouble(capsys, str(grid))


def test_a_missing_profile_is_told_with_the_command_that_makes_it(machines, tmp_path, capsys):
    line = trouble(capsys, "measured", "--backend", "cluster", "--output", str(tmp_path / "r"))
    assert line.endswith(
        "machine 'two_cores' is this host, measured; run placebench profile two_cores --cpus 2"
        " --task rnnlm_small --task nmt_2_small --task nmt_4_small --task inception_v3"
    )
    assert not (tmp_path / "r").exists()


def test_a_profile_of_other_devices_is_refused(machines, capsys):
    (machines / "two_cores.toml").write_text(CPU)
    assert "two_cores has 1 CPUs, not 2; profile it with --cpus 2" in trouble(capsys, "measured")


def test_a_machine_named_on_the_command_line_needs_no_profile(machines, tmp_path, capsys):
    here = ("measured", "--machine", "k40", "--only", "nothing", "--output", str(tmp_path))
    assert "no cell of measured has 'nothing'" in trouble(capsys, *here)


@pytest.mark.parametrize("name", known_grids())
def test_what_a_grid_plans_is_known_without_its_machine(name, machines):
    cells = planned_cells(name)
    assert len(set(cells)) == len(cells) > 0
    assert {cell.grid for cell in cells} == {name}


GRID = 'machine = "k40"\nseed = 1\n[[task]]\nname = "nmt_2"\ngpus = 2\n[[placer]]\nname = "metis"\n'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[[task]]", "[task]", "the grid: [task] is one table; write [[task]] above each"),
        ("[[placer]]", "[placer]", "the grid: [placer] is one table; write [[placer]] above each"),
        ("seed = 1", "seed = -1", "the grid: seed is -1; give 0 or more"),
        ("seed = 1", 'seed = "1"', "the grid: seed is '1'; give a whole number"),
        ("gpus = 2", "gpus = -2", "nmt_2 wants -2 GPUs; give 0 or more"),
        (
            '"metis"',
            '"metis"\n[[placer]]\nname = "scotch"\nseeds = "3"',
            "placer 2 of 2: seeds is '3'; give a whole number",
        ),
        *(
            (
                'name = "nmt_2"',
                f'name = "{name}"\ngraph = "g.json"',
                f"task 1 of 1: '{told}' cannot name a folder; use letters and digits",
            )
            for name, told in ((r"a\u0000b", r"a\x00b"), (r"a\nb", r"a\nb"), ("a/b", "a/b"))
        ),
        *(
            (
                "[[task]]",
                f"[budget]\n{key} = {value}\n[[task]]",
                f"budget: {key} is {told}; give 2073600 (24 days) at most, or leave it out",
            )
            for key, value, told in (("timeout", "inf", "inf"), ("seconds", "1e9", "1000000000.0"))
        ),
    ],
)
def test_a_wrong_grid_is_told_in_one_line(tmp_path, capsys, old, new, told):
    path = tmp_path / "g.toml"
    path.write_text(GRID.replace(old, new))
    assert told in trouble(capsys, str(path))


def test_the_grid_of_the_documentation_is_one(tmp_path):
    """All fields at once, but those that need a host: of these, the comments of the example."""
    text = (Path(__file__).parents[2] / "docs/formats.md").read_text(encoding="utf-8")
    [example] = re.findall(r"## Grid\n.*?```toml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example)
    jobs = load_grid(str(path)).jobs
    assert {job.cell.placer for job in jobs} == {"hdp_short"}
    assert [job.cell.seed for job in jobs] == [0, 1, 2]
    assert isinstance(jobs[0].judge, Judging)
    [line] = [line for line in example.splitlines() if line.startswith("# measure_top")]
    path.write_text(example.replace(line, line.removeprefix("# ")))
    assert load_grid(str(path)).jobs[0].measure_top == MeasureTop(8)
    [judge] = [line for line in example.splitlines() if line.startswith("judge")]
    [real] = [line for line in example.splitlines() if line.startswith("# judge")]
    path.write_text(example.replace(judge, "").replace(real, real.removeprefix("# ")))
    assert isinstance(load_grid(str(path)).jobs[0].judge, RealRuns)
