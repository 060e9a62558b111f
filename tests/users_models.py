"""Models as users name them on the command line: placed, or refused."""

import json

import pytest

from suite.capture.options import Options
from suite.cli import main
from suite.core.errors import InputError


def placed(capsys, *arguments):
    """The JSON object that ``placebench place ... --json`` prints."""
    assert main(["place", "--machine", "k40", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def outcomes(verdict):
    """Placer -> status of what was compared."""
    return {trial["placer"]: trial["status"] for trial in verdict["comparison"]}


def refused(capture, file, options=None):
    """The one line that tells why ``capture`` takes no such file."""
    with pytest.raises(InputError) as error:
        capture(str(file), options or Options())
    assert "\n" not in str(error.value)
    return str(error.value)
