"""A class's name says which class is meant, wherever in prdp it is read."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import prdp

SOURCE = Path(__file__).parents[2] / "src" / "prdp"


def homes_of_public_classes() -> dict[str, set[str]]:
    homes: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(str(path.relative_to(SOURCE)))
    return homes


def test_no_two_public_classes_have_the_same_name() -> None:
    homes = homes_of_public_classes()
    shared = {name: files for name, files in homes.items() if len(files) > 1}
    assert not shared, f"rename one of each: {shared}"


def test_the_top_level_has_few_names() -> None:
    assert len(prdp.__all__) <= 40
    assert dir(prdp) == sorted(prdp.__all__)
    assert all(getattr(prdp, name) is not None for name in prdp.__all__)
