"""What a table says of the machines that its records are of."""

from suite_records import record, write

from suite.formats.machine_toml import MACHINES
from suite.report.load_records import load_records
from suite.report.tables._notes import machines


def planted(folder, grid, source):
    """A record of a machine that is kept beside it, as of a grid that is run for real."""
    cell = record("nmt_4", "metis", 0.2)["cell"] | {"grid": grid, "machine": "here"}
    write(folder, record("nmt_4", "metis", 0.2) | {"cell": cell})
    lines = (MACHINES / "workstation.toml").read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("[origin]"))
    text = "\n".join([f'name = "here"\nsource = "{source}"', *lines[start:]])
    (folder / grid / "here" / "machine.toml").write_text(text)


def test_grids_of_other_days_have_their_own_machines(tmp_path):
    planted(tmp_path, "first", "Monday's profile")
    planted(tmp_path, "second", "Monday's profile")
    assert machines(load_records(tmp_path)) == ["Machine here: Monday's profile."]
    planted(tmp_path, "third", "Friday's profile")
    assert machines(load_records(tmp_path)) == [
        "Machine here, grid `first`, `second`: Monday's profile.",
        "Machine here, grid `third`: Friday's profile.",
    ]
