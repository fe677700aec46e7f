"""What several queries of a statement need is drawn once, with the shares of all of them and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import expon, kstest

import prdp
from prdp.errors import InvalidRequest
from prdp.plan.methods import Options
from prdp.plan.plan import Plan
from prdp.plan.queries import Query
from prdp.plan.steps import Step
from prdp.release.table import ReleaseTable
from prdp.tables.base import reader_of
from prdp.testing import Seeded, simulate
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from tests.exact.universe import budget, summary_of
from tests.statistical.thresholds import P_THRESHOLD

RANDOM = np.random.default_rng(3)
COLUMNS = {
    "v": RANDOM.integers(1, 500, 3000),
    "w": RANDOM.integers(1, 500, 3000),
    "g": RANDOM.integers(0, 3, 3000),
    "owner": np.repeat(np.arange(1000), 3),
}
BOUNDS = {"v": (1, 10**4), "w": (1, 10**4), "g": (0, 2)}


def table(policy: str = "100 / v", **options: Any) -> prdp.Table:
    return prdp.open(COLUMNS, policy=policy, bounds=BOUNDS, name="t", synthetic=True, **options)


def draws(plan: Plan) -> list[Step]:
    """Return the draws of a statement: of steps that are one draw, the first."""
    first: dict[object, Step] = {}
    for place, step in enumerate(step for query in plan.queries for step in query.steps):
        first.setdefault(("alone", place) if step.shared_draw_id is None else step.shared_draw_id, step)
    return list(first.values())


def shares(*queries: Query, of: prdp.Table | None = None) -> list[list[Fraction]]:
    plan = (of or table()).plan(*queries, share=1)
    assert sum(step.share for step in draws(plan)) == 1
    return [[step.share for step in query.steps] for query in plan.queries]


EIGHTH = Fraction(1, 8)


def test_a_sum_beside_a_mean_is_the_mean_s_which_has_the_shares_of_both() -> None:
    assert shares(prdp.sum("v"), prdp.mean("v")) == [[6 * EIGHTH], [6 * EIGHTH, 2 * EIGHTH]]
    third = Fraction(1, 3)
    found = shares(prdp.count(), prdp.sum("v"), prdp.mean("v"))
    assert found == [[third], [third * 3 / 2], [third * 3 / 2, third / 2]]


def test_a_mean_beside_a_deviation_is_that_of_the_deviation() -> None:
    total, count, squares = 3 * EIGHTH, EIGHTH, 4 * EIGHTH
    assert shares(prdp.mean("v"), prdp.std("v")) == [[total, count], [total, count, squares]]
    found = shares(prdp.std("v"), prdp.sum("v"), prdp.mean("v"))
    assert found == [[total, count, squares], [total], [total, count]]


def test_none_has_less_than_it_would_have_had_alone() -> None:
    """A deviation's sum has 3/8 of all, and half of it is more: so that each draws for itself."""
    alone = [Fraction(3, 16), Fraction(1, 16), Fraction(1, 4)]
    assert shares(prdp.sum("v"), prdp.std("v")) == [[Fraction(1, 2)], alone]
    uneven = table().plan(prdp.sum("v"), prdp.mean("v"), share=1, shares=["4/5", "1/5"])
    assert [[step.share for step in query.steps] for query in uneven.queries] == [
        [Fraction(4, 5)],
        [Fraction(3, 20), Fraction(1, 20)],
    ]


@pytest.mark.parametrize("parts", [("1/9", "1/9", "1/9"), ("1/2", "1/4", "1/4"), ("1/8", "1/2", "3/8")])
def test_with_any_shares_each_step_has_at_least_its_own(parts: tuple[str, ...]) -> None:
    queries = (prdp.sum("v"), prdp.mean("v"), prdp.std("v"))
    plan = table().plan(*queries, share=1, shares=parts)
    for query, part, planned in zip(queries, parts, plan.queries, strict=True):
        alone = table().plan(query, share=part).queries[0]
        for own, step in zip(alone.steps, planned.steps, strict=True):
            assert step.share >= own.share
    assert sum(step.share for step in draws(plan)) <= sum(map(Fraction, parts))


def test_columns_rounding_steps_filters_and_methods_are_distinguished() -> None:
    half = Fraction(1, 2)
    for other in (
        prdp.mean("w"),
        prdp.mean("v", round_to=5),
        prdp.mean("v + 1"),
        prdp.count(),
        prdp.max("v"),
    ):
        assert shares(prdp.sum("v"), other)[0] == [half], other
    grown = table("2 * ln(1 + v / 100) + 1/10")
    methods = {query.method for query in grown.plan(prdp.sum("v"), prdp.mean("v"), share=1).queries}
    once = len(draws(grown.plan(prdp.sum("v"), prdp.mean("v"), share=1))) == 2
    assert once == (len(methods) == 1)


def test_each_query_is_charged_what_it_asked_for_and_has_the_text_that_it_had() -> None:
    plan = table().plan(prdp.sum("v"), prdp.mean("v"), share="1/2", shares=["1/8", "3/8"])
    assert [query.facts["share"] for query in plan.queries] == ["1/8", "3/8"]
    assert [step.own_share for step in plan.queries[1].steps] == [Fraction(9, 32), Fraction(3, 32)]
    assert plan.share == Fraction(1, 2)


def answers(opened: Any, *queries: Query) -> list[ReleaseTable]:
    found = simulate(opened, queries, share=1, runs=3, seed=5)
    assert all(isinstance(one, ReleaseTable) for one in found)
    return list(found)


