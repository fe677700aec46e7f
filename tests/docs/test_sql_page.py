"""What the page on SQL shows is what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")


def test_every_line_that_the_page_shows_is_printed() -> None:
    examples = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    shown = re.findall(r"```python\n.*?```\n\n```\n(.*?)```", PAGE, flags=re.DOTALL)
    printed = [line.rstrip() for line in ran.stdout.splitlines()]
    for line in "".join(shown).splitlines():
        begin = line.partition(" ...")[0].rstrip()
        assert any(found.startswith(begin) for found in printed), line
    assert len(shown) >= 10
