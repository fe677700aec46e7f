"""Computed columns: what is added up, averaged, counted apart and grouped by may be an expression."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.declare.columns import derived_rounding
from prdp.errors import InvalidRequest
from prdp.expressions.check import check
from prdp.expressions.evaluate import evaluate
from prdp.expressions.parse import parse
from prdp.schema import ColumnType, Kind
from prdp.tables.groups import Groups
from prdp.testing.truth import truths
from tests.reading import found

N = 4000
RNG = np.random.default_rng(5)
SALES = {
    "price": RNG.integers(0, 1000, N),
    "quantity": RNG.integers(0, 20, N),
    "weight": RNG.integers(0, 80, N) / 8,
    "age": RNG.integers(0, 99, N),
    "two words": RNG.integers(0, 5, N),
    "buyer": RNG.integers(0, 500, N),
}
BOUNDS: dict[str, Any] = {"price": (0, 1000), "quantity": (0, 20), "weight": (0, 10), "age": (0, 120)}


def sales(**options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {
        "policy": prdp.Policy.constant(50),
        "bounds": BOUNDS,
        "round_to": {"weight": "1/8"},
    }
    return prdp.open(SALES, **chosen | options)


def true(asked: Any, query: Any) -> list[Fraction]:
    """Return what is true of each group, by the cells that are read."""
    table = asked.table if isinstance(asked, Groups) else asked
    (plan,) = asked.plan(query, share="1").queries
    return [value for cells in table._reader.read(plan.read) for value in truths(plan, cells)]


REVENUE = SALES["price"] * SALES["quantity"]


@pytest.mark.parametrize(
    "options", [{}, {"privacy_unit": "buyer"}, {"policy": prdp.Policy("5000 / (price + 9)")}]
)
def test_sums_and_means_of_expressions_are_those_of_their_values(options: dict[str, Any]) -> None:
    table = sales(**options)
    assert true(table, prdp.sum("price * quantity")) == [REVENUE.sum()]
    assert true(table, prdp.mean("price*quantity - 3")) == [Fraction(int(REVENUE.sum() - 3 * N), N)]
    assert true(table.filter("age >= 40"), prdp.sum("price * weight")) == [
        Fraction(float((SALES["price"] * SALES["weight"])[SALES["age"] >= 40].sum()))
    ]


def test_every_question_about_a_column_takes_an_expression() -> None:
    table = sales(synthetic=True)
    values = 2.0 * REVENUE
    assert table.sum("2 * price * quantity", share="1").value == pytest.approx(values.sum(), rel=0.01)
    assert table.mean("2 * price * quantity", share="1").value == pytest.approx(values.mean(), rel=0.05)
    assert table.max("2 * price * quantity", share="1").value == pytest.approx(values.max(), rel=0.1)
    assert table.median("2 * price * quantity", share="1").value == pytest.approx(np.median(values), rel=0.05)
    assert table.std("2 * price * quantity", share="1").value == pytest.approx(values.std(), rel=0.05)
    assert table.count_distinct("quantity * 2", share="1").value == pytest.approx(20, abs=1)
    for method in ("partition", "framework", "naive"):
        answer = table.sum("2 * price * quantity", share="1", method=method)
        assert answer.value == pytest.approx(values.sum(), rel=0.05), method


def test_bins_and_keys_may_be_computed() -> None:
    table = sales()
    edges = [0, 100, 5000, 20_000]
    counts = true(table.group_by(prdp.bins("price * quantity", edges)), prdp.count())
    assert counts == [int(n) for n in np.histogram(REVENUE, edges)[0]]
    generation = "CASE WHEN age < 18 THEN 'minor' WHEN age < 65 THEN 'adult' ELSE 'senior' END"
    groups = table.group_by(generation, keys=["minor", "senior", "nobody"])
    young, old = SALES["age"] < 18, SALES["age"] >= 65
    assert true(groups, prdp.count()) == [int(young.sum()), int(old.sum()), 0]
    assert true(groups, prdp.sum("price")) == [
        int(SALES["price"][young].sum()),
        int(SALES["price"][old].sum()),
        0,
    ]
    parity = table.group_by("quantity - 10", keys=[-10, 0, 9])
    assert true(parity, prdp.count()) == [int((SALES["quantity"] == n).sum()) for n in (0, 10, 19)]
    histogram = table.histogram("price * quantity", edges=edges, share="1/4")
    assert str(histogram.keys[0][0]) == "[0, 100)"


def test_names_are_spelled_as_the_table_spells_them_and_the_same_expression_is_one_question() -> None:
    table = sales()
    first = table.sum("PRICE*quantity", share="1/4")
    assert table.sum("price * Quantity", share="1/4") == first
    assert first.question == "sum of price * quantity"
    assert table.ledger.remaining == Fraction(3, 4)
    assert table.sum("quantity * price", share="1/4") != first
    assert true(sales(bounds={**BOUNDS, "two words": (0, 9)}), prdp.sum('"two words" * 2')) == [
        2 * SALES["two words"].sum()
    ]


def test_a_column_whose_name_reads_like_an_expression_is_that_column() -> None:
    odd = {"a": np.array([1, 2]), "b": np.array([3, 4]), "a + b": np.array([100, 200])}
    ends = dict.fromkeys(odd, (0, 1000))
    table = prdp.open(odd, policy=prdp.Policy.constant(1), bounds=ends)
    assert true(table, prdp.sum("a + b")) == [300]
    with pytest.raises(InvalidRequest, match="may be computed, or mean the column"):
        table.sum("a+b", share="1/2")
    keyed = prdp.open({"a": odd["a"], "b": odd["b"]}, policy=prdp.Policy.constant(1))
    one = table.group_by("a + b", keys=[100]).plan(prdp.count(), share="1").text
    other = keyed.group_by("a + b", keys=[100]).plan(prdp.count(), share="1").text
    assert one != other


def test_no_name_of_a_column_is_taken_by_what_is_computed() -> None:
    taken = {"prdp_computed_0": np.array([1, 2]), "PRDP_COMPUTED_0_": np.array([1, 2]), "v": np.array([5, 7])}
    table = prdp.open(taken, policy=prdp.Policy.constant(1), bounds={"v": (0, 10)})
    assert true(table, prdp.sum("v * v")) == [74]


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda t: t.sum("price * buyer", share="1/2"),
            r"bounds of buyer. Write bounds=\{'buyer': \(0, 10\*\*6\)",
        ),
        (
            lambda t: t.sum("price / quantity", share="1/2"),
            r"Write least\(greatest\(price / quantity, 0\), 1000\)",
        ),
        (lambda t: t.sum("exp(price / 5)", share="1/2"), r"too wide.*Write least\(exp\(price / 5\), 1e9\)"),
        (lambda t: t.sum("prise * quantity", share="1/2"), "Did you mean price"),
        (lambda t: t.sum("price * ", share="1/2"), "price"),
        (lambda t: t.sum("prices", share="1/2"), "Did you mean 'price'"),
        (lambda t: t.sum("1 + 1", share="1/2"), "reads no column"),
        (lambda t: t.max("price > 3", share="1/2"), "needs numbers"),
        (lambda t: t.sum("price * quantity", round_to="0", share="1/2"), "more than 0"),
        (lambda t: t.sum("price * price", round_to="1e-12", share="1/2"), r"more than 2\^53 rounding steps"),
        (lambda t: t.sum(5, share="1/2"), "names the column"),
        (lambda t: t.group_by("price * 2").plan(prdp.count(), share="1/4"), "needs its public keys"),
        (lambda t: t.group_by("price * 2", keys=["many"]), "holds number"),
        (lambda t: t.group_by(prdp.bins("age < 5", [0, 1])), "need numbers"),
        (lambda t: t.group_by(prdp.date_trunc("month", "age + 1"), keys=[1]), "needs dates"),
    ],
)
def test_what_does_not_follow_is_asked_for_with_what_to_write(ask: Any, says: str) -> None:
    table = sales()
    with pytest.raises(InvalidRequest, match=says):
        ask(table)
    assert table.ledger.remaining == 1


def test_bounds_follow_by_intervals_and_rounding_steps_from_the_columns_types() -> None:
    cents = pyarrow.table(
        {"price": pyarrow.array([10, 20]).cast(pyarrow.decimal128(21, 2)), "cut": pyarrow.array([0.25, 0.5])}
    )
    ends: dict[str, Any] = {"price": (0, 100), "cut": (0, 1)}
    table = prdp.open(cents, policy=prdp.Policy.constant(1), bounds=ends, round_to={"cut": "0.01"})
    (plan,) = table.plan(prdp.sum("price * (1 - cut)"), share="1").queries
    assert plan.measure is not None
    assert (plan.measure.round_to, plan.measure.low, plan.measure.high) == (Fraction(1, 10**4), 0, 10**6)
    assert true(table, prdp.sum("price * (1 - cut)")) == [Fraction(35, 2)]
    (bounded,) = table.plan(prdp.sum("CASE WHEN cut > 0.3 THEN 1 ELSE 0 END"), share="1").queries
    assert bounded.measure is not None
    assert (bounded.measure.low, bounded.measure.high, bounded.measure.round_to) == (0, 1, Fraction(1))


GRAINS = {"a": Fraction(1, 4), "b": Fraction(3)}
SCHEMA = {name: ColumnType(Kind.NUMBER, native="DOUBLE") for name in GRAINS}


@settings(max_examples=60)
@given(
    text=st.sampled_from(
        [
            "a * b", "a + b", "3 * a - b / 2", "abs(a - b)", "least(a, b, 0.5)", "power(a, 3)", "-a * 0.25",
            "CASE WHEN a > b THEN a * a ELSE NULL END", "greatest(a / 8, b * 1.5) + 0.125", "a * 0 + b",
        ]
    ),
    a=st.integers(-1000, 1000),
    b=st.integers(-1000, 1000),
)  # fmt: skip
def test_every_value_is_a_whole_multiple_of_the_derived_rounding_step(text: str, a: int, b: int) -> None:
    node = check(parse(text), SCHEMA, Kind.NUMBER, text)
    round_to = derived_rounding(node, SCHEMA, GRAINS)
    assert round_to is not None
    record = {"a": float(a * GRAINS["a"]), "b": float(b * GRAINS["b"])}
    value = evaluate(node, record)
    assert value is None or (Fraction(value) / round_to).denominator == 1  # type: ignore[arg-type]


def test_a_policy_is_taken_from_the_record_whatever_is_computed() -> None:
    """The budget is that of the true values, and a value beyond its ends is moved to them."""
    held = {"v": np.array([5, 2000]), "eps": np.array([1.0, 0.25])}
    table = prdp.open(
        held, policy=prdp.Policy.column("eps", at_least="1/8", at_most=2), bounds={"v": (0, 10)}
    )
    cells = found(table, table.plan(prdp.sum("v * v"), share="1"))
    assert sorted((cell.key.quanta, cell.total) for cell in cells.cells) == [
        (cells.levels.quanta(7), 100),
        (cells.levels.quanta(23), 25),
    ]


def test_the_days_between_two_columns_of_dates_are_added_up() -> None:
    came = np.datetime64("2026-01-01", "us") + RNG.integers(0, 300, N).astype("timedelta64[D]")
    days = RNG.integers(0, 30, N)
    dates = {"came": came, "gone": came + days.astype("timedelta64[D]")}
    stays = prdp.open(dates, policy=prdp.Policy.constant(50))
    assert true(stays, prdp.sum("gone - came")) == [days.sum()]


@pytest.mark.parametrize("expression", ["ln(price + 1)", "sqrt(price)", "price / 3", "ln(1 + price / 7)"])
def test_what_is_never_below_zero_has_bounds_from_zero_on(expression: str) -> None:
    table = prdp.open({"price": np.arange(5000) / 10}, policy=1, bounds={"price": (0, 1000)}, name="shop")
    answer = table.sum(expression, share="1/2")
    assert "values outside 0 to " in str(answer)
    assert "below" not in str(answer)
