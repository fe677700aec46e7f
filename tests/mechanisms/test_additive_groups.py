"""Additive noise of groups: what is drawn for all of them at once is drawn from each group's own law."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from prdp.cells.groups import SummaryGroups
from prdp.cells.ratios import Least
from prdp.cells.summary import Summary
from prdp.mechanisms.additive import Additive
from prdp.mechanisms.clip import finer_bits
from prdp.testing import Seeded
from tests.cells.test_groups import LARGEST, LEVELS, summaries

SHARES = [Fraction(1), Fraction(1, 10)]


def additive() -> Additive:
    """Return noise for budgets that grow with values: from the least level to the top one."""
    last = LEVELS.quanta(LEVELS.top)
    least: Least = tuple((LARGEST >> (4 * place), last >> (2 * place)) for place in reversed(range(10)))
    return Additive(least)


def fine(each: list[Summary]) -> list[Summary]:
    bits = finer_bits(each[0], additive().finest_bits)
    return [one.refined(bits) for one in each]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", [1, 2])
def test_every_total_is_that_of_the_group_s_own_law(share: Fraction, seed: int) -> None:
    each = fine(summaries(seed))
    laws = [additive().law(one, share) for one in each]
    assert additive().totals(SummaryGroups.of(each), share).tolist() == [law.value for law in laws]
    assert len({law.noise for law in laws}) == 1


@pytest.mark.parametrize("share", SHARES)
def test_groups_alike_are_drawn_as_their_law_draws_runs(share: Fraction) -> None:
    """Byte for byte, under one stream."""
    one = summaries(1)[3]
    (law,) = (additive().law(finer, share) for finer in fine([one]))
    wanted = law.draw(Seeded(7), 30)
    drawn = additive().grouped([one] * 30, share, Seeded(7), 1)
    assert [answer.steps for (answer,) in drawn] == wanted
    assert [answer.steps for answer in additive().answers(one, share, Seeded(7), 30)] == wanted
    assert {answer.shape for (answer,) in drawn} == {law.noise}


def test_runs_are_apart_from_groups() -> None:
    each = summaries(2, 5)
    drawn = additive().grouped(each, Fraction(10**6), Seeded(1), 3)
    exact = [additive().law(one, Fraction(10**6)).value for one in fine(each)]
    for answers, total in zip(drawn, exact, strict=True):
        noise = answers[0].shape
        assert noise is not None
        assert all(abs(answer.steps - total) <= noise.spread(Fraction(999999, 10**6)) for answer in answers)
        assert {replace(answer, steps=0) for answer in answers} == {replace(answers[0], steps=0)}
