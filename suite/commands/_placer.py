"""--placer and its parameters: the placer that a command line names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from suite.commands._common import count, duration
from suite.core.errors import BudgetExhausted, InputError, Unsupported


def parameters_of(pairs: list[str]) -> dict[str, Any]:
    """Read ``name=value`` pairs, values as TOML (numbers, true, "text")."""
    import tomllib

    from suite.formats.schema import shown
    from suite.formats.toml_file import parse_toml

    values: dict[str, Any] = {}
    for pair in pairs:
        try:
            values |= parse_toml(pair, f"--set {shown(pair)}")
        except tomllib.TOMLDecodeError:
            name, equals, text = pair.partition("=")
            if not equals:
                raise InputError(f"--set {pair}: write name=value") from None
            values[name.strip()] = text.strip()
    return values


def add_placer_arguments(parser: argparse.ArgumentParser, unnamed: str) -> None:
    """--placer, --set, --seed, --evaluations, --seconds; ``unnamed`` says what is done without."""
    parser.add_argument("--placer", help=f"placer (placebench list); {unnamed}")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of the placer (placebench list PLACER has them)",
    )
    parser.add_argument("--seed", type=count, default=0, help="random seed (0)")
    parser.add_argument("--evaluations", type=count, help="budget of evaluated placements")
    parser.add_argument("--seconds", type=duration, help="budget of seconds, for searches")


def placer_of(arguments: argparse.Namespace) -> Any:
    """Make the placer that the arguments name; InputError lists names or parameters."""
    from suite.bench.parameters import check_types
    from suite.search.registry import make_placer

    parameters = parameters_of(arguments.set)
    check_types(arguments.placer, parameters)
    return make_placer(arguments.placer, parameters)


@contextmanager
def telling_failures(name: str, placer: object) -> Iterator[None]:
    """Raise InputError, which names the line, where a placer fails that may be somebody else's.

    What the command line has words for passes through, and what fails in ``baselines/`` or
    ``planners/``: that is a mistake of ours, and its traceback tells more.
    """
    from suite.search.registry import failure, is_shipped
    from suite.search.subprocess_call import NativeCrash

    try:
        yield
    except (InputError, Unsupported, BudgetExhausted, OSError, NativeCrash):
        raise
    except Exception as error:
        if is_shipped(name):
            raise
        said = failure(error, type(placer).__module__)
        raise InputError(f"placer {name} fails: {said}; mend it") from error