@pytest.mark.parametrize(
    "of", ["table", "groups", "groups that the policy reads", "owners", "owners' groups"]
)
def test_it_is_the_same_number_wherever_it_is_used(of: str) -> None:
    kept = table(privacy_unit="owner", max_rows=3) if "owners" in of else table()
    opened: Any = {
        "groups": kept.group_by("g", keys=range(3)),
        "groups that the policy reads": kept.group_by(prdp.bins("v", [1, 100, 500])),
        "owners' groups": kept.group_by("g", keys=range(3)),
    }.get(of, kept)
    seen = set()
    for one in answers(opened, prdp.mean("v"), prdp.sum("v")):
        for mean, total in one.releases:
            assert mean.parts[0].exact == total.exact
            assert mean.parts[0].noise_scales == total.noise_scales
            assert [mean.share, total.share] == [1, 6 * EIGHTH]
            seen.add(total.exact)
    assert len(seen) == 3 * (len(opened.grouping.keys) if "groups" in of else 1)  # and another in each run


def test_intervals_of_all_answers_hold_the_truth() -> None:
    held = []
    for one in simulate(table(), [prdp.sum("v"), prdp.mean("v"), prdp.std("v")], share=1, runs=100, seed=6):
        truths = (COLUMNS["v"].sum(), COLUMNS["v"].mean(), COLUMNS["v"].std())
        ends = (release.interval() for release in one.releases[0])
        held.append([low <= truth <= high for truth, (low, high) in zip(truths, ends, strict=True)])
    assert np.mean(held, axis=0).min() > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 100)


def test_a_plan_that_says_it_shares_and_pays_for_less_is_refused() -> None:
    plan = table().plan(prdp.sum("v"), prdp.mean("v"), share="1/2")
    total, mean = plan.queries
    with pytest.raises(InvalidRequest, match="more than the share"):
        replace(
            plan,
            queries=(total, replace(mean, steps=tuple(replace(s, shared_draw_id=None) for s in mean.steps))),
        )
    with pytest.raises(InvalidRequest, match="more than the share"):
        replace(mean, steps=tuple(replace(step, own_share=None) for step in mean.steps))


def test_the_plan_in_words_says_what_is_drawn_once() -> None:
    words = table().explain(prdp.sum("v"), prdp.mean("v"), share="1/2")
    assert "draws  clip with share 3/8, for several answers; proofs/clip.md" in words
    assert "takes  sum from what was drawn above" in words
    follows = "draws  count by clip with share 1/8, where the sum was clipped; proofs/following.md"
    assert follows in words


def test_a_computed_column_of_sql_has_at_most_the_statement_s_share() -> None:
    found = table().sql("SELECT SUM(v) / AVG(v) AS n, SUM(v), AVG(v) FROM t", share="1/2")
    cells: Any = found.rows[0]
    computed, total, mean = cells
    assert [computed.share, total.share, mean.share] == [Fraction(1, 2), Fraction(3, 8), Fraction(1, 2)]


# Exactly, on a small universe: naive's noise is as small as it may be, so that nothing hides a mistake.

RECORD = {"v": 12, "eps": 0.125}


def loss(steps: Sequence[Step]) -> float:
    """Return the most that independent draws of these steps say about the record, over what all may say."""
    found = [
        worst_loss(
            [RECORD],
            lambda cells, step=step: step.mechanism.law(step.select_input(cells), step.share),  # type: ignore[misc]
            summary_of,
            lambda record, step=step: float(step.share) * budget(record),  # type: ignore[misc]
            2,
        )
        for step in steps
    ]
    assert all(one.excess <= TOLERANCE for one in found)  # each keeps to its own share
    return sum(one.measured for one in found) / budget(RECORD)


def naive(*queries: Query) -> Plan:
    return table().planner.plan(queries, 1, options=Options("naive"))


STATEMENTS = ((prdp.sum("v"), prdp.mean("v")), (prdp.mean("v"), prdp.sum("v"), prdp.sum("v").alias("again")))


@pytest.mark.parametrize("queries", STATEMENTS, ids=str)
def test_all_draws_of_a_statement_say_no_more_of_a_record_than_its_share(queries: tuple[Any, ...]) -> None:
    assert 0.99 < loss(draws(naive(*queries))) <= 1 + TOLERANCE


@pytest.mark.parametrize("queries", STATEMENTS, ids=str)
def test_drawn_for_each_query_anew_they_would_say_too_much(queries: tuple[Any, ...]) -> None:
    """The wrong twin: every query draws with all that the others have paid as well."""
    steps = [step for query in naive(*queries).queries for step in query.steps]
    assert loss(steps) > 1.5


def test_its_noise_is_that_of_all_shares_together_and_none_15_percent_off() -> None:
    plan = naive(prdp.sum("v"), prdp.mean("v"))
    drawn: Any = plan.draw(reader_of(table()), Seeded(8), 10_000)
    errors = [abs(float(one.releases[0][0].exact) - COLUMNS["v"].sum()) for one in drawn]
    at_least = float(table().policy.levels.at_least)
    scale = BOUNDS["v"][1] / (3 / 4 * at_least)  # so large that its lattice does not show
    assert kstest(errors, expon(scale=scale).cdf).pvalue > P_THRESHOLD
    for factor in (0.85, 1.15, 3 / 2):  # the last is the noise of a sum that has its own share alone
        assert kstest(errors, expon(scale=factor * scale).cdf).pvalue < P_THRESHOLD
