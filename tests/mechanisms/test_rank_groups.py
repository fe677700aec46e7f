"""Quantiles of groups side by side are those of each group's own summary, byte for byte of what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prdp
import prdp.mechanisms._rank_groups
from prdp.cells.groups import SummaryGroups
from prdp.cells.summary import Cell, CellKey, Summary, magnitude_key, magnitudes
from prdp.levels import FINE_PER_OCTAVE, Levels
from prdp.mechanisms._rank_groups import RankGroups
from prdp.mechanisms.rank import Rank
from prdp.noise.entropy import Entropy
from prdp.plan import steps
from prdp.release.raw_answer import Answer
from prdp.testing import Seeded

HALF = (Fraction(1, 2),)
SEVERAL = (Fraction(1, 2), Fraction(1, 10), Fraction(99, 100))
LEVELS = Levels(Fraction(1, 100), Fraction(1))
WIDE = Levels(Fraction(1, 10**12), Fraction(10**6))
"""Budgets whose masses, in quanta, take more than 64 bits."""
ONE = Levels(Fraction(1), Fraction(1))
BOUNDS = [(0, 10**6), (-500, 70), (1, 3)]
RUNS = 2


def group(random: np.random.Generator, levels: Levels, low: int, high: int) -> Summary:
    """Return cells all over the bounds, of few records or of many, and some of records without a value."""
    codes = [code for code, _, _ in magnitudes(low, high, FINE_PER_OCTAVE)]
    largest, most = max(abs(low), abs(high)), 10 ** int(random.integers(1, 7))
    cells = []
    for code in random.choice(codes, int(random.integers(0, 40))).tolist():
        quanta = levels.quanta(int(random.integers(0, levels.top + 1)))
        key = magnitude_key(quanta, code, largest, FINE_PER_OCTAVE)
        count = int(random.integers(1, most))
        cells.append(Cell(key, count, count * key.sign * key.low))
        if random.random() < 0.1:
            cells.append(Cell(CellKey(quanta, 0, 0, 0, missing=True), count, 0))
    return Summary.of(levels, 1, largest, cells)


def groups_of(levels: Levels, bounds: tuple[int, int], number: int = 9) -> list[Summary]:
    """Return groups of which the first is empty."""
    random = np.random.default_rng(11)
    found = [group(random, levels, *bounds) for _ in range(number)]
    return [replace(found[0], cells=found[0].cells.where(slice(0))), *found[1:]]


def mechanisms(levels: Levels, bounds: tuple[int, int]) -> list[tuple[Rank, Fraction]]:
    """Return the mechanisms that answer quantiles, each with a share."""
    found = [
        (Rank.tuned(share, quantiles, *bounds, levels, concentrated=concentrated), share)
        for share in (Fraction(1, 2), Fraction(1, 40))
        for quantiles in (HALF, SEVERAL)
        for concentrated in (False, True)
    ]
    alike = Rank.tuned(Fraction(1), HALF, *bounds, None)
    return [*found, (replace(alike, full=levels.quanta(levels.top)), Fraction(1))]


def one_by_one(
    rank: Rank, each: Sequence[Summary], share: Fraction, entropy: Entropy
) -> list[list[tuple[Answer, ...]]]:
    return [rank.answers(one, share, entropy, RUNS) for one in each]


def differ(rank: Rank, each: Sequence[Summary], share: Fraction) -> bool:
    """Return whether groups side by side draw anything else, or other bytes, than one by one."""
    mine, theirs = Seeded(5), Seeded(5)
    found = list(RankGroups(rank, SummaryGroups.of(each), share).answers(mine, RUNS))
    return found != one_by_one(rank, each, share, theirs) or mine.bytes(8) != theirs.bytes(8)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("levels", [LEVELS, WIDE, ONE], ids=["usual", "wide", "one budget"])
def test_groups_side_by_side_draw_what_each_draws_alone(levels: Levels, bounds: tuple[int, int]) -> None:
    each = groups_of(levels, bounds)
    for rank, share in mechanisms(levels, bounds):
        assert not differ(rank, each, share)


def test_groups_are_added_up_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prdp.mechanisms._rank_groups, "_AT_ONCE", 2)
    each = groups_of(LEVELS, BOUNDS[0])
    for rank, share in mechanisms(LEVELS, BOUNDS[0]):
        assert not differ(rank, each, share)


def test_groups_whose_records_have_no_values_have_answers() -> None:
    missing = Cell(CellKey(LEVELS.quanta(3), 0, 0, 0, missing=True), 50, 0)
    each = [Summary.of(LEVELS, 1, 3, [missing])] * 3
    for rank, share in mechanisms(LEVELS, BOUNDS[2]):
        assert not differ(rank, each, share)


# Twins: each takes something of another group's, or of fewer records.


TWINS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "a neighbour's weights": (
        "_below",
        lambda right: lambda g, p, n, at, w: right(g, p, n, (at + 1) % len(g), w),
    ),
    "a record too little": ("_below", lambda right: lambda *given: np.maximum(right(*given) - (1 << 20), 0)),
    "the ranges of other kinds": ("_places", lambda right: lambda *given: np.roll(right(*given), 1)),
}


@pytest.mark.parametrize("twin", TWINS)
def test_wrong_columns_are_seen(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, wrong = TWINS[twin]
    right = getattr(prdp.mechanisms._rank_groups, name)
    monkeypatch.setattr(prdp.mechanisms._rank_groups, name, wrong(right))
    each = groups_of(LEVELS, BOUNDS[0])
    assert any(differ(rank, each, share) for rank, share in mechanisms(LEVELS, BOUNDS[0]))


@pytest.mark.parametrize("wrong", ["mass", "masses"])
def test_wrong_masses_are_seen(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_group = prdp.mechanisms._rank_groups._OfGroup
    right = getattr(of_group, wrong)
    shifted = lambda self, *given: right(replace(self, group=max(0, self.group - 1)), *given)  # noqa: E731
    monkeypatch.setattr(of_group, wrong, shifted)
    each = groups_of(LEVELS, BOUNDS[0])
    assert any(differ(rank, each, share) for rank, share in mechanisms(LEVELS, BOUNDS[0]))


@pytest.mark.parametrize("runs", [1, 3])
def test_a_question_about_groups_has_the_answers_of_its_groups_alone(
    runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(2)
    held = {
        "age": random.integers(0, 100, 5000),
        "pay": np.where(random.random(5000) < 0.1, np.nan, random.lognormal(7, 2, 5000)),
        "town": random.integers(0, 7, 5000),
    }
    policy = prdp.Policy("100 / greatest(age, 1)", at_most=20, at_least="1/10")
    table = prdp.open(held, policy=policy, bounds={"age": (0, 100), "pay": (0, 10**5)}, synthetic=True)
    plan = table.group_by("town", keys=range(9)).plan(
        prdp.median("age"), prdp.quantile("pay", "0.9"), prdp.count(), share="1/2"
    )
    together: Any = plan.draw(table._reader, Seeded(4), runs)
    monkeypatch.setattr(steps, "Rank", ())  # then nothing is one
    alone: Any = plan.draw(table._reader, Seeded(4), runs)
    assert [list(one) for one in together] == [list(one) for one in alone]
