"""Questions that are wrong by public facts are refused; odd records never are."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import prdp
from prdp.errors import BudgetExhausted, EngineFailure, InvalidRequest, PolicyError, RecordsLeftOut
from prdp.plan.queries import Query
from prdp.testing import simulate

GRADED_BY_ONE: Any = prdp.methods.Partition(graded=1)  # type: ignore[arg-type]
POLICY = prdp.Policy("10000 / balance", at_most=100)
BOUNDS = {"balance": (0, 10**12)}


def accounts(**options: Any) -> prdp.Table:
    source: dict[str, Any] = {
        "balance": np.arange(1, 20_001),
        "age": np.arange(20_000) % 90,
        "rate": np.linspace(0, 1, 20_000),
        "job": np.array(["clerk", "chef"] * 10_000),
    }
    chosen: dict[str, Any] = {"policy": POLICY, "bounds": BOUNDS} | options
    return prdp.open(source, **chosen)


def test_a_count_and_a_sum_come_close_to_the_truth() -> None:
    table = accounts()
    count = table.count(share="1/2")
    total = table.sum("balance", share="1/2")
    assert count.value == pytest.approx(20_000, rel=0.05)
    assert total.value == pytest.approx(20_000 * 20_001 / 2, rel=0.2)
    assert table.ledger.remaining == 0


def test_the_least_budget_is_derived_from_the_bounds() -> None:
    assert accounts().policy.at_least == Fraction(1, 10**8)


def test_filters_add_up_and_keep_the_same_ledger() -> None:
    table = accounts()
    both = table.filter("age >= 40").filter("job = 'clerk'")
    truth = sum(1 for k in range(20_000) if k % 90 >= 40 and k % 2 == 0)
    assert both.count(share="1/2").value == pytest.approx(truth, rel=0.1)
    assert table.ledger.remaining == Fraction(1, 2)


def test_the_same_question_again_is_free_and_a_redraw_one_is_not() -> None:
    table = accounts()
    first = table.count(share="1/4")
    assert table.count(share="1/4") == first
    assert table.filter("age > 3").count(share="1/4") is not first
    assert table.ledger.remaining == Fraction(1, 2)
    assert table.count(share="1/4", redraw=True) is not first
    assert table.ledger.remaining == Fraction(1, 4)


def test_what_would_overspend_is_refused_and_nothing_is_charged() -> None:
    table = accounts()
    table.count(share="2/3")
    with pytest.raises(BudgetExhausted, match="but 1/3 is left"):
        table.sum("balance", share="1/2")
    assert table.ledger.remaining == Fraction(1, 3)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda t: t.sum("balanec", share="1/2"), "Did you mean 'balance'"),
        (lambda t: t.sum("job", share="1/2"), "holds text"),
        (lambda t: t.sum("age", share="1/2"), "needs the column's public bounds"),
        (lambda t: t.count(share=0), "more than 0 and at most 1"),
        (lambda t: t.count(share="3/2"), "more than 0 and at most 1"),
        (lambda t: t.count(share=1 / 3), r"Write share='1/3'"),
        (lambda t: t.count(share="a tenth"), "not a number"),
        (lambda t: t.count(share="1/0"), "not a number"),
        (lambda t: t.count(share="1/2", method="magic"), "clip, partition, framework, naive"),
        (lambda t: t.count(share="1/2", method=prdp.methods.Partition), "is no method"),
        (lambda t: t.count(share="1/2", method=prdp.methods.Partition(beta=2)), "between 0 and 1"),
        (lambda t: t.count(share="1/2", method=GRADED_BY_ONE), "neither True nor False"),
        (lambda t: t.count(share="1/2", method=prdp.methods.Framework(split=1)), "split=1 is no part"),
        (lambda t: t.filter("agee > 3"), "age"),
        (lambda t: t.filter("count(*) > 3"), "count"),
        (lambda t: t.filter("age + 1"), "true or false"),
    ],
)
def test_a_question_that_is_wrong_by_public_facts_is_refused_before_any_charge(ask: Any, says: str) -> None:
    table = accounts()
    with pytest.raises(InvalidRequest, match=says):
        ask(table)
    assert table.ledger.remaining == 1
    assert table._reader.kept == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"bounds": {"balance": (10, 0)}}, "reversed"),
        ({"bounds": {"balance": (0, float("inf"))}}, "not a pair of finite numbers"),
        ({"bounds": {"balanse": (0, 1)}}, "Did you mean 'balance'"),
        ({"bounds": {"job": (0, 1)}}, "number column"),
        ({"round_to": {"balance": "0"}}, "more than 0"),
        ({"round_to": {"balance": 1 / 3}}, "is a float of more than 12 decimals"),
        ({"bounds": {"balance": 5}}, "not a pair of finite numbers"),
        ({"policy": [10]}, r"policy=1 for the same for all"),
        ({"policy": True}, r"policy=1 for the same for all"),
        ({"policy": 0}, "a budget is more than 0"),
        ({"policy": float("nan")}, "not a number"),
        ({"policy": "10000 / balance"}, r"'least\(10000 / greatest\(abs\(balance\), 1000\), 10\)'"),
    ],
)
def test_a_table_that_is_wrong_by_public_facts_is_not_opened(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        accounts(**options)


def test_a_fractional_column_needs_no_rounding_step() -> None:
    table = accounts(bounds=BOUNDS | {"rate": (0, 1)})
    assert table.sum("rate", share="1").value == pytest.approx(10_000, rel=0.05)
    cents = accounts(bounds=BOUNDS | {"rate": (0, 1)}, round_to={"rate": "0.01"})
    assert cents.sum("rate", share="1").value == pytest.approx(10_000, rel=0.05)


def test_bounds_that_hold_too_many_rounding_steps_are_refused() -> None:
    table = accounts(bounds=BOUNDS | {"rate": (0, 10**12)}, round_to={"rate": "1e-6"})
    with pytest.raises(InvalidRequest, match="larger rounding step"):
        table.sum("rate", share="1/2")


def test_a_policy_without_a_derivable_least_budget_asks_for_it() -> None:
    with pytest.raises(PolicyError, match="at_least"):
        accounts(policy=prdp.Policy("10 - balance / 1000", at_most=10))


def test_a_policy_that_leaves_records_out_warns_which() -> None:
    policy = prdp.Policy("10 - balance / 1000", at_most=10, at_least="1/100")
    with pytest.warns(RecordsLeftOut, match="balance"):
        accounts(policy=policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        accounts()


ODD = {
    "empty": [],
    "all NULL": [None] * 50,
    "NaN": [float("nan")] * 50,
    "infinite": [float("inf"), float("-inf")] * 25,
    "minus zero": [-0.0] * 50,
    "beyond the bounds": [1e300, -1e300, 1e13] * 10,
}


@pytest.mark.parametrize("values", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("method", ["clip", "partition", "naive"])
def test_odd_tables_give_ordinary_noisy_answers(values: list[float | None], method: str) -> None:
    source = pyarrow.table({"balance": pyarrow.array(values, pyarrow.float64())})
    table = prdp.open(source, policy=POLICY, bounds=BOUNDS, round_to={"balance": "1"})
    for release in (
        table.count(share="1/4", method=method),
        table.sum("balance", share="1/4", method=method),
    ):
        low, high = release.interval()
        assert low <= float(release.exact) <= high
        assert math.isfinite(release.value)


def test_64_bit_limits_are_added_up_exactly() -> None:
    values = pyarrow.array([2**63 - 1, -(2**63) + 1, 2**63 - 1, None], pyarrow.int64())
    table = prdp.open(
        pyarrow.table({"v": values}),
        policy=prdp.Policy.constant("100"),
        bounds={"v": (-(2**63) + 1, 2**63 - 1)},
        synthetic=True,
    )
    answers = simulate(table, prdp.sum("v"), method="naive", runs=50, seed=1)
    assert np.median([float(a.exact) for a in answers]) == pytest.approx(2.0**63, rel=0.05)


def test_a_second_question_on_the_same_columns_reads_no_records() -> None:
    table = accounts()
    table.sum("balance", share="1/4")

    def refuse(reading: object) -> None:
        raise AssertionError("records were read again")

    table._engine.summarise = refuse  # type: ignore[method-assign, assignment]
    table.sum("balance", share="1/5")
    table.count(share="1/5")


def test_simulated_answers_are_marked_and_repeat_with_their_seed() -> None:
    table = accounts(synthetic=True)
    one = simulate(table, prdp.count(), share="1/10", runs=20, seed=3)
    assert one == simulate(table, prdp.count(), share="1/10", runs=20, seed=3)
    assert one != simulate(table, prdp.count(), share="1/10", runs=20, seed=4)
    assert all(release.simulated for release in one)
    assert table.ledger.remaining == 1


def test_printing_a_table_shows_public_facts_only() -> None:
    table = accounts(name="accounts")
    table.count(share="1/4")
    assert "accounts" in repr(table)
    assert "Cell" not in repr(table)


def test_a_warning_about_whole_numbers_speaks_of_whole_numbers() -> None:
    with pytest.warns(RecordsLeftOut, match=r"balance from -50 to -1: for example, with balance=-\d+ the"):
        accounts(
            policy=prdp.Policy("10000 / balance", at_most=100, at_least="1/100"),
            bounds={"balance": (-50, 99)},
        )


def test_a_sum_at_its_bound_is_not_clipped_by_rounding() -> None:
    """A constant policy: the largest value is all that the noise is scaled for."""
    source = {"v": np.full(1000, 10)}
    table = prdp.open(source, policy=prdp.Policy.constant("1"), bounds={"v": (-10, 10)}, synthetic=True)
    for method in ("partition", "naive"):
        answers = simulate(table, prdp.sum("v"), method=method, runs=200, seed=1)
        assert np.median([float(a.exact) for a in answers]) == pytest.approx(10_000, abs=20)


def test_the_caveat_of_a_signed_sum_says_that_clipping_may_move_it_either_way() -> None:
    signed = prdp.open({"v": np.arange(-5, 5)}, policy=prdp.Policy.constant("1"), bounds={"v": (-9, 9)})
    assert "either way" in signed.sum("v", share="1/2").caveat
    assert "toward zero" in accounts().sum("balance", share="1/2").caveat


def test_small_groups_do_not_collapse() -> None:
    """Two tiers of budgets, and ordinary privacy with a fine rounding step, in tables of a few thousand."""
    tiers = {"v": np.ones(5000, int), "eps": np.array([0.1, 10.0] * 2500)}
    policy = prdp.Policy.column("eps", at_least="1/10", at_most=10)
    table = prdp.open(tiers, policy=policy, synthetic=True)
    answers = simulate(table, prdp.count(), share="1/2", runs=300, seed=2)
    assert np.median([abs(float(a.exact) - 5000) for a in answers]) < 300
    flat = prdp.open(
        {"v": np.full(200, 10.0)},
        policy=prdp.Policy.constant("1"),
        bounds={"v": (0, 100)},
        round_to={"v": "0.01"},
        synthetic=True,
    )
    sums = simulate(flat, prdp.sum("v"), share="1/2", runs=300, seed=2)
    assert np.median([abs(float(a.exact) - 2000) for a in sums]) < 500


def test_a_table_s_source_that_is_gone_is_refused_before_any_charge(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"balance": [1, 2, 3]}), path)
    table = prdp.open(path, policy=POLICY, bounds=BOUNDS)
    path.unlink()
    with pytest.raises(InvalidRequest, match="cannot be read any more"):
        table.count(share="1/2")
    assert table.ledger.remaining == 1


def test_a_ledger_belongs_to_one_table() -> None:
    ledger = prdp.ledger.MemoryLedger()
    accounts(ledger=ledger)
    with pytest.raises(prdp.errors.LedgerError, match="opened before"):
        accounts(ledger=ledger)


@pytest.mark.parametrize(
    "options",
    [
        {"bounds": (1, 2)},
        {"round_to": "0.01"},
        {"types": {"balance": int}},
        {"ledger": 5},
        {"ledger": prdp.ledger.MemoryLedger},
        {"round_to": {"job": "1"}},
        {"round_to": {"balance": "1e-320"}},
    ],
    ids=str,
)
def test_options_of_the_wrong_form_are_refused_in_words(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        accounts(**options)


def test_simulation_is_found_where_the_documentation_says() -> None:
    assert prdp.testing.simulate is simulate
    for wrong in ({"query": "count"}, {"runs": 2.0}, {"seed": None}):
        given: dict[str, Any] = {"query": prdp.count(), "runs": 1, "seed": 0} | wrong
        with pytest.raises(InvalidRequest):
            simulate(accounts(synthetic=True), **given)


def test_a_maximum_and_a_minimum_come_close_to_the_truth() -> None:
    largest = simulate(accounts(synthetic=True), prdp.max("balance"), runs=200, seed=1)
    assert np.median([float(a.value) for a in largest]) == pytest.approx(20_000, rel=0.2)
    low, high = largest[0].interval()
    assert low <= largest[0].value
    assert high == float("inf")
    table = accounts()
    smallest = table.min("BALANCE", share="1/2")
    assert 0 <= smallest.value < 200
    assert table.min("balance", share="1/2") == smallest


@pytest.mark.parametrize("values", ODD.values(), ids=ODD.keys())
def test_odd_tables_have_a_maximum_like_any_other(values: list[float | None]) -> None:
    source = pyarrow.table({"balance": pyarrow.array(values, pyarrow.float64())})
    table = prdp.open(source, policy=POLICY, bounds=BOUNDS, round_to={"balance": "1"})
    for release in (table.max("balance", share="1/2"), table.min("balance", share="1/2")):
        assert 0 <= release.value <= 10**12


def test_an_extreme_is_not_asked_of_a_total_s_method() -> None:
    with pytest.raises(InvalidRequest, match="is not available for this query"):
        accounts().max("balance", share="1/2", method="clip")


@pytest.mark.parametrize("trouble", [MemoryError("shape (10000019,)"), ValueError("a record"), KeyError(7)])
def test_a_failure_after_the_charge_says_nothing_and_the_charge_is_taken_up(
    trouble: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise trouble

    table = accounts()
    with monkeypatch.context() as broken:
        broken.setattr("prdp.plan.plan.Plan.draw", fail)
        with pytest.raises(EngineFailure) as caught:
            table.count(share="1/4")
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert table.count(share="1/4").value > 0
    assert table.ledger.remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("partition", prdp.count()),
        ("partition", prdp.sum("v")),
        ("framework", prdp.sum("v")),
        ("framework", prdp.mean("v")),
    ],
)
def test_domains_hold_the_same_records_whether_or_not_the_column_tells_the_budget(
    method: str, query: Query
) -> None:
    """Under bounds from 0 on, budgets can be read off magnitudes; from 1 on, 0 would be moved to 1.

    The budgets lie just above an edge between domains, the least one of their magnitude below it.
    """
    values = {"v": np.arange(56_000, 59_500)}
    tables = (
        prdp.open(
            values,
            policy=prdp.Policy("10000 / v", at_most=100),
            bounds={"v": (low, 10**12)},
            name="t",
            synthetic=True,
        )
        for low in (0, 1)
    )
    first, second = (
        [release.exact for release in simulate(table, query, method=method, runs=20, seed=0)]
        for table in tables
    )
    assert first == second


@pytest.mark.parametrize("first", ["partition", "framework", "clip"])
@pytest.mark.parametrize("counting", ["partition", "framework", "clip"])
def test_a_count_counts_records_whatever_was_read_before(first: str, counting: str) -> None:
    """Half of the values are zero, half negative: cells of a sum, taken for counts, would add up to less."""
    values = {"v": np.tile([0, -10], 2000), "e": np.ones(4000)}
    table = prdp.open(
        values,
        policy=prdp.Policy("e", at_least="1/2", at_most=2),
        bounds={"v": (-(10**6), 10**6)},
        name="t",
        synthetic=True,
    )
    simulate(table, prdp.sum("v"), method=first, runs=1, seed=0)
    (count,) = simulate(table, prdp.count(), method=counting, runs=1, seed=0)
    assert count.value == pytest.approx(4000, abs=100)


def test_a_count_is_answered_alike_alone_and_beside_a_sum_of_another_column() -> None:
    random = np.random.default_rng(7)
    values = {"age": random.integers(0, 100, 3000), "v": random.integers(0, 10**6, 3000)}

    def choices(*queries: Query) -> Any:
        table = prdp.open(
            values,
            policy=prdp.Policy("CASE WHEN age < 18 THEN 0.05 ELSE 5 END"),
            bounds={"age": (0, 120), "v": (0, 10**9)},
            name="t",
            synthetic=True,
        )
        (answers,) = simulate(table, list(queries), share="1/2", runs=1, seed=0)
        return dict(answers.releases[0][0].choices)

    alone = choices(prdp.count())
    assert "budget tiers" in alone
    assert choices(prdp.count(), prdp.sum("v")).keys() == alone.keys()
