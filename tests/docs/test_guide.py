"""Every example of the guide, and of the pages that show all their output, prints what is below it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import FENCE, Shown, run, written

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = sorted(str(path.relative_to(DOCS)) for path in (DOCS / "guide").glob("*.md"))
PAGES = [
    *GUIDE,
    *("concentrated.md", "framework.md", "joins.md", "local.md", "privacy_units.md", "publish.md"),
    "questions.md",
]
NOT_RUN = {"text", "toml", "csv"}
"""What is shown or written to a file, and not run."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_s_examples_print_what_is_below_them(page: str) -> None:
    for shown in run(DOCS / page):
        assert shown.matches, f"the page says:\n{shown.stated}\nwhat is printed:\n{shown.printed}"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_block_that_nobody_runs(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert 2 * len(FENCE.findall(text)) == sum(line.startswith("```") for line in text.splitlines())
    for block in FENCE.finditer(text):
        if block["language"] not in ("python", "console"):
            assert block["title"] or block["language"] in NOT_RUN, block[0]


def test_dots_stand_for_anything_and_other_words_for_themselves() -> None:
    assert Shown((0, 0), "a\n...\nz ... q\n", "a\nb\nc\nz 1 q\n").matches
    assert not Shown((0, 0), "a\n", "a\nb\n").matches
    assert not Shown((0, 0), "a.c\n", "abc\n").matches


def test_what_is_printed_is_written_where_the_page_says_otherwise() -> None:
    text = "old\nkept ...\n"
    shown = [Shown((0, 4), "old\n", "new\n"), Shown((4, 13), "kept ...\n", "kept 1\n")]
    assert written(text, shown) == "new\nkept ...\n"
