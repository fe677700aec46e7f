"""docs/paper.md says what the last full run came to, and the code still comes to it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.paper.answering import BY_NAME
from experiments.paper.docs_tables import PAGE, RESULTS, TABLES, read, rewritten, taken
from experiments.paper.setting import Setting
from experiments.problem import Question
from experiments.yardsticks import trimmed

FOUND = read(RESULTS.read_text(encoding="utf-8"))
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_s_tables_are_those_of_the_results() -> None:
    assert rewritten(TEXT, FOUND) == TEXT, "run python -m experiments.paper.docs_tables"


def test_a_figure_that_has_changed_is_noticed() -> None:
    key = ("table_3", "Normal(50k)", "max", "default")
    other = {**FOUND, key: replace(FOUND[key], trimmed=2 * FOUND[key].trimmed)}
    assert rewritten(TEXT, other) != TEXT


def test_what_was_not_run_again_keeps_its_figures_and_its_commit(tmp_path: Path) -> None:
    before = RESULTS.read_text(encoding="utf-8")
    assert taken(tmp_path, "another", before) == before


def test_every_table_has_its_place_on_the_page() -> None:
    for name in TABLES:
        with pytest.raises(ValueError, match=name):
            rewritten(TEXT.replace(f"<!-- table: {name} -->", ""), FOUND)


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("count", "default"),
        ("sum", "default"),
        ("max", "default"),
        ("count", "Algorithm 1"),
        ("sum", "Algorithm 2"),
        ("max", "Algorithm 2"),
    ],
)
def test_the_code_still_comes_to_the_figures_that_are_kept(question: Question, method: str) -> None:
    """With another seed: a mechanism that has changed must be run again before the page may say so."""
    problem = Setting("Normal(50k)", question=question).problem(None)
    here, error = trimmed(problem.errors(BY_NAME[method].answers(problem, 400, 12345)))
    kept = FOUND["table_3", "Normal(50k)", question, method]
    assert abs(here - kept.trimmed) < 5 * math.hypot(error, kept.standard_error)
    assert np.isfinite(kept.p99)
