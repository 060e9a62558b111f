"""The committed reports are what the committed records say."""

from pathlib import Path

import pytest

from suite.report.build import build_table
from suite.search.registry import modules

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", modules("suite.report.tables"))
def test_the_report_follows_from_the_records(name):
    table = build_table(name, ROOT / "results")
    if not table.found:
        assert not list((ROOT / "reports").glob(f"{name}.*"))
        return
    assert table.markdown() == (ROOT / f"reports/{name}.md").read_text("utf-8")
    assert table.csv() == (ROOT / f"reports/{name}.csv").read_text("utf-8")
