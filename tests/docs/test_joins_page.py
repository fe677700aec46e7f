"""The page on joins leads somewhere; that its examples print what it shows is tested with the guide."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/joins.md").read_text(encoding="utf-8")


def test_the_page_s_links_and_commands_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([\w./]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
    for module in re.findall(r"python -m ([\w.]+)", PAGE):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
