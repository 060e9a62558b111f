"""Entries of files: what is well, and one line for what is not."""

import sys

import pytest

from suite.core.errors import InputError
from suite.core.units import LARGEST
from suite.formats.schema import check_fields, shown

KNOWN = {"name": (str,), "bytes": (int,), "rate": (int, float), "on": (bool,), "of": (list, str)}
WELL = {"name": "a", "bytes": 3, "rate": 0.5, "on": True, "of": []}


@pytest.mark.parametrize(
    "change",
    [
        *[{"bytes": LARGEST}, {"bytes": -LARGEST}, {"rate": 3}, {"rate": 1e300}, {"of": "x"}],
        # A rate may be beyond any number of bytes.
        *[{"rate": LARGEST + 1}, {"rate": -(10**300)}],
    ],
)
def test_what_is_well_is_let_through(change):
    check_fields(WELL | change, KNOWN, ("name", "bytes"), "it")
    check_fields({"name": "a", "bytes": 3}, KNOWN, ("name", "bytes"), "it")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([WELL], "it is [{'name': 'a', 'bytes': 3, 'rate': 0...., not an object"),
        (WELL | {"byte": 3}, "it has the unknown key 'byte'; known: name, bytes, rate, on, of"),
        ({"name": "a", "rate": 0.5}, "it has no 'bytes'; add it"),
        (WELL | {"name": None}, "it: name is None; give text"),
        (WELL | {"bytes": 3.0}, "it: bytes is 3.0; give a whole number"),
        (WELL | {"bytes": True}, "it: bytes is True; give a whole number"),
        (WELL | {"rate": False}, "it: rate is False; give a number"),
        (WELL | {"rate": "1"}, "it: rate is '1'; give a number"),
        (WELL | {"on": 1}, "it: on is 1; give true or false"),
        (WELL | {"of": {}}, "it: of is {}; give a list"),
        (WELL | {"bytes": LARGEST + 1}, f"it: bytes is {LARGEST + 1}, which is too large"),
        (WELL | {"bytes": -LARGEST - 1}, f"it: bytes is {-LARGEST - 1}, which is too large"),
        (WELL | {"rate": 10**301}, f"it: rate is 1{'0' * 36}..., which is too large"),
        (WELL | {"rate": -(10**301)}, f"it: rate is -1{'0' * 35}..., which is too large"),
    ],
)
def test_what_is_not_well_is_one_line(entry, message):
    with pytest.raises(InputError) as refused:
        check_fields(entry, KNOWN, ("name", "bytes"), "it")
    assert str(refused.value).startswith(message)


def test_a_value_is_shown_in_40_letters():
    assert shown("a" * 38) == f"'{'a' * 38}'"
    assert shown("a" * 39) == f"'{'a' * 36}..."
    assert shown(10 ** sys.get_int_max_str_digits()) == "a very long number"
