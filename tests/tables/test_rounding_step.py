"""Values that are not whole are rounded to a public step: declared, or one that follows from the bounds."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import prdp
from prdp.declare.columns import MAX_STEPS, default_step
from prdp.errors import InvalidRequest
from prdp.testing.truth import truths

N = 4000
VALUES = np.random.default_rng(8).lognormal(3, 1, N)


def opened(high: object = 10**6, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": prdp.Policy.constant(20), "bounds": {"x": (0, high)}} | options
    return prdp.open({"x": VALUES, "who": np.arange(N) % 500, "job": np.arange(N) % 2}, **chosen)


def measure(asked: Any, query: Any) -> Any:
    (plan,) = asked.plan(query, share="1").queries
    assert plan.measure is not None
    return plan.measure


EVERY: list[Any] = [
    prdp.sum("x"),
    prdp.mean("x"),
    prdp.std("x"),
    prdp.max("x"),
    prdp.min("x"),
    prdp.median("x"),
    prdp.sum("sqrt(x)"),
    prdp.mean("x / 3"),
    prdp.quantile("ln(x + 1)", 0.9),
]


@pytest.mark.parametrize("query", EVERY, ids=str)
@pytest.mark.parametrize("high", [Fraction(1, 10**6), 1, 250, 10**6, 10**12])
def test_every_query_about_floats_is_answered_without_a_declared_step(query: Any, high: object) -> None:
    assert opened(high).agg(query, share="1/4").releases


@pytest.mark.parametrize("query", [prdp.sum("x"), prdp.mean("x"), prdp.sum("sqrt(x)")], ids=str)
def test_rows_of_a_privacy_unit_add_up_by_groups_too(query: Any) -> None:
    table = opened(10**12, privacy_unit="who")
    assert table.group_by("job", keys=[0, 1]).agg(query, share="1/4").releases
    far = opened(10**12, privacy_unit="who", max_rows=2**39)
    assert far.group_by("job", keys=[0, 1]).agg(query, share="1/4").releases


def test_rounding_is_far_below_the_noise() -> None:
    table = opened()
    (plan,) = table.plan(prdp.sum("x"), share="1").queries
    [[rounded]] = [truths(plan, cells) for cells in table._reader.read(plan.read)]
    off = abs(float(rounded - sum(map(Fraction, VALUES.tolist()))))
    low, high = table.sum("x", share="1").interval()
    assert off < 1e-6 * (high - low)


@given(
    st.fractions(-(10**30), 10**30), st.fractions(0, 10**30), st.sampled_from([1, 7, 2**20, 2**40]),
    st.sampled_from([None, Fraction(1, 100), Fraction(1, 10**18), Fraction(0)]),
)  # fmt: skip
def test_bounds_hold_so_many_default_steps_and_no_more(
    low: Fraction, width: Fraction, rows: int, exact: Fraction | None
) -> None:
    step = default_step(exact, low, low + width, rows)
    largest = max(abs(low), abs(low + width))
    if step is None:
        assert largest > 10**18 * min(MAX_STEPS, 2**62 // rows)
        return
    assert largest <= step * MAX_STEPS
    assert largest * rows <= step * 2**62
    finer = step / 10
    assert (
        step in (exact, Fraction(1, 10**18), Fraction(1))
        or largest > finer * MAX_STEPS
        or largest * rows > finer * (2**62 - rows)
    )


def test_decimals_keep_their_scale_unless_the_bounds_hold_too_many_steps_of_it() -> None:
    cents = pyarrow.table({"x": pyarrow.array([Decimal("1.25")] * 9, pyarrow.decimal128(20, 2))})
    fine = pyarrow.table({"x": pyarrow.array([Decimal("1.25")] * 9, pyarrow.decimal128(38, 18))})
    ends: dict[str, Any] = {"x": (0, 10**6)}
    one = prdp.Policy.constant(1)
    assert measure(prdp.open(cents, policy=one, bounds=ends), prdp.sum("x")).round_to == Fraction(1, 100)
    assert measure(prdp.open(fine, policy=one, bounds=ends), prdp.sum("x")).round_to == Fraction(1, 10**8)
    assert prdp.open(fine, policy=one, bounds=ends).std("x", share="1/2").value >= 0


def test_a_declared_step_is_taken_as_it_is() -> None:
    cents = opened(round_to={"x": "0.01"})
    assert measure(cents, prdp.sum("x")).round_to == Fraction(1, 100)
    assert measure(cents, prdp.sum("x", round_to="1/8")).round_to == Fraction(1, 8)
    assert measure(opened(), prdp.sum("x", round_to="1/8")).round_to == Fraction(1, 8)
    with pytest.raises(InvalidRequest, match="larger rounding step"):
        opened(10**12, round_to={"x": "1e-6"}).sum("x", share="1/2")


def test_the_step_depends_on_no_record() -> None:
    other = prdp.open({"x": np.array([1e-9])}, policy=prdp.Policy.constant(20), bounds={"x": (0, 10**6)})
    assert measure(other, prdp.sum("x")).round_to == measure(opened(), prdp.sum("x")).round_to


def test_declaring_a_step_later_asks_another_question(tmp_path: Any) -> None:
    ledger = tmp_path / "x.ledger"
    one = {"policy": "1", "bounds": {"x": (0, 10**6)}, "ledger": ledger, "name": "x", "must_exist": False}
    frame = {"x": VALUES}
    first = prdp.open(frame, **one)
    answer = first.sum("x", share="1/4")
    assert first.sum("x", share="1/4") == answer
    later = prdp.open(frame, round_to={"x": "0.01"}, **one)
    later.sum("x", share="1/4")
    assert later.remaining == Fraction(1, 2)


def test_sql_needs_no_step_either() -> None:
    table = prdp.open({"x": VALUES}, policy=prdp.Policy.constant(20), bounds={"x": (0, 10**6)}, name="bills")
    answers = table.sql("SELECT SUM(x) AS s, AVG(sqrt(x)) AS r, MAX(x) AS m FROM bills", share="1")
    total, root, most = map(float, answers.rows[0])  # type: ignore[arg-type]
    assert total == pytest.approx(VALUES.sum(), rel=0.1)
    assert root == pytest.approx(np.sqrt(VALUES).mean(), rel=0.1)
    assert most == pytest.approx(VALUES.max(), rel=0.5)
