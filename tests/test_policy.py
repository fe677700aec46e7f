"""A policy says what each record may lose, where its range comes from, and whom it leaves out."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prdp.errors import ExpressionError, InvalidRequest, PolicyError
from prdp.expressions.parse import parse
from prdp.expressions.to_json import from_json, to_json
from prdp.levels import Levels
from prdp.policy import Bounds, Policy
from prdp.schema import ColumnType, Kind

SCHEMA = {
    "balance": ColumnType(Kind.NUMBER, integer=True, native="BIGINT"),
    "age": ColumnType(Kind.NUMBER, integer=True, native="INTEGER"),
    "eps": ColumnType(Kind.NUMBER, native="DOUBLE"),
    "job": ColumnType(Kind.TEXT, native="VARCHAR"),
    "vip": ColumnType(Kind.BOOLEAN, native="BOOLEAN"),
    "opened": ColumnType(Kind.MOMENT, native="DATE"),
}
BOUNDS: Bounds = {"balance": (Fraction(0), Fraction(10**12)), "age": (Fraction(0), Fraction(120))}


@pytest.mark.parametrize(
    ("balance", "budget"),
    [
        (40_000, 0.25),
        (100, 100.0),
        (99, 100.0),
        (0, 100.0),
        (-0.0, 100.0),
        (10**12, 1e-8),
        (10**13, None),
        (-5, None),
        (None, None),
        (math.nan, None),
        (math.inf, None),
        (10**400, None),
    ],
)
def test_a_record_is_owed_what_the_table_of_cases_says(balance: object, budget: float | None) -> None:
    policy = Policy("10000 / balance", at_most=100, at_least="1e-8")
    assert policy.budget({"balance": balance}) == budget


def test_without_a_smallest_budget_every_positive_one_counts() -> None:
    policy = Policy("x", at_most=1)
    assert policy.budget({"x": 5e-324}) == 5e-324
    assert policy.budget({"x": 0}) is None
    assert policy.budget({"x": math.inf}) == 1.0


@given(
    budget=st.fractions(min_value="1e-9", max_value="1e9"),
    value=st.one_of(st.floats(), st.none()),
)
def test_no_record_is_given_more_than_its_policy_or_the_largest_budget(
    budget: Fraction, value: float | None
) -> None:
    found = Policy.column("eps", at_most=budget).budget({"eps": value})
    if found is not None:
        assert value is not None
        assert 0 < found <= min(Fraction(value) if math.isfinite(value) else budget, budget)


@given(budget=st.fractions(min_value="1e-9", max_value="1e9"))
def test_a_constant_budget_takes_everybody_in(budget: Fraction) -> None:
    policy = Policy.constant(budget)
    given_budget = policy.budget({})
    assert given_budget is not None
    assert given_budget <= budget
    assert math.isclose(given_budget, budget, rel_tol=1e-15)
    fitted = policy.within(SCHEMA, {})
    assert (fitted.at_least, fitted.at_most) == (budget, budget)
    assert fitted.left_out({}) is None


@settings(max_examples=50)
@given(value=st.floats(1e-9, 1e9))
def test_a_derived_end_never_leaves_out_the_record_that_it_was_derived_from(value: float) -> None:
    bounds: Bounds = {"eps": (Fraction(value), Fraction(value))}
    policy = Policy("eps").within(SCHEMA, bounds)
    assert policy.budget({"eps": value}) is not None
    assert policy.at_least is not None
    assert policy.at_most is not None
    assert Levels(policy.at_least, policy.at_most).index(value) == 0


def test_columns_quote_any_name() -> None:
    policy = Policy.column('my "eps"', at_least="1/10", at_most=10)
    assert policy.columns == {'my "eps"'}
    assert parse(policy.text) == policy.expression
    assert policy.budget({'my "eps"': 0.5}) == 0.5


def test_policies_that_mean_the_same_are_equal_and_print_as_written() -> None:
    one, other = Policy("10000/balance", at_most=100), Policy("1e4 / balance", at_most="100.0")
    assert one == other
    assert hash(one) == hash(other)
    assert one != Policy("10000/balance", at_most=10)
    assert repr(one) == "Policy('10000/balance', at_most='100')"
    assert eval(repr(one)) == one  # noqa: S307


def test_a_policy_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Policy("1").text = "2"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({"at_most": 1 / 3}, "at_most='1/3'"),
        ({"at_least": 0}, "cannot be a budget"),
        ({"at_most": "-1"}, "cannot be a budget"),
        ({"at_least": "1e-390"}, "cannot be a budget"),
        ({"at_least": 2, "at_most": 1}, "Lower at_least"),
        ({"at_most": "much"}, "not a number"),
    ],
)
def test_impossible_ends_are_refused(ends: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        Policy("balance", **ends)


def test_a_policy_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ExpressionError):
        Policy("max(balance)")


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        ("CASE WHEN balance > 0 THEN 10000 / balance ELSE 100 END", Fraction(1, 10**8), Fraction(50)),
        ("10000 / BALANCE", Fraction(1, 10**8), Fraction(50)),
        ("age + 1", Fraction(1), Fraction(50)),
        ("100 + age", Fraction(50), Fraction(50)),
        ("CASE WHEN job = 'a' THEN 0.25 ELSE 3 END", Fraction(1, 4), Fraction(50)),
        ("1 / 0", Fraction(50), Fraction(50)),
    ],
)
def test_the_smallest_budget_follows_from_the_bounds(
    text: str, at_least: Fraction, at_most: Fraction
) -> None:
    policy = Policy(text, at_most=50).within(SCHEMA, BOUNDS)
    assert (policy.at_least, policy.at_most) == (at_least, at_most)
    assert policy.columns <= set(SCHEMA)


def test_the_largest_budget_follows_from_the_bounds_too() -> None:
    assert Policy("age + 1").within(SCHEMA, BOUNDS).at_most == 121


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Policy("10000 / balance"), "no largest budget.*from 1e-8 to inf.*such as at_most='10'"),
        (Policy("1e12 / age"), "gives every record a budget above .* Divide it by a public number"),
        (Policy("100 - age", at_most=5), "no smallest positive.*from -20 to 100.*at_least="),
        (Policy("eps"), r"eps has no bounds.*bounds=\{'eps': \(low, high\)\} or at_most"),
        (Policy("-balance"), "leaves out every record.*a budget is positive"),
        (Policy("age", at_least=200), "leaves out every record.*to 120.*at_least is 200"),
        (Policy("NULL"), "never has a value"),
        (Policy("age + NULL", at_least=1, at_most=2), "never has a value"),
    ],
)
def test_a_range_that_does_not_follow_is_asked_for(policy: Policy, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        policy.within(SCHEMA, BOUNDS)


@pytest.mark.parametrize("text", ["blance", "job", "vip", "balance > 1", "job + 1"])
def test_a_policy_that_does_not_fit_the_table_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        Policy(text, at_most=1, at_least="1/2").within(SCHEMA, BOUNDS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("10000 - balance", "balance from 9,990 to 1e12: for example, with balance=1e12 the budget is -1e12"),
        ("balance - 100", "balance from 0 to 110: for example, with balance=0 the budget is -100"),
        ("ln(balance - 50)", "with balance=0 there is no budget"),
        ("(balance - 100) * (balance - 200)", "with balance=150 the budget is -2,500, and at_least is 10"),
        ("CASE WHEN age = 7 THEN 1 ELSE 20 END", "records with age=7: "),
        ("CASE WHEN age < 18 THEN 1 WHEN age > 60 THEN 2 ELSE 20 END", "from 0 to 18 or age from 60 to 120"),
        ("CASE WHEN job = 'a' THEN 20 WHEN job = 'b' THEN 30 END", "with job='' there is no budget"),
        ("CASE WHEN job IN ('a', '') THEN 20 END", "with job='another text' there is no budget"),
        ("CASE WHEN vip THEN 20 ELSE 1 END", "with vip=False the budget is 1"),
        ("CASE WHEN vip = TRUE THEN 20 ELSE 1 END", "with vip=False"),
        ("CASE WHEN opened < DATE '2020-01-01' THEN 20 ELSE 1 END", "with opened=2020-01-01"),
        ("age / balance", "within the bounds: for example, with age=120, balance=1e12 the budget is"),
        ("10000 / (balance - age)", "the budget is"),
        ("20 - coalesce(age, 0)", "with age from 10 to 120: for example, with age=120 the budget is -100"),
        ("CASE WHEN age IS NULL THEN 50 ELSE 20 - age END", "with age from 10 to 120"),
        ("CASE WHEN coalesce(age, 5) < 50 THEN 1 ELSE 20 END", "with age from 0 to"),
    ],
)
def test_records_that_the_bounds_allow_and_the_policy_leaves_out_are_named(text: str, sentence: str) -> None:
    policy = Policy(text, at_least=10, at_most=100).within(SCHEMA, BOUNDS)
    stated = policy.left_out(BOUNDS)
    assert stated is not None
    assert stated.startswith("the policy leaves out records with")
    assert sentence in stated


def test_a_whole_number_whose_budget_is_the_least_is_not_stated_to_be_left_out() -> None:
    policy = Policy("10 - coalesce(age, 0)", at_least=1, at_most=10).within(SCHEMA, BOUNDS)
    stated = policy.left_out(BOUNDS, whole={"age"})
    assert stated is not None
    assert "with age from 10 to 120: " in stated


@pytest.mark.parametrize(
    "policy",
    [
        Policy("10000 / balance", at_most=100),
        Policy("CASE WHEN balance > 0 THEN 10000 / balance ELSE 100 END", at_most=50),
        Policy("greatest(100 - age, 1)"),
        Policy("CASE WHEN job = 'a' THEN 0.25 ELSE 3 END"),
        Policy("(age - age) + 1", at_least="1/2", at_most=1),
        Policy.column("eps", at_least=1, at_most=2),
        Policy.constant("1/3"),
    ],
)
def test_nothing_is_stated_where_nobody_within_the_bounds_is_left_out(policy: Policy) -> None:
    assert policy.within(SCHEMA, BOUNDS).left_out(BOUNDS) is None


LIGHT_CLIENT = """
import importlib.util, sys, types

