"""The committed reports are what the committed records say."""

import importlib
import json
import re
from functools import cache
from pathlib import Path

import pytest

from suite.bench.grid import planned_cells
from suite.bench.record import records_below
from suite.formats.policy_file import PolicyFile
from suite.report.build import table_of
from suite.report.load_records import load_published, load_records
from suite.report.table_grids import load_grids
from suite.search.registry import modules

ROOT = Path(__file__).parent.parent


@cache
def loaded():
    """All records and all published figures."""
    return load_records(ROOT / "results"), load_published()


@pytest.mark.parametrize("name", modules("suite.report.tables"))
def test_the_report_follows_from_the_records(name):
    table = table_of(name, *loaded())
    if not table.found:
        assert not list((ROOT / "reports").glob(f"{name}.*"))
        return
    assert table.markdown() == (ROOT / f"reports/{name}.md").read_text("utf-8")
    assert table.csv() == (ROOT / f"reports/{name}.csv").read_text("utf-8")


def test_pages_say_which_commands_make_their_cells():
    """Together the commands run all cells of the page's grids, and nothing else."""
    found = 0
    for name in modules("suite.report.tables"):
        grids = getattr(importlib.import_module(f"suite.report.tables.{name}"), "GRIDS", ())
        page = ROOT / f"reports/{name}.md"
        if not grids or not page.exists():
            continue
        last = page.read_text("utf-8").splitlines()[-1]
        run = re.findall(r"`placebench bench (\w+)`", last)
        cells = {job.cell for grid in run for job in load_grids(grid).jobs}
        assert cells == {cell for grid in grids for cell in planned_cells(grid)}, name
        assert all(f"`{machine}`" in last for machine in {cell.machine for cell in cells})
        found += 1
    assert found > 20


def test_records_start_from_the_policies_that_are_here():
    """A policy that is trained anew makes the records of the old one outdated."""
    digest = cache(lambda policy: PolicyFile.load(ROOT / policy).digest)
    records = ((path, json.loads(path.read_bytes())) for path in records_below(ROOT / "results"))
    other = [
        path
        for path, record in records
        if record.get("policy")
        and record["policy"]["digest"] != digest(record["parameters"]["policy"])
    ]
    assert other == []


def test_the_searches_of_another_grid_go_on_where_those_of_reference_end():
    """What the tables of Post's claims and of annealing say of `hdp_tuned`."""
    records = loaded()[0]
    mine = records[(records["placer"] == "hdp_tuned") & (records["machine"] == "k40")]
    searches = {
        (grid, task, gpus, seed): (parameters, [[n, best] for n, _, best in history if n <= 1000])
        for grid, task, gpus, seed, parameters, history in mine[
            ["grid", "task", "gpus", "seed", "parameters", "history"]
        ].itertuples(index=False)
    }
    short = {cell: made for cell, made in searches.items() if cell[0] == "reference"}
    assert len(short) == 18
    for cell, made in short.items():
        assert searches["equal_evaluations", *cell[1:]] == made
