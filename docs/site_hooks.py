"""What makes the repository's own pages a site: it adds pages from beside docs/, and mends links.

Links between the pages are written as they hold in the repository; in the site, docs/ is the root.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
BESIDE = ("CONTRIBUTING.md", "reports/*.*", "benchmarks/*.md")
_UP = re.compile(r"\]\(\.\./(?=(?:reports|benchmarks)/|CONTRIBUTING)")
_DOWN = re.compile(r"\]\(docs/")
_ROLE = re.compile(r":(?:meth|func|class|mod|attr|data|exc):(?=<code>)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and data that lie beside docs/."""
    for pattern in BESIDE:
        for path in sorted(set(ROOT.glob(pattern)) - {ROOT / "reports/report.html"}):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Make links hold in the site."""
    if "/" in page.file.src_uri:
        return markdown.replace("](../docs/", "](../")
    return _DOWN.sub("](", _UP.sub("](", markdown))


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Leave out the roles of docstrings, which only Sphinx knows."""
    return _ROLE.sub("", html)
