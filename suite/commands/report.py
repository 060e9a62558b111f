"""placebench report: tables and plots from records."""

from __future__ import annotations

import argparse
from pathlib import Path

from suite.commands._common import RESULTS, Subparsers, command
from suite.core.errors import InputError


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "report",
        "Write every table (Markdown, CSV) and plot (PNG) from the records.",
        "  placebench report\n"
        "  placebench report --only fidelity --only measured\n"
        "  placebench report --html          # reports/report.html: sort, filter, switch, hover\n"
        "  placebench report --results runs --output runs/reports --compare results",
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="records folder")
    parser.add_argument("--output", type=Path, default=Path("reports"), help="where to write")
    parser.add_argument(
        "--html",
        action="store_true",
        help="also write one page with everything, for a browser (pip install 'placebench[html]')",
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TABLE",
        help="write this table and the plots of its records, quickly and without an index"
        " (repeatable)",
    )
    parser.add_argument(
        "--compare", type=Path, metavar="FOLDER", help="say how the records compare with these"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the reports, say what is missing, print the tables, and compare."""
    from suite.bench.record import check_results
    from suite.bench.reference import compare_with_reference
    from suite.report.build import write_reports

    if arguments.compare is not None:
        check_results(arguments.compare)
    if arguments.only and arguments.html:
        raise InputError("--html writes one page with everything; leave out --only")
    report = write_reports(arguments.results, arguments.output, arguments.html, arguments.only)
    for line in report.lines:
        print(line)
    print(f"\n{report.text}")
    if arguments.compare is not None:
        compared = compare_with_reference(arguments.results, arguments.compare)
        print(f"against {arguments.compare}: {compared.line()}")
    if report.failed:
        raise InputError(f"not written: {', '.join(report.failed)}; see above, mend their files")
    return 0
