"""Links between the pages of the repository lead to files, and to headings that are there."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "docs", "docs/guide", "docs/reference", "proofs", "examples", "experiments", "experiments/*")
PAGES = sorted(
    path
    for folder in FOLDERS
    for ending in ("*.md", "*.ipynb")
    for path in ROOT.glob(f"{folder}/{ending}".lstrip("/"))
)
_LINK = re.compile(r"\]\(([^()\s#]*)(?:#([^()\s]*))?\)")


@cache
def prose(path: Path) -> str:
    """Return a page without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^( *)(```|~~~).*?^\1\2$", "", text, flags=re.DOTALL | re.MULTILINE)


@cache
def headings(path: Path) -> set[str]:
    """Return what links call a page's headings: small letters, dashes for spaces, no other signs."""
    found = re.findall(r"^#+ (.*)$", prose(path), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_s_links_lead_somewhere(page: Path) -> None:
    for target, heading in _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page))):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {target}, which is not there"
        if heading and path.suffix == ".md":
            assert heading in headings(path), (
                f"{page.name} links to {target}#{heading}, a heading that is not there"
            )


def test_the_check_reads_all_pages() -> None:
    assert len(PAGES) > 50
    assert sum(len(_LINK.findall(prose(page))) for page in PAGES) > 200
