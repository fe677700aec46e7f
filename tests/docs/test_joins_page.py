"""What the page on joins shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/joins.md").read_text(encoding="utf-8")


def _starts_an_answer(line: str) -> bool:
    """Say whether a line is an answer's first; a table's others have no such word."""
    return (
        re.match(r"(count|sum|max|rows|edges|paths|stars|triangles)\b[^:]*( over |:| \(share)", line)
        is not None
    )


def test_the_page_s_examples_run_as_printed() -> None:
    examples = "".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", examples], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    asked = [line.partition(": ")[0] for line in ran.stdout.splitlines() if _starts_an_answer(line)]
    assert asked == [
        "count over customers, orders",
        "sum of price * 1.19 over customers, orders, items, shops where town = 'Bonn'",
        "count, mean of price over customers, orders, items, shops (share 1/10)",
        "count over customers, orders (share 1/10)",
        "max of price over customers, orders, items",
        "rows by patient and doctor",
        "rows by patient and doctor where cost >= 100",
        "rows by id and manager where salary >= 5000",
        "edges",
        "paths of 2 edges",
        "paths of 2 edges",
        "stars of 3 edges",
        "triangles",
    ]


def test_the_page_s_links_and_commands_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for module in re.findall(r"python -m ([\w.]+)", PAGE):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
