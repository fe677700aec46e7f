"""Counts of groups that follow their sums are those of each group by itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import prdp
from prdp.cells.groups import SummaryGroups
from prdp.mechanisms.following import Following
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Answer, AnswerColumn
from prdp.testing import Seeded
from prdp.testing.truth import raw_cells

NO_NOISE = Fraction(10**15)
RANDOM = np.random.default_rng(0)
VALUES = np.rint(RANDOM.lognormal(8, 1.5, 3000)).astype(np.int64) + 1
TABLE = prdp.open(
    {"v": VALUES, "g": RANDOM.integers(0, 5, 3000)},
    policy=prdp.Policy("10000 / v", at_most=100),
    bounds={"v": (1, 10**9)},
    synthetic=True,
)


def leader(point: int) -> Answer:
    """Return a sum that was clipped at a point; its lattice is a quarter of a rounding step."""
    found = Clipping(Fraction(4 * point), Fraction(10**16), Fraction(1), Fraction(2), 2, blind=False)
    return Answer(0, Fraction(1, 4), (), (), clipping=found)


def test_groups_that_follow_have_the_totals_and_the_words_that_each_has_alone() -> None:
    plan = TABLE.group_by("g", keys=range(5)).plan(prdp.mean("v"), share=1)
    _, step = plan.queries[0].steps
    follower = step.mechanism
    assert isinstance(follower, Following)
    cells = [one.valued().counted() for one in raw_cells(TABLE, plan)]
    stated = (leader(10**4), leader(10**6), leader(10**9))
    which = np.array([0, 1, 2, 1, 0])
    column = AnswerColumn(np.zeros(5, np.int64), which, stated)
    (together,) = follower.grouped_after([column], SummaryGroups.of(cells), NO_NOISE, Seeded(1))
    for group, summary in enumerate(cells):
        (alone,) = follower.after([stated[which[group]]], summary, NO_NOISE, Seeded(2))
        assert together[group] == alone
    assert len({one.steps for one in together}) == 5


def test_a_group_that_follows_draws_from_the_same_bytes_what_it_draws_alone() -> None:
    """The noise of groups is drawn beside ``Following.law``, and must be the law's."""
    plan = TABLE.group_by("g", keys=range(5)).plan(prdp.mean("v"), share=1)
    follower = plan.queries[0].steps[1].mechanism
    assert isinstance(follower, Following)
    cells = raw_cells(TABLE, plan)[0].valued().counted()
    drawn = set()
    for seed in range(20):
        stated = leader(10 ** (3 + seed % 5))
        column = AnswerColumn(np.zeros(1, np.int64), np.zeros(1, np.intp), (stated,))
        (together,) = follower.grouped_after(
            [column], SummaryGroups.of([cells]), Fraction(1, 3), Seeded(seed)
        )
        (alone,) = follower.after([stated], cells, Fraction(1, 3), Seeded(seed))
        assert together[0] == alone
        drawn.add(alone.steps)
    assert len(drawn) > 10  # noise was drawn


def test_a_higher_point_of_the_sum_lets_more_records_count_in_full() -> None:
    plan = TABLE.plan(prdp.mean("v"), share=1)
    follower = plan.queries[0].steps[1].mechanism
    assert isinstance(follower, Following)
    (cells,) = raw_cells(TABLE, plan)
    leaders = [leader(point) for point in (1, 10**3, 10**6, 10**12)]
    counts = [one.steps * one.step for one in follower.after(leaders, cells.counted(), NO_NOISE, Seeded(1))]
    assert counts == sorted(counts)
    assert counts[0] < counts[1] < counts[2] < counts[3] == 3000
