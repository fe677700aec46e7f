"""What pages say of the width and coverage of intervals is what the files of the two runs come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from experiments.interval_tables import Pairs, aims, by_kind, paired, read, warmed
from experiments.intervals import DataSet, found
from prdp.plan.queries import Count
from prdp.release.bias import Clipping
from prdp.testing import simulate

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "experiments"
PAIRS = paired(FOLDER / "intervals_before.csv", FOLDER / "intervals_after.csv")
PAGE = (FOLDER / "intervals.md").read_text(encoding="utf-8").splitlines()
QUESTIONS = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8").splitlines()


def rows(lines: Iterable[str]) -> set[str]:
    return {line for line in lines if line.startswith("| ") and "→" in line}


def stated(pairs: Pairs) -> set[str]:
    """Return the rows of kinds, of aims and of warm starts, and the sentences on errors."""
    printed = [*by_kind(pairs), *aims(pairs), *warmed(pairs, read(FOLDER / "intervals_after.csv"))]
    return rows(printed) | {line.rstrip(";") for line in printed if " × " in line}


def test_kinds_aims_errors_and_warm_starts_are_those_of_the_files() -> None:
    assert len(rows(by_kind(PAIRS))) == 24
    assert stated(PAIRS) <= {line.rstrip(";.") for line in PAGE}


def test_the_page_of_questions_repeats_rows_of_groups() -> None:
    repeated = rows(QUESTIONS) & rows(by_kind(PAIRS))
    assert len(repeated) == 12
    assert all("| by group |" in row for row in repeated)


def test_other_widths_are_noticed() -> None:
    wider = [(one, replace(two, width=2 * two.width)) for one, two in PAIRS]
    assert not rows(by_kind(wider)) & set(PAGE)


def test_units_that_are_excluded_count_for_what_they_were_allowed() -> None:
    """One unit has as many rows as all others together: what is said leaves most of them out."""
    others = 3_000
    units = np.concatenate([np.arange(others), np.full(others, others)])
    table = DataSet("t", np.ones(2 * others, np.int64), np.arange(2 * others) % 2, policy="1", units=units)
    group, _ = found(table, "count", grouped=True)
    drawn = simulate(table.table.group_by("g", keys=[0, 1]), Count(), share=1, runs=20, seed=1)
    for answer in (one.releases[0][0] for one in drawn):
        said, same = group.said(answer)
        assert said == same
        assert others / 2 < said < 1.1 * others / 2 < group.truth
        assert isinstance(answer.clipping, Clipping)
        allowed = float(answer.clipping.at * answer.step)  # rows of a unit, whose budget is 1
        assert said == pytest.approx(others / 2 + allowed / 2, abs=1e-3)
