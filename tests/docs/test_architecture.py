"""ARCHITECTURE.md draws the tree and a question's way as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.tree import SUM, traces

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_drawn_way_of_a_sum_is_the_one_that_is_gone() -> None:
    drawing = TEXT.split("## The way of a query")[1].split("```")[1]
    drawn = [tuple(line.split()[:2]) for line in drawing.strip().splitlines()]
    gone = [tuple(frame.split(":")) for frame in traces(ROOT)[SUM]["way"]]
    assert drawn == gone


def test_every_package_and_no_other_is_in_the_drawn_tree() -> None:
    rows = TEXT.split("## The tree")[1].split("\n\n")[1].splitlines()[2:]
    drawn = [name for row in rows for name in re.findall(r"`(\w+(?:/|\.py))`", row.split("|")[1])]
    home = ROOT / "src" / "prdp"
    packages = [f"{path.parent.name}/" for path in home.glob("*/__init__.py")]
    shown = {path.name for path in home.glob("*.py")} - {"__init__.py", "__main__.py", "version.py"}
    assert sorted(drawn) == sorted([*packages, *shown])


def test_every_place_for_a_new_line_is_there() -> None:
    rows = TEXT.split("Where a new line goes:")[1].split("\n\n")[1]
    named = re.findall(r"`([\w/]+(?:\.py|/))`", rows)
    assert "plan/methods.py" in named
    homes = (ROOT, ROOT / "src" / "prdp", ROOT / "src" / "prdp" / "engines" / "sources")
    assert [name for name in named if not any((home / name).exists() for home in homes)] == []
