"""Reports: what is written of which records, and that it is the same from the same records."""

import contextlib
import io
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
from suite_records import full, planned, record, write

from suite.cli import main
from suite.core.errors import InputError
from suite.report.build import Report, build_table, write_reports
from suite.report.load_records import load_records
from suite.report.table import Section, Table
from suite.report.tables import hdp_table1
from suite.report.tables._other_grids import other_grids


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    return tmp_path / "results"


COUNT = len(planned(hdp_table1.PLACERS))


def test_same_records_give_the_same_bytes(results, tmp_path):
    simulated = {"step_time": 1.1}
    made = [*full()[::4], record("rnnlm", "random", 1.0, grid="fidelity", simulated=simulated)]
    write(results, *made)
    first = write_reports(results, tmp_path / "a")
    again = tmp_path / "again"
    write(again, *reversed(made))
    second = write_reports(again, tmp_path / "b")
    assert [f.name for f in first.written] == [f.name for f in second.written]
    assert {f.suffix for f in first.written} == {".md", ".csv", ".png", ".json"}
    for one, other in zip(first.written, second.written, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


@dataclass(frozen=True)
class Reported:
    """What ``placebench report`` made of a few records."""

    lines: list[str]
    output: Path
    results: Path

    @property
    def index(self):
        return (self.output / "README.md").read_text()


FEW = 3
"""Records of the report that several tests read."""


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A report of few records, into a folder with two files, compared with the same records."""
    folder = tmp_path_factory.mktemp("few")
    results, other, output = folder / "results", folder / "mine", folder / "reports"
    cells = (
        ("inception_v3", "cpu_only", 0.6283),
        ("rnnlm", "human_expert", 2.0),
        ("nmt_2", "m_etf", 1.0),
    )
    write(results, *(record(*cell) for cell in cells))
    shutil.copytree(results, other)
    output.mkdir()
    (output / "tarnawski_latency.md").write_text("earlier")
    (output / "mine.md").write_text("mine")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        options = ["--output", str(output), "--compare", str(results)]
        assert main(["report", "--results", str(other), *options]) == 0
    return Reported(printed.getvalue().splitlines(), output, results)


def test_what_has_no_records_is_not_written_and_said_in_one_line(reported):
    [line] = [x for x in reported.lines if x.startswith("no records")]
    named = line.replace(",", " ").replace(";", " ").split()
    for name in ("fidelity", "measured", "tarnawski_latency", "strong_baselines"):
        assert name in named
    assert "hdp_table1" not in named
    output = reported.output
    assert f"left of an earlier report: {output / 'tarnawski_latency.md'}" in reported.lines
    names = {path.stem for path in output.iterdir()}
    assert not names & {"fidelity", "measured", "tarnawski_throughput", "strong_baselines"}
    assert (output / "tarnawski_latency.md").read_text() == "earlier"
    assert (output / "mine.md").read_text() == "mine"
    assert "tarnawski_latency.md" not in reported.index
    [without] = [x for x in reported.index.splitlines() if x.startswith("Without records, and so")]
    for name in ("fidelity", "measured", "tarnawski_latency", "strong_baselines"):
        assert f" {name}," in without


def test_the_command_prints_the_table_and_what_it_wrote(reported):
    assert any("| Inception-V3  | 0.63 (0.61, x1.03) |" in line for line in reported.lines)
    written = {Path(line.removeprefix("wrote ")) for line in reported.lines if line[:6] == "wrote "}
    assert reported.output / "hdp_table1.md" in written
    assert f"hdp_table1: {COUNT - FEW} of {COUNT} records are missing" in reported.lines
    assert f"{FEW} of {COUNT}" in reported.index
    for path in written:
        assert path.name == "README.md" or path.name in reported.index


def test_a_report_ends_with_the_comparison(reported):
    against = f"against {reported.results}: {FEW} of {FEW} cells equal to the bit; 0 differ; 0 mis"
    assert reported.lines[-1].startswith(against)


def test_one_table_alone_has_its_plots_and_no_index(results, capsys):
    write(results, record("rnnlm", "random", 1.0, grid="fidelity", simulated={"step_time": 1.1}))
    arguments = ["report", "--results", str(results), "--output", str(results.parent / "out")]
    assert main([*arguments, "--only", "fidelity"]) == 0
    suffixes = {".md", ".csv", ".json", ".png"}
    assert {f.name for f in (results.parent / "out").iterdir()} == {
        f"fidelity{x}" for x in suffixes
    }
    assert "no records" not in capsys.readouterr().out
    assert main([*arguments, "--only", "fidelty"]) == 2
    assert "no table 'fidelty'; did you mean 'fidelity'?" in capsys.readouterr().err
    assert main([*arguments, "--only", "fidelity", "--html"]) == 2
    assert "leave out --only" in capsys.readouterr().err


def test_no_records_at_all_are_refused(results, capsys):
    output = results.parent / "out"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    assert f"{results} holds no records; run `placebench bench`" in capsys.readouterr().err
    write(results, record("rnnlm", "scotch", 1.0))
    compared = ["--compare", "nowhere"]
    assert main(["report", "--results", str(results), "--output", str(output), *compared]) == 2
    assert "nowhere is no folder" in capsys.readouterr().err
    shutil.rmtree(results)
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert not output.exists()


def test_records_that_no_table_is_of_have_one(results, capsys):
    """Whether or not others are in one: those of a grid of one's own, or on another machine."""
    write(results, record("rnnlm", "scotch", 1.0, grid="mine"))
    output = results.parent / "out"
    command = ["report", "--results", str(results), "--output", str(output)]
    assert main(command) == 0
    assert "| rnnlm | 2    | 1      |" in capsys.readouterr().out
    write(results, record("rnnlm", "scotch", 1.0), record("rnnlm", "scotch", 1.0, machine="p100"))
    assert main([*command, "--only", "hdp_table1"]) == 0
    assert "left of an earlier report" not in capsys.readouterr().out
    assert main(command) == 0
    page = (output / "other_grids.md").read_text()
    heads = [line for line in page.splitlines() if line.endswith("step time")]
    assert heads == ["## mine on k40: step time", "## quick on p100: step time"]
    assert "(other_grids.md)" in (output / "README.md").read_text()
    shutil.rmtree(results / "mine")
    shutil.rmtree(results / "quick/p100")
    assert main(command) == 0
    assert (
        "left of an earlier report: " + str(output / "other_grids.csv") in capsys.readouterr().out
    )


def test_a_page_of_any_grid_has_medians_ranges_bounds_and_what_it_took(results):
    """A median of three seeds, a failure, a placer that another task lacks; the best in bold."""
    for seed, (seconds, wall) in enumerate([(2.0, 10.0), (1.5, 30.0), (3.0, 20.0)]):
        made = record("rnnlm", "mine", seconds, seed, grid="g", lower_bound=1.2)
        write(results, made | {"wall_seconds": wall, "evaluations": 100 * seed})
    write(
        results,
        record("rnnlm", "scotch", 4.0, grid="g", lower_bound=1.0),
        record("nmt_2", "scotch", 4.0, grid="g", status="oom"),
    )
    page = other_grids(load_records(results))
    times, taken = page.sections
    assert page.notes[0] == "g on k40: Outcomes: 4 ok, 1 OOM."
    assert times.header == ("task", "GPUs", "mine", "scotch", "lower bound", "best / bound")
    assert times.rows == (
        ("nmt_2", "2", "not run", "OOM", "0.05", "-"),
        ("rnnlm", "2", "**2 [1.5-3, n=3]**", "4", "1.2", "1.25"),
    )
    assert [row[2] for row in taken.rows] == ["-", "100 in 20.0 s"]


def test_nothing_is_so_far_from_a_bound_of_no_time(results):
    write(results, record("rnnlm", "scotch", 0.0, grid="g", lower_bound=0.0))
    [row] = other_grids(load_records(results)).sections[0].rows
    assert row[2:] == ("0", "0", "-")


def test_a_placer_that_fails_with_a_seed_is_not_in_bold(results):
    write(
        results,
        record("rnnlm", "mine", 1.0, grid="g"),
        record("rnnlm", "mine", 1.0, 1, grid="g", status="oom"),
        record("rnnlm", "scotch", 4.0, grid="g"),
    )
    times, _ = other_grids(load_records(results)).sections
    assert times.rows[0][2:4] == ("1 [1-1, n=1, 1 OOM]", "4")


def test_the_terminal_shows_the_step_times_of_each_grid_that_no_table_is_of(results):
    write(results, record("rnnlm", "mine", 1.0, grid="a"), record("nmt_2", "mine", 2.0, grid="b"))
    lines = other_grids(load_records(results)).text().splitlines()
    heads = [line for line in lines if line and not line.startswith("|")]
    assert heads == [
        "Grids that no other table is of",
        "a on k40: step time",
        "b on k40: step time",
    ]


def test_the_page_of_other_grids_cannot_be_had_alone(results, tmp_path):
    write(results, record("rnnlm", "mine", 1.0, grid="a"))
    with pytest.raises(InputError, match="leave out --only"):
        write_reports(results, tmp_path / "reports", only=["other_grids"])


def table_of(title, found):
    section = Section("", ("a",), (("b",),))
    return Table(title, "", (section,), (), pd.DataFrame(), 5, found)


def test_the_terminal_shows_what_has_records_and_the_readmes_table_last():
    tables = {"hdp_table1": table_of("HDP", 3), "z": table_of("Z", 1)}
    text = Report(tables, (), (), {}, {}, ()).text
    assert text == "Z\n\n| a |\n|---|\n| b |\n\nHDP\n\n| a |\n|---|\n| b |\n"


@pytest.fixture
def added(tmp_path):
    """Add a module of this name to tables or plots, for the time of a test."""
    import suite.report.plots
    import suite.report.tables

    packages = {"tables": suite.report.tables, "plots": suite.report.plots}
    names = []
    for kind, package in packages.items():
        (tmp_path / kind).mkdir()
        package.__path__.append(str(tmp_path / kind))

    def add(kind, name, text):
        (tmp_path / kind / f"{name}.py").write_text(text)
        names.append(f"suite.report.{kind}.{name}")

    yield add
    for kind, package in packages.items():
        package.__path__.remove(str(tmp_path / kind))
    for name in names:
        sys.modules.pop(name, None)


MADE_UP = """\
import pandas as pd
from suite.report.table import Section, Table
def table(records, published):
    count = Section("Count", ("n",), ((str(len(records)),),))
    return Table("Made up", "Lead.", (count,), (), pd.DataFrame({"n": [1]}), 1, 1)
"""

FAILING = [
    (
        "tables",
        "reads",
        "def table(records, published):\n    return records['no']\n",
        "KeyError: 'no' (reads.py:2)",
    ),
    (
        "tables",
        "broken",
        "def table(records\n",
        "cannot import suite.report.tables.broken: SyntaxError:",
    ),
    (
        "tables",
        "empty",
        "",
        "AttributeError: module 'suite.report.tables.empty' has no attribute 'table'",
    ),
    (
        "tables",
        "nothing",
        "def table(records, published):\n    pass\n",
        "table() of nothing.py gives NoneType; let it return a Table",
    ),
    (
        "tables",
        "floats",
        MADE_UP.replace("(str(len(records)),)", "(1.0,)"),
        "TypeError: Count: a cell is 1.0, no text; format it",
    ),
    (
        "tables",
        "noted",
        MADE_UP.replace("(count,), ()", "(count,), 'one'"),
        "TypeError: notes is of type str; give a tuple of str",
    ),
    (
        "tables",
        "commas",
        MADE_UP.replace("(count,), ()", "(count), ()"),
        "TypeError: sections is of type Section; give a tuple of Section",
    ),
    (
        "tables",
        "blank",
        MADE_UP.replace("(count,), ()", "(), ()"),
        "ValueError: there are records and no",
    ),
    (
        "tables",
        "counted",
        MADE_UP.replace("1, 1)", "'1', 1)"),
        "TypeError: expected is of type str; give a whole number",
    ),
    (
        "tables",
        "sums",
        f"{MADE_UP}def summary(records):\n    return 1 / 0\n",
        "ZeroDivisionError: division by zero (sums.py:7)",
    ),
    (
        "plots",
        "draws",
        "TITLE, TABLES = 'A', ('made_up',)\ndef plot(records, published):\n    return {}[3]\n",
        "KeyError: 3 (draws.py:3)",
    ),
    (
        "plots",
        "letters",
        "TITLE, TABLES = 'A', ('made_up')\ndef plot(records, published):\n    return 1\n",
        "TABLES of the plot is 'made_up'; give a tuple of tables' names",
    ),
    (
        "plots",
        "typo",
        "TITLE, TABLES = 'A', ('made_down',)\ndef plot(records, published):\n    return 1\n",
        "no table 'made_down'; did you mean 'made_up'?",
    ),
    (
        "plots",
        "needy",
        "import not_there\n",
        "cannot import suite.report.plots.needy: ModuleNotFoundError",
    ),
]


def test_new_tables_and_plots_are_found_and_one_that_fails_costs_itself_alone(
    results, tmp_path, capsys, added
):
    added("tables", "made_up", MADE_UP)
    for kind, name, text, _ in FAILING:
        added(kind, name, text)
    write(results, record("rnnlm", "scotch", 1.0, grid="mine"))
    output = tmp_path / "reports"
    assert main(["report", "--results", str(results), "--output", str(output)]) == 2
    printed = capsys.readouterr()
    for _, name, _, told in FAILING:
        assert f"{name} is not written: {told}" in printed.out
    names = "blank, broken, commas, counted, empty, floats, noted, nothing, reads"
    names += ", letters, needy, typo, sums, draws"
    assert printed.err == f"placebench: error: not written: {names}; see above, mend their files\n"
    assert "| 1 |" in (output / "made_up.md").read_text()
    assert "[Made up](made_up.md)" in (output / "README.md").read_text()
    assert not [f.name for _, n, _, _ in FAILING for f in output.glob(f"{n}.*") if n != "sums"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = \n", "cannot import suite.report.tables.own: SyntaxError"),
        ("import not_there\n", "cannot import suite.report.tables.own: ModuleNotFoundError"),
        ('GRIDS = "quick"\n', "table own: GRIDS is 'quick'; give a tuple"),
        ("GRIDS = 5\n", "table own: GRIDS is 5; give a tuple"),
        ("GRIDS = (5,)\n", "table own: GRIDS is (5,); give a tuple"),
        ("GRIDS = ()\n", "table own is not made from a grid"),
        ('GRIDS = ("quick", "mine")\n', "table own is of grid 'mine', of which suite/grids has no"),
    ],
)
def test_a_table_that_names_no_grids_is_refused_where_they_are_to_run(
    tmp_path, capsys, added, text, told
):
    added("tables", "own", text)
    assert main(["bench", "own", "--output", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"placebench: error: {told}")
    assert said.count("\n") == 1


def test_a_copied_folder_does_not_count_twice(results):
    write(results, record("rnnlm", "scotch", 1.0))
    shutil.copytree(results / "quick", results / "backup")
    with pytest.raises(InputError, match=r"backup/.*seed0\.json is the record of quick/.*a copy"):
        load_records(results)


def test_a_broken_record_is_named(results):
    write(results, record("rnnlm", "scotch", 1.0))
    path = results / "quick/k40/2gpu/rnnlm/scotch/seed0.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(InputError, match=r"seed0\.json is not whole"):
        load_records(results)


def test_an_unknown_table_is_refused(results):
    with pytest.raises(InputError, match="hdp_table1"):
        build_table("hdp_table_1", results)
