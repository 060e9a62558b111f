"""``placebench workload``: what it prints, records and refuses."""

import json

import pytest
from command_line import placebench
from small_workloads import document, edge, node

from suite.bench.verify import verify
from suite.cli import main
from suite.report.load_records import load_records
from suite.report.tables.tarnawski_throughput import table

CHAIN = document([node(i, size=1) for i in range(4)], [edge(i, i + 1) for i in range(3)])


@pytest.fixture
def chain(tmp_path):
    """A chain of four nodes of 1 ms whose outputs take 0.5 ms."""
    path = tmp_path / "workloads" / "layer_chain.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CHAIN))
    return path


def test_an_answer_says_all_that_was_asked(chain, capsys):
    assert main(["workload", str(chain), "--algorithm", "dp", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    # Two nodes on each accelerator, one output sent and received.
    assert (answer["objective"], answer["status"], answer["bound"]) == (2.5, "optimal", 2.5)
    assert answer["seconds"] >= 0
    assert [part["nodes"] for part in answer["split"]["fpgas"]] == [[0, 1], [2, 3]]
    assert answer["split"]["cpus"] == [{"load": 0.0, "nodes": []}]


def test_a_folder_of_workloads_becomes_a_table(chain, tmp_path, capsys):
    experts = tmp_path / "experts"
    experts.mkdir()
    split = {"fpgas": [{"nodes": [0]}, {"nodes": [1, 2, 3]}], "cpus": []}
    (experts / "chain_expert.json").write_text(json.dumps(split))
    results = tmp_path / "results"
    options = ["--algorithm", "all", "--experts", str(experts), "--output", str(results)]
    assert main(["workload", str(chain.parent), *options]) == 0
    assert "layer_chain throughput expert: 3.5 ms" in capsys.readouterr().out
    records = load_records(results)
    page = table(records, records.iloc[:0])
    rows = {row[2]: row[3:7] for row in page.sections[0].rows}
    assert rows["dp"] == ("2.500", "2.500", "0.0 %", "optimal")
    assert rows["cpu"][0] == "40.000"
    assert page.found == page.expected == len(records)
    assert list(verify(results)) == []


def test_without_records_the_table_says_so(tmp_path):
    records = load_records(tmp_path)
    assert table(records, records).sections[0].rows[0][0] == "no records"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "dpp"], "did you mean 'dp"),
        (["--algorithm", "dp", "--ideals", "2"], "more than 2 ideals"),
        (["--algorithm", "expert"], "no expert split"),
        (["--gap", "-1"], "no number >= 0"),
    ],
)
def test_what_cannot_be_done_is_one_line(chain, arguments, message):
    done = placebench("workload", chain, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
