"""What the page is drawn with: Vega-Lite in the browser, and printed text as HTML."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable
from functools import cache
from html import escape
from importlib import import_module
from importlib.resources import files

from suite.core.errors import InputError

MODULES = ("vl_convert", "markdown_it")
"""What the extra ``html`` brings."""
_ENDS = re.compile(r"</script|<!--", re.IGNORECASE)


def check_libraries() -> None:
    """InputError where one of the libraries is not installed."""
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"--html needs {' and '.join(missing)}; pip install 'placebench[html]'")


def vega() -> str:
    """Return JavaScript that defines ``vegaEmbed``, with the licences of what is in it."""
    # Not an import: its stub forgets that the argument has a default.
    code: str = import_module("vl_convert").javascript_bundle()
    return f"/*\n{asset('LICENSES.txt')}*/\n{in_script(code)}"


def asset(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("suite.report.page").joinpath(name).read_text("utf-8")


def in_script(code: str) -> str:
    """Keep JavaScript from ending the script element it stands in; its meaning stays the same."""
    return _ENDS.sub(lambda found: f"<\\{found[0][1:]}", code)


def json_text(value: object) -> str:
    """JSON for a script element; ValueError where a number is infinite or none."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


@cache
def renderer() -> Callable[[str], str]:
    """Return what renders a printed line: its emphasis, code and links, everything else escaped."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False})

    def render(text: str) -> str:
        return str(parser.renderInline(text)) if any(c in text for c in "*`[") else escape(text)

    return render
