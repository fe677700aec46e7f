"""What the page on SQL shows is what is printed."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.test_readme import ran

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")


def test_every_line_that_the_page_shows_is_printed() -> None:
    shown = re.findall(r"```python\n.*?```\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)
    printed = [line.rstrip() for line in ran("docs/sql.md").splitlines()]
    for line in "".join(shown).splitlines():
        begin = line.partition(" ...")[0].rstrip()
        assert any(found.startswith(begin) for found in printed), line
    assert len(shown) >= 10
