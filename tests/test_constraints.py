"""constraints.txt says a version of everything that pyproject.toml asks for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PINNED = {
    canonicalize_name(line.partition("==")[0]): line
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
}


def asked_for():
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    extras = project["optional-dependencies"].values()
    lists = [project["dependencies"], *extras, *groups.values()]
    return sorted({text for entries in lists for text in entries if isinstance(text, str)})


@pytest.mark.parametrize("requirement", asked_for())
def test_it_has_a_version_that_the_project_allows(requirement):
    wanted = Requirement(requirement)
    line = PINNED[canonicalize_name(wanted.name)]
    version = re.fullmatch(r"[^=]+==([^ ;]+).*", line)[1]
    assert wanted.specifier.contains(version), line


def test_every_line_is_one_exact_version():
    assert all(re.fullmatch(r"[\w.-]+==[\w.+]+( ; .+)?", line) for line in PINNED.values())
