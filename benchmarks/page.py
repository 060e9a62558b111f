"""The page of Markdown that a benchmark leaves beside itself."""

from __future__ import annotations

from pathlib import Path

from suite.report.table import Section


def write_page(script: str, grid: Section) -> None:
    """Write ``script.md``: the section's title as its heading, its lead, its table."""
    text = f"# {grid.title}\n\n{grid.lead}\n\n{grid.markdown()}\n"
    Path(script).with_suffix(".md").write_text(text, encoding="utf-8")