# The package's front door opens tables; a client takes single modules.
package = types.ModuleType("prdp")
package.__path__ = importlib.util.find_spec("prdp").submodule_search_locations
sys.modules |= {"prdp": package, "duckdb": None, "numpy": None}

from prdp.expressions.to_json import from_json
from prdp.policy import Policy

policy = Policy.of(from_json(["/", ["number", 10000], ["column", "balance"]]), at_most=100)
print(policy.budget({"balance": 40_000}))
"""


def test_a_light_client_evaluates_a_policy_without_an_engine() -> None:
    policy = Policy("10000 / balance", at_most=100)
    assert Policy.of(from_json(to_json(policy.expression)), at_most=100) == policy
    run = subprocess.run([sys.executable, "-c", LIGHT_CLIENT], capture_output=True, text=True, check=True)
    assert run.stdout == "0.25\n"


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("10000 / balance", {"balance": (0, 10**12)}),
        ("10000 / balance", {"balance": (-100, 10**12)}),
        ("10000 / balance", {}),
        ("100 - age", {"age": (0, 120)}),
        ("ln(age)", {"age": (0, 120)}),
        ("age / balance", {"age": (0, 120)}),
    ],
)
def test_a_refused_policy_is_refused_with_one_that_can_be_pasted(
    text: str, bounds: dict[str, tuple[int, int]]
) -> None:
    schema = {"balance": ColumnType(Kind.NUMBER), "age": ColumnType(Kind.NUMBER)}
    ends = {column: (Fraction(low), Fraction(high)) for column, (low, high) in bounds.items()}
    with pytest.raises(PolicyError) as refused:
        Policy(text).within(schema, ends)
    stated = re.search(r"A policy that works: '(.*)'\.$", str(refused.value))
    assert stated is not None
    assert Policy(stated[1]).within(schema, ends).levels.at_most > 0


@pytest.mark.parametrize("policy", [Policy("-age"), Policy("age", at_least=200)])
def test_nothing_is_proposed_where_no_record_has_a_budget(policy: Policy) -> None:
    with pytest.raises(PolicyError) as refused:
        policy.within({"age": ColumnType(Kind.NUMBER)}, {"age": (Fraction(1), Fraction(120))})
    assert "A policy that works" not in str(refused.value)


def test_a_policy_that_would_give_nearly_all_records_one_budget_is_not_proposed() -> None:
    schema, ends = {"age": ColumnType(Kind.NUMBER)}, {"age": (Fraction(0), Fraction(120))}
    with pytest.raises(PolicyError) as flat:  # up to 120, 10000 / age is above any cap
        Policy("10000 / age").within(schema, ends)
    assert "A policy that works" not in str(flat.value)
    with pytest.raises(PolicyError, match=r"A policy that works: 'greatest\(100 - age, 0\.000001\)'"):
        Policy("100 - age").within(schema, ends)


@pytest.mark.parametrize("balance", [1_500, 40_000, 10**9])
def test_the_proposal_gives_the_budgets_of_the_policy_where_it_has_them(balance: int) -> None:
    proposed = Policy("least(10000 / greatest(abs(balance), 1000), 10)")
    assert proposed.budget({"balance": balance}) == Policy("10000 / balance").budget({"balance": balance})
