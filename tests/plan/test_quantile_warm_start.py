"""Quantiles start from earlier ones by what the ledger holds alone, and say so."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp
from prdp.ledger.account import Charge, Entry, Notes
from prdp.mechanisms.rank import Rank
from prdp.mechanisms.warm_rank import WarmRank
from prdp.release.bias import Clipping
from prdp.release.raw_answer import Ranked
from prdp.release.release import Release
from tests.plan.recorded import Answers, warm_start_of

RNG = np.random.default_rng(1)
VALUES = RNG.lognormal(8, 1, 20_000).astype(np.int64) + 1
AGES = RNG.integers(18, 90, 20_000)
TENTH = Fraction(1, 10)
MEDIAN, WEIGHTS = "1/2 quantile of v in 1", "weights of v"
INVERSE, ONE_BUDGET = prdp.Policy("10000 / v", at_most=100), prdp.Policy.constant(1)


def opened(ledger: Path | None = None, policy: prdp.Policy = INVERSE, **options: Any) -> prdp.Table:
    columns = {"v": VALUES, "age": AGES}
    return prdp.open(columns, policy=policy, bounds={"v": (0, 10**9)}, name="t", ledger=ledger, **options)


def entry(number: int, table: prdp.Table, answer: int, share: Fraction = TENTH, **changes: Any) -> Entry:
    """Return a charge for the median, as if that had been the answer; weights are full from 1/4 on."""
    plan = table.plan(changes.pop("asked", prdp.median("v")), share=share)
    blind = changes.pop("blind", False)
    at = Fraction(4 << 20)
    clipping = Clipping(at, 2 * at, Fraction(1), Fraction(2), 2, blind=blind)
    if table.policy is ONE_BUDGET:
        clipping = None  # type: ignore[assignment]
    ranked = Ranked(Fraction(1, 2), (), (), (9,), Fraction(1), clipping)
    release = Release("median of v", answer, Fraction(1), (), share, "rank", chosen=ranked, **changes)
    return Entry(number, plan.text, share, release=release)


def test_a_quantile_starts_from_its_earlier_answer_and_any_quantile_from_the_weights() -> None:
    table = opened()
    older = table.filter("age >= 40").filter("v > 0")
    same = table.filter("v > 0 AND age >= 40")
    known = entry(3, older, answer=2900)
    question = "median of v where age >= 40 AND v > 0, by rank, range 0 to 1000000000 in steps of 1"
    reported = {"charge": 3, "question": question, "close": True}
    found = warm_start_of(same.plan(prdp.median("v"), share=TENTH), known)
    assert found == {MEDIAN: {"at": "2900"} | reported, WEIGHTS: {"at": "4"} | reported}
    assert set(warm_start_of(same.plan(prdp.quantile("v", "0.9"), share=TENTH), known)) == {WEIGHTS}
    assert set(warm_start_of(same.plan(prdp.quantile("v", ("0.5", "0.9")), share=TENTH), known)) == {
        MEDIAN,
        WEIGHTS,
    }


def test_no_quantile_starts_from_other_records_another_column_or_a_smaller_share() -> None:
    table = opened()
    older = table.filter("age >= 40")
    plans = (
        older.filter("age < 60").plan(prdp.median("v"), share=TENTH),
        table.plan(prdp.median("v"), share=TENTH),
        older.plan(prdp.median("v + 0"), share=TENTH),
        older.plan(prdp.median("v"), share="1/5"),
        older.plan(prdp.sum("v"), share=TENTH),
        older.plan(prdp.count(), share=TENTH),
        older.group_by("age", keys=[50, 60]).plan(prdp.median("v"), share=TENTH),
    )
    assert not any(warm_start_of(plan, entry(3, older, answer=2900)) for plan in plans)


def test_rows_of_units_and_what_they_add_up_to_tell_each_other_nothing() -> None:
    table = opened(privacy_unit="age", max_rows=500)
    asked = [prdp.median("v"), *(prdp.median("v", per_unit=per) for per in ("sum", "count", "max"))]
    for one, other in product(asked, asked):
        found = warm_start_of(table.plan(other, share=TENTH), entry(0, table, answer=2900, asked=one))
        assert bool(found) == (one is other)


@pytest.mark.parametrize("changes", [{"simulated": True}, {"blind": True}], ids=str)
def test_a_quantile_that_was_simulated_or_insufficient_budget_tells_nothing(changes: dict[str, Any]) -> None:
    table = opened()
    assert not warm_start_of(
        table.plan(prdp.median("v"), share=TENTH), entry(0, table, answer=2900, **changes)
    )


def test_groups_and_several_quantiles_at_once_tell_nothing() -> None:
    table = opened()
    release = entry(0, table, answer=2900).release
    grouped = table.group_by("age", keys=[20, 30]).plan(prdp.median("v"), share=TENTH)
    several = table.plan(prdp.quantile("v", ("0.5", "0.9")), share=TENTH)
    plan = table.plan(prdp.median("v"), share=TENTH)
    assert not any(
        warm_start_of(plan, Entry(0, each.text, TENTH, release=release)) for each in (grouped, several)
    )


def test_where_all_records_weigh_the_same_only_answers_are_taken() -> None:
    table = opened(policy=ONE_BUDGET)
    assert set(warm_start_of(table.plan(prdp.median("v"), share=TENTH), entry(0, table, answer=7))) == {
        MEDIAN
    }
    assert not warm_start_of(table.plan(prdp.quantile("v", "0.9"), share=TENTH), entry(0, table, answer=7))


def test_of_several_answers_the_same_snapshot_comes_first_then_the_larger_share_then_the_newer() -> None:
    table, before = opened(snapshot="2026-W47"), opened(snapshot="2026-W46")
    plan = table.plan(prdp.median("v"), share=TENTH)
    older, same, again = (entry(9, before, 1), entry(1, table, 2), entry(2, table, 3))
    larger = entry(0, table, answer=4, share=Fraction(1, 2))
    assert warm_start_of(plan, older, same)[MEDIAN]["charge"] == 1
    assert warm_start_of(plan, older, same, again)[MEDIAN]["charge"] == 2
    assert warm_start_of(plan, again, larger, same)[MEDIAN]["charge"] == 0
    assert warm_start_of(plan, older)[WEIGHTS]["close"] is False


def test_the_exact_answer_is_stored_and_the_next_one_says_where_it_warm(tmp_path: Path) -> None:
    table = opened(tmp_path / "t.ledger")
    first, second = table.median("v", share=TENTH), table.median("v", share="1/20")
    stored = json.loads(table.ledger.entries[1].notes.warm_start or "{}")
    assert Fraction(stored[MEDIAN]["at"]) == first.exact
    assert isinstance(first.chosen, Ranked)
    assert first.chosen.clipping is not None
    assert Fraction(stored[WEIGHTS]["at"]) == first.chosen.clipping.at / 2**20
    words = "charge 0 (median of v, by rank, range 0 to 1000000000 in steps of 1)"
    assert "started from" not in dict(first.choices)
    assert dict(second.choices)["started from"] == f"the answer of {words}, the weights of {words}"
    assert table.ledger.entries[1].release == second
    assert table.median("v", share=TENTH) == first  # a standing answer is found without a hint
    assert len(table.ledger.entries) == 2
    after = table.explain(prdp.median("v"), share="1/50")
    assert "proofs/warm_rank.md" in after
    assert f"since  it starts from the answer of {words}" in after


def test_a_charge_that_is_taken_up_draws_by_the_warm_start_that_it_was_made_with(tmp_path: Path) -> None:
    """By none where it had none, and by its own where there is a better one by now."""
    table = opened(tmp_path / "t.ledger")
    plan = table.plan(prdp.median("v"), share=TENTH)
    warm_start = plan.warm_start(Answers(entry(7, table, answer=50_000)))
    bare = table.plan(prdp.median("v"), share="1/11")
    for each, notes in ((plan, Notes(warm_start=warm_start)), (bare, Notes(warm_start=None))):
        assert isinstance(table.ledger.charge(each.text, each.share, notes=notes), Charge)
    table.median("v", share="1/5")
    assert "charge 2" in (bare.warm_start(table.ledger) or "").replace('"charge": 2', "charge 2")
    assert "started from" not in dict(table.median("v", share="1/11").choices)
    assert "charge 7 " in dict(table.median("v", share=TENTH).choices)["started from"]
    assert len(table.ledger.entries) == 3


@pytest.mark.parametrize("warm_start", [f'{{"{MEDIAN}": {{"at": "x"}}}}', f'{{"{WEIGHTS}": {{"at": "1"}}}}'])
def test_what_is_no_warm_start_is_refused_and_nothing_is_drawn(warm_start: str, tmp_path: Path) -> None:
    table = opened(tmp_path / "t.ledger")
    plan = table.plan(prdp.median("v"), share=TENTH)
    table.ledger.charge(plan.text, TENTH, notes=Notes(warm_start=warm_start))
    with pytest.raises(prdp.errors.LedgerError, match="cannot be read"):
        table.median("v", share=TENTH)
    assert table.ledger.entries[0].release is None


@pytest.mark.parametrize("policy", [INVERSE, ONE_BUDGET], ids=["inverse", "one budget"])
def test_a_warm_step_keeps_its_share_and_its_text(policy: prdp.Policy) -> None:
    table = opened(policy=policy)
    plan = table.plan(prdp.quantile("v", ("0.5", "0.9")), share=TENTH)
    warm = plan.warm_started(plan.warm_start(Answers(entry(0, table, answer=2900))))
    mechanism = warm.queries[0].steps[0].mechanism
    assert isinstance(mechanism, WarmRank)
    assert mechanism.rank.known == (2900, None)
    assert mechanism.at == (None if policy is ONE_BUDGET else 4)
    assert isinstance(plan.queries[0].steps[0].mechanism, Rank)
    assert warm.queries[0].steps[0].share == plan.queries[0].steps[0].share
    assert warm.text == plan.text
    assert replace(warm, queries=plan.queries) == plan


def test_answers_below_zero_and_in_fractions_are_places_on_their_rounding_step() -> None:
    columns = {"v": -VALUES / 100}
    table = prdp.open(
        columns, policy=ONE_BUDGET, bounds={"v": (-(10**6), 10**6)}, round_to={"v": "0.01"}, name="t"
    )
    first = table.median("v", share=TENTH)
    plan = table.plan(prdp.median("v"), share="1/20")
    mechanism: Any = plan.warm_started(plan.warm_start(table.ledger)).queries[0].steps[0].mechanism
    assert mechanism.rank.known == (first.steps,)
    assert first.steps < 0


def test_parts_of_a_description_tell_where_they_clipped_to_queries_at_no_larger_share() -> None:
    table = opened()
    table.describe(share="9/10")
    (charge,) = table.ledger.entries
    shares = {part.query.word: part.share for part in table.describe_plan("9/10", None).queries}
    found = warm_start_of(table.plan(prdp.sum("v"), share="1/20"), charge)
    assert {known["charge"] for known in found.values()} == {0}
    assert WEIGHTS in warm_start_of(table.plan(prdp.median("v"), share="1/20"), charge)
    assert MEDIAN not in warm_start_of(table.plan(prdp.median("v"), share="1/20"), charge)
    assert not warm_start_of(table.plan(prdp.sum("v"), share="1/2"), charge)
    assert max(shares.values()) < Fraction(1, 2)
