"""What an installed package can do without its checkout."""

import os
import subprocess
import sys
import zipfile

from command_line import ROOT
from suite_records import record, write


def test_an_installed_package_reports_records_made_elsewhere(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    elsewhere = tmp_path / "elsewhere"
    write(elsewhere / "mine", record("inception_v3", "cpu_only", 0.6283))
    command = [sys.executable, "-P", "-m", "suite.cli", "report", "--results", "mine"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "| Inception-V3  | 0.63 (0.61, x1.03) |" in done.stdout
    assert (elsewhere / "reports" / "hdp_table1.md").exists()
