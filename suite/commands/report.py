"""placebench report: tables and plots from records."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from suite.commands._common import command


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "report",
        "Write every table (Markdown, CSV) and plot (PNG) from the records.",
        "  placebench report\n  placebench report --results results --output reports",
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="records folder")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="where to write")


def run(arguments: argparse.Namespace) -> int:
    """Write the reports, print the tables, and say what is missing."""
    from suite.report.build import write_reports

    report = write_reports(arguments.results, arguments.output)
    print(report.text)
    for line in report.lines:
        print(line)
    return 0
