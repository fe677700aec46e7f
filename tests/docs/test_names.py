"""A class's name says which class is meant, wherever in prdp it is read."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import numpy as np

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


RELEASE = {
    *("caveat", "choices", "clip_threshold", "clipped_from", "cv", "exact", "excludes", "flag", "high"),
    *("interval", "kind", "left_out", "low", "method", "noise_scales", "parts", "question", "recorded_at"),
    *("share", "short", "simulated", "std_error", "to_dict", "to_json", "value"),
}


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_completion_of_a_release_lists_what_a_reader_uses() -> None:
    table = prdp.open({"age": np.array([31, 58])}, policy=1, synthetic=True)
    release = table.count(share="1/2")
    assert public(dir(prdp.Release)) == public(dir(release)) == RELEASE
    assert release.steps == release.exact / release.step, "internals are hidden, not gone"


def test_completion_of_a_table_lists_queries_and_declarations() -> None:
    table = prdp.open({"age": np.array([31, 58])}, policy=1, synthetic=True)
    for names in (public(dir(prdp.Table)), public(dir(table)), public(dir(prdp.Join))):
        assert {"count", "filter", "group_by", "remaining", "schema", "sql"} <= names
        assert not names & {"planner", "unit", "condition", "filtered", "answer_plan", "internals"}
