"""What the README shows is what the reports say, and what it tells to run is what CI runs."""

from pathlib import Path

ROOT = Path(__file__).parent.parent


def tables(path):
    """The Markdown tables of a file, each as its list of lines."""
    found, inside = [], False
    for line in (ROOT / path).read_text("utf-8").splitlines():
        if line.startswith("|"):
            found = [*found, [line]] if not inside else [*found[:-1], [*found[-1], line]]
        inside = line.startswith("|")
    return found


def test_the_readmes_table_is_the_reports():
    assert tables("reports/hdp_table1_tf13.md")[0] in tables("README.md")


def test_ci_runs_the_readmes_test_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "python3 -m tox -e py " in readme
    command = "python3 -m tox run-parallel --parallel-live -e py,lint"
    assert command in (ROOT / ".ci/run").read_text("utf-8")


def test_links_lead_somewhere():
    for path in (
        "README.md",
        "CONTRIBUTING.md",
        *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md")),
    ):
        text = (ROOT / path).read_text("utf-8")
        for part in text.split("](")[1:]:
            target = part.split(")")[0].partition("#")[0]
            assert "://" in target or (ROOT / path).parent.joinpath(target).exists(), target
