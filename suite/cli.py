"""The command line. Bad input: one line on stderr, exit code 2, no traceback."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import NoReturn, TextIO

from suite.commands._checks import check_written
from suite.commands._stopped import Stopped, stoppable
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.one_line import say_on_one_line, warn_on_one_line

COMMANDS = (
    *("bench", "report", "place", "train", "simulate", "run", "export", "graph", "workload"),
    *("profile", "host", "serve", "fidelity", "verify", "rescore", "rebound", "gate", "list"),
)

EXAMPLES = """examples:
  placebench bench quick              run a grid; a second call runs only what is missing
  placebench report                   write tables and plots into reports/
  placebench place nmt_2 --gpus 2 --placer scotch
  placebench train gdp --placer gdp_tuned --output gdp.npz    one policy from several graphs
  placebench simulate nmt_4 --gpus 4 --placer human_expert --trace nmt_4.json
  placebench run net:step --machine two_cores --placement net.json    for real, beside simulated
  placebench export net:step --machine two_cores --placement net.json --output placed
  placebench profile two_cores --cpus 2    measure this host into a machine
  placebench host my_gpus             check this GPU host, profile it, run on it, report
  placebench graph nmt_8              how large the graph is, beside the paper's
  placebench list                     placers, tasks, machines, grids, tables
  placebench list hdp                 a placer's parameters, or what a task, machine or grid is
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong on one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"placebench: error: {message}; see {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Build the argument parser; each subcommand's module declares its own part."""
    top = _Parser(
        prog="placebench",
        description="The benchmark and the baselines of device placement.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        importlib.import_module(f"suite.commands.{name}").add(commands)
    return top


FULL = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a file that takes no more."""
LIMITS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM)
"""Errors of a system that gives no more files, processes or memory."""
KEEPING = ("bench", "fidelity", "host", "workload")
"""Commands that leave a record of each cell as it is done, and go on from there."""


class _Version(argparse.Action):
    """Print the installed version and leave."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"placebench {version('placebench')}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run placebench; return the exit code. ``--help`` and wrong arguments leave at once."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    _mend_streams()
    command = ""
    try:
        try:
            arguments = _parsed(argv)
        finally:
            sys.stdout.flush()  # --help and --version leave from within
        command = arguments.command
        warn_on_one_line()
        check_written(arguments)
        with stoppable():
            code: int = importlib.import_module(f"suite.commands.{command}").run(arguments)
        sys.stdout.flush()
        return code
    except (InputError, Unsupported, BudgetExhausted) as error:
        return _say(f"error: {error}", 2)
    except KeyboardInterrupt as error:
        kept = "; finished cells are kept" * (command in KEEPING)
        number = error.number if isinstance(error, Stopped) else signal.SIGINT
        return _say(f"interrupted{kept}", 128 + number)
    except BrokenPipeError:
        _print_nowhere()
        return 141
    except OSError as error:
        if error.filename is not None:
            advice = "check the path, and the room there"
            if isinstance(error, FileExistsError):  # mkdir, where a file has the name
                advice = "a folder is to be there; give another path"
            return _say(f"error: cannot use {error.filename}: {error.strerror}; {advice}", 2)
        if error.errno in LIMITS:
            advice = "raise the limits (ulimit -a), or run less at a time"
            return _say(f"error: the system refuses: {error.strerror}; {advice}", 2)
        if error.errno not in FULL:
            raise
        _print_nowhere()
        return _say(f"error: cannot write what is printed: {error.strerror}; make room", 2)
    except RuntimeError as error:
        if type(error).__name__ != "NativeCrash":
            raise
        return _say(f"error: {error}", 1)


def _parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; where there is one too many, it is the help of the command that lists them."""
    top = parser()
    arguments, others = top.parse_known_args(argv)
    if others:
        top.prog += f" {arguments.command}"
        top.error(f"unrecognized arguments: {' '.join(others)}")
    return arguments


def _mend_streams() -> None:
    """Have all three standard streams, which print every name.

    Whoever started this may have closed one: then the next file that is opened would get its
    number, and what native code logs would go into that file. A character that the stream's
    encoding lacks is printed as its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
    for number, name in ((1, "stdout"), (2, "stderr")):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
        elif isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _print_nowhere() -> None:
    """Let what is still to be printed vanish: Python tries once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str, code: int) -> int:
    with suppress(OSError):  # the code is said, where nobody can be told in words
        say_on_one_line(message)
    return code


if __name__ == "__main__":
    sys.exit(main())
