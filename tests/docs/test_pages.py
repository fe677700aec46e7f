"""What is true of every page: no long line, no link that leads nowhere."""

from __future__ import annotations

import ast
import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "docs", "examples", "experiments", "proofs", "src")
FOUND = [*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))]
PAGES = sorted(str(path.relative_to(ROOT)) for path in FOUND)
LONGEST = 120
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what the headings of a page can be linked by, as sites and repositories spell it."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCED.sub("", text_of(page))):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        plain = unicodedata.normalize("NFC", words).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        times = found[anchor] = found.get(anchor, -1) + 1
        if times:
            found[f"{anchor}-{times}"] = 0
    return frozenset(found)


def links(page: Path) -> list[str]:
    """Return the links of a page, without code."""
    plain = re.sub(r"`[^`\n]*`", "", FENCED.sub("", text_of(page)))
    return LINK.findall(plain)


@pytest.mark.parametrize("page", PAGES)
def test_no_line_is_longer_than_a_page_is_wide(page: str) -> None:
    lines = text_of(ROOT / page).splitlines()
    long = [(number, len(line)) for number, line in enumerate(lines, 1) if len(line) > LONGEST]
    assert not long, f"lines of more than {LONGEST} characters: {long}"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_are_there(page: str) -> None:
    for link in links(ROOT / page):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        there = (ROOT / page).parent / target if target else ROOT / page
        assert there.exists(), link
        if anchor:
            assert anchor in anchors(there), link


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/guide/")])
def test_a_line_of_the_guide_has_one_sentence(page: str) -> None:
    lines = [line for line in FENCED.sub("", text_of(ROOT / page)).splitlines() if not line.startswith("|")]
    assert not [line for line in lines if re.search(r"(?<!^\d)[.!?] [A-Z]", line)]


def test_the_guide_s_list_of_pages_is_whole() -> None:
    guide = ROOT / "docs" / "guide"
    listed = set(links(guide / "README.md"))
    assert {path.name for path in guide.glob("*.md")} - {"README.md"} <= listed


def test_headings_are_linked_as_repositories_spell_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '# `prdp.toml`, and "more"\n## What is not\n## What is not\n```\n# no heading\n```\n',
        encoding="utf-8",
    )
    assert anchors(page) == {"prdptoml-and-more", "what-is-not", "what-is-not-1"}


def test_no_message_names_a_page_by_a_path_that_an_installed_prdp_does_not_have() -> None:
    for path in (ROOT / "src").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        explained = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in explained:
                assert not re.search(r"\bdocs/[\w/]*\.md", node.value), (path.name, node.lineno)
