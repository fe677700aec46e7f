"""A table with ``privacy_unit``: a customer with all of that customer's rows is one record."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.declare.units import MAX_ROWS
from prdp.errors import InvalidRequest, LedgerError
from prdp.plan import queries
from prdp.plan.question_key import in_words
from prdp.testing import Seeded, simulate
from prdp.testing.truth import true_answers, truths
from tests.reading import found

CUSTOMERS, N = 3_000, 24_000
RNG = np.random.default_rng(11)
PRICES = (100, 10**6)
STATUS = ["F", "O", "P"]
ORDERS = pd.DataFrame(
    {
        "o_custkey": RNG.integers(0, CUSTOMERS, N) * 3 // 2,  # as in TPC-H, a third of the keys has no orders
        "o_totalprice": np.minimum(RNG.lognormal(9, 1, N).astype(int) + 100, 10**6),
        "o_orderstatus": pd.array(np.array(STATUS)[RNG.choice(3, N, p=[0.49, 0.48, 0.03])], dtype="string"),
        "o_shippriority": RNG.integers(0, 100, N),
    }
)
POLICY = prdp.Policy("100000 / o_totalprice", at_least="1/10", at_most=50)
BOUNDS = {"o_totalprice": PRICES}


def orders(source: object = None, **options: Any) -> prdp.Table:
    chosen: dict[str, Any] = {"policy": POLICY, "bounds": BOUNDS, "privacy_unit": "o_custkey"} | options
    return prdp.open(ORDERS if source is None else source, **chosen)


def one_row_per_customer(kept: Any = True) -> prdp.Table:
    """Fold the orders by hand, budgets over all of them and the rest over those that are kept."""
    eps = np.minimum(50, 100_000 / ORDERS["o_totalprice"])
    least = eps.groupby(ORDERS["o_custkey"]).min()
    rows = ORDERS if kept is True else ORDERS[kept]
    prices = rows.groupby("o_custkey")["o_totalprice"]
    folded = pd.DataFrame(
        {"n": prices.size(), "total": prices.sum(), "largest": prices.max(), "smallest": prices.min()}
    )
    folded["eps"] = least[folded.index]
    return prdp.open(
        folded,
        policy=prdp.Policy.column("eps", at_least="1/10", at_most=50),
        bounds={
            "n": (1, MAX_ROWS),
            "total": (PRICES[0], PRICES[1] * MAX_ROWS),
            "largest": PRICES,
            "smallest": PRICES,
        },
        synthetic=True,
    )


def values(table: prdp.Table, query: Any, share: str, **options: Any) -> list[Fraction]:
    return [release.exact for release in simulate(table, query, share=share, runs=25, seed=3, **options)]


@pytest.mark.parametrize("where", [None, "o_orderstatus = 'F'"])
@pytest.mark.parametrize("method", ["clip", "naive"])
def test_answers_are_those_of_a_table_with_one_row_per_customer(where: str | None, method: str) -> None:
    table = orders(synthetic=True) if where is None else orders(synthetic=True).filter(where)
    folded = one_row_per_customer(True if where is None else ORDERS["o_orderstatus"] == "F")
    for query, same in ((prdp.count(), prdp.sum("n")), (prdp.sum("o_totalprice"), prdp.sum("total"))):
        assert values(table, query, "1/3", method=method) == values(folded, same, "1/3", method=method)
    for asked, other in (
        (prdp.max("o_totalprice"), prdp.max("largest")),
        (prdp.min("o_totalprice"), prdp.min("smallest")),
    ):
        found, folded_one = (
            float(np.median(np.array(values(source, extreme, "1/3"), float)))
            for source, extreme in ((table, asked), (folded, other))
        )
        assert folded_one / 3 < found < 3 * folded_one  # a policy that reads the column has another prior


@pytest.mark.parametrize("where", [None, "o_orderstatus = 'F'"])
def test_quantiles_per_unit_are_those_of_a_table_with_one_row_per_customer(where: str | None) -> None:
    table = orders(synthetic=True) if where is None else orders(synthetic=True).filter(where)
    folded = one_row_per_customer(True if where is None else ORDERS["o_orderstatus"] == "F")
    for asked, same in (
        (prdp.median("o_totalprice", per_unit="sum"), prdp.median("total")),
        (prdp.quantile("o_totalprice", 0.9, per_unit="max"), prdp.quantile("largest", 0.9)),
        (prdp.quantile("o_totalprice", 0.1, per_unit="min"), prdp.quantile("smallest", 0.1)),
    ):
        assert values(table, asked, "1/3") == values(folded, same, "1/3"), asked
        assert true_answers(table, asked) == true_answers(folded, same), asked
    truth = float(np.median(ORDERS["o_totalprice"].groupby(ORDERS["o_custkey"]).sum()))
    if where is None:
        assert float(true_answers(table, prdp.median("o_totalprice", per_unit="sum"))[0]) == pytest.approx(
            truth, rel=0.003
        )


def test_a_count_per_unit_counts_rows_with_a_value_and_none_for_a_customer_who_has_none() -> None:
    who, v = [1, 1, 1, 2, 2, 3, None], [5.0, 5.0, None, None, None, 7.0, 7.0]
    frame = pd.DataFrame({"who": pd.array(who, dtype="Int64"), "v": v})
    table = prdp.open(frame, policy="1", bounds={"v": (0, 9)}, privacy_unit="who", synthetic=True)
    for column, least, middle, most in (("v", 0, 1, 2), ("v + 0", 0, 1, 2), ("who", 1, 2, 3)):
        asked = (prdp.min, prdp.median, prdp.max)
        known = [true_answers(table, query(column, per_unit="count"))[0] for query in asked]
        assert known == [least, middle, most], column
    sums = [true_answers(table, query("v", per_unit="sum"))[0] for query in (prdp.min, prdp.max)]
    assert sums == pytest.approx([7, 10], rel=0.003), "a customer whose values are all NULL has no sum"


def test_totals_per_unit_in_groups_of_rows_are_each_customer_s_own_there() -> None:
    table: Any = orders(synthetic=True)
    groups = table.group_by("o_orderstatus", keys=["F", "O"])
    own = ORDERS.groupby(["o_orderstatus", "o_custkey"])["o_totalprice"].sum()
    known = true_answers(groups, prdp.median("o_totalprice", per_unit="sum"))
    for answer, status in zip(known, ("F", "O"), strict=True):
        assert float(answer) == pytest.approx(float(own[status].median()), rel=0.003)
    explained = groups.explain(prdp.median("o_totalprice", per_unit="sum"), share="1/2")
    assert "divides  each unit's budget among its groups" in str(explained)


@pytest.mark.parametrize("share", ["1/10", 1])
def test_what_a_statement_says_of_totals_is_what_python_asks(share: str | int) -> None:
    opened = orders()
    answer = opened.median("o_totalprice", per_unit="sum", share=share)
    statement = (
        "SELECT MEDIAN(t) FROM (SELECT o_custkey, SUM(o_totalprice) AS t FROM self GROUP BY o_custkey) AS x"
    )
    left = opened.remaining
    rows: Any = opened.sql(statement, share=share).rows
    assert rows[0][0].value == answer.value
    assert opened.remaining == left, "the same question is not charged twice"
    assert in_words(opened.ledger.entries[0].purpose).startswith("median of sum of o_totalprice per unit")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda table: table.median("o_totalprice", per_unit="mean", share=1),
            "'sum', 'count', 'max' or 'min'",
        ),
        (
            lambda table: table.median("o_totalprice", per_unit=["sum"], share=1),
            "'sum', 'count', 'max' or 'min'",
        ),
        (
            lambda table: table.median("o_totalprice", per_unit="sum", unit_weighted=True, share=1),
            "one value al",
        ),
        (
            lambda table: table.max("o_totalprice", per_unit="sum", method="framework", share=1),
            "'choice' alone",
        ),
    ],
)
def test_what_has_no_meaning_per_unit_is_refused_and_not_charged(ask: Any, says: str) -> None:
    table = orders()
    with pytest.raises(InvalidRequest, match=says):
        ask(table)
    with pytest.raises(InvalidRequest, match="a row is a record here"):
        prdp.open(ORDERS, policy=POLICY, bounds=BOUNDS).median("o_totalprice", per_unit="sum", share=1)
    assert table.remaining == 1


def test_a_declared_limit_of_rows_cuts_off_what_a_customer_adds_up_to_and_says_so() -> None:
    frame = pd.DataFrame({"who": np.repeat([1, 2, 3], [1, 5, 9]), "v": 4})
    table = prdp.open(frame, policy="1", bounds={"v": (0, 4)}, privacy_unit="who", max_rows=3, synthetic=True)
    assert true_answers(table, prdp.max("v", per_unit="sum")) == [12]
    assert true_answers(table, prdp.max("v", per_unit="count")) == [3]
    assert "adds at most 3 times the bound" in str(table.explain(prdp.max("v", per_unit="sum"), share=1))
    assert "at most 3 rows of each who count" in str(table.explain(prdp.max("v", per_unit="count"), share=1))


@pytest.mark.parametrize("where", [None, "o_orderstatus = 'F'"])
def test_the_different_values_of_the_protected_column_are_the_customers(where: str | None) -> None:
    table = orders(synthetic=True) if where is None else orders(synthetic=True).filter(where)
    folded = one_row_per_customer(True if where is None else ORDERS["o_orderstatus"] == "F")
    asked = values(table, prdp.count_distinct("o_custkey"), "1/3")
    assert asked == values(folded, prdp.count(), "1/3")


def test_customers_are_counted_in_each_group_that_they_have_rows_in() -> None:
    groups = orders(synthetic=True).group_by("o_orderstatus", keys=["F", "O", "nobody"])
    tables = simulate(groups, prdp.count_distinct("o_custkey"), share="1/2", runs=21, seed=5)
    for status, tolerance in (("F", 0.05), ("O", 0.05), ("nobody", 0)):
        truth = len(set(ORDERS["o_custkey"][ORDERS["o_orderstatus"] == status]))
        found = [table[status].value for table in tables]
        assert np.median(found) == pytest.approx(truth, rel=tolerance, abs=30)
    assert true_answers(groups, prdp.count_distinct("o_custkey"))[2] == 0


def test_an_interval_of_counted_customers_excludes_none_for_the_number_of_their_rows() -> None:
    table = orders(synthetic=True)
    counted = simulate(table, prdp.count_distinct("o_custkey"), share="1/10", runs=1, seed=5)[0]
    assert "with a budget below" in counted.excludes
    groups = table.group_by("o_orderstatus", keys=["F", "O"])
    by_status = simulate(groups, prdp.count_distinct("o_custkey"), share="1/10", runs=1, seed=5)[0]
    assert "in more groups than" in by_status["F"].excludes
    assert "more rows than" in simulate(table, prdp.count(), share="1/10", runs=1, seed=5)[0].excludes


def visits(**options: Any) -> prdp.Table:
    """Return visits of people who all go to eight shops, and each to one of 300 that few others go to."""
    rare = [shop for shop in range(8, 308) for _ in range(1 + shop % 20)]
    rows = [(person, shop) for person, own in enumerate(rare) for shop in (*range(8), own)]
    person, shop = (np.array(column) for column in zip(*rows, strict=True))
    source = {"person": person, "shop": shop}
    return prdp.open(source, policy="1", privacy_unit="person", name="visits", **options)


@pytest.mark.parametrize("options", [{}, {"max_rows": 16}], ids=["max_rows not declared", "max_rows"])
def test_budgets_that_common_keys_do_not_need_count_rare_ones(options: Mapping[str, Any]) -> None:
    """With a ninth of a person's budget behind each shop, every tenth shop is missing."""
    answers = simulate(
        visits(synthetic=True, **options), prdp.count_distinct("shop"), share=1, runs=41, seed=1
    )
    assert np.median([abs(answer.value - 308) for answer in answers]) < 308 / 50


def test_different_keys_of_units_are_one_question_in_python_and_sql() -> None:
    table = visits()
    (row,) = table.sql("SELECT COUNT(DISTINCT shop) FROM visits", share="1/2").values
    assert row == (table.count_distinct("shop", share="1/2").value,)
    assert table.remaining == Fraction(1, 2)


@pytest.mark.parametrize("by", [None, "o_orderstatus"])
def test_quantiles_largest_values_and_different_values_come_close_to_the_truth(by: str | None) -> None:
    table: Any = orders(synthetic=True)
    opened = table if by is None else table.group_by(by, keys=["F"])
    rows = ORDERS["o_totalprice"] if by is None else ORDERS["o_totalprice"][ORDERS["o_orderstatus"] == "F"]
    for query, truth, rel in (
        (prdp.median("o_totalprice"), np.median(rows), 0.15),
        (prdp.quantile("o_totalprice", "1/4"), np.quantile(rows, 0.25), 0.15),
        (prdp.max("o_totalprice"), rows.max(), 0.9),
        (prdp.min("o_totalprice"), rows.min(), 1.0),
    ):
        found = simulate(opened, query, share="1/2", runs=15, seed=2)
        values = [release.value if by is None else release["F"].value for release in found]
        assert np.median(values) == pytest.approx(truth, rel=rel), query


def test_a_unit_weighted_median_counts_each_customer_once() -> None:
    often = np.repeat([1, 2], [9_000, 3_000])  # three rows of each dear customer, one of each other
    who = np.concatenate([np.repeat(np.arange(3_000), 3), np.arange(3_000, 6_000)])
    frame = pd.DataFrame({"who": who, "v": np.where(often == 1, 800, 100) + np.arange(12_000) % 50})
    table = prdp.open(frame, policy="1", bounds={"v": (0, 1_000)}, privacy_unit="who", synthetic=True)
    rows, units = (
        np.median([one.value for one in simulate(table, query, share=1, runs=9, seed=1)])
        for query in (prdp.quantile("v", "2/5"), prdp.quantile("v", "2/5", unit_weighted=True))
    )
    assert rows > 790
    assert units < 160
    text = table.explain(prdp.quantile("v", "2/5", unit_weighted=True), share=1)
    assert "unit-weighted 0.4 quantile" in text
    for opened, says in (
        (orders(), "gives all units one budget"),
        (prdp.open(frame, policy="1", bounds={"v": (0, 1_000)}), "a row is a record here"),
    ):
        column = "v" if says.startswith("a row") else "o_totalprice"
        with pytest.raises(InvalidRequest, match=says):
            opened.median(column, share=1, unit_weighted=True)


@pytest.mark.parametrize("by", [None, "o_orderstatus"])
def test_a_spread_comes_close_to_the_truth(by: str | None) -> None:
    even = ORDERS.assign(o_totalprice=np.random.default_rng(3).integers(1_000, 9_000, N))
    table: Any = orders(even, synthetic=True, policy="1", bounds={"o_totalprice": (0, 10_000)})
    opened = table if by is None else table.group_by(by, keys=["F", "O"])
    kept = slice(None) if by is None else even["o_orderstatus"] == "O"
    truth = float(np.std(even["o_totalprice"][kept]))
    (*_, known) = true_answers(opened, prdp.std("o_totalprice"))
    assert float(known) == pytest.approx(truth, rel=1e-6)
    found = simulate(opened, prdp.std("o_totalprice"), share=1, runs=9, seed=2)
    values = [release.value if by is None else release["O"].value for release in found]
    assert np.median(values) == pytest.approx(truth, rel=0.15)


def test_a_mechanism_of_the_caller_s_own_sees_rows_of_units_with_much_budget_for_each() -> None:
    table = orders(synthetic=True)
    release = table.run(lambda rows, epsilon, beta: rows.num_rows, columns=["o_totalprice"], share="1/2")
    assert 0 < release.value <= N
    assert release.epsilon < 1
    text = table.explain_run(lambda rows, epsilon, beta: 0, columns=["o_totalprice"], share="1/2")
    assert "divides  each unit's budget among its rows" in text


def test_a_mean_is_made_of_the_folded_sum_and_the_folded_count() -> None:
    means = simulate(orders(synthetic=True), prdp.mean("o_totalprice"), share="1/2", runs=25, seed=3)
    sums = [release.parts[0].exact for release in means]
    assert sums == values(one_row_per_customer(), prdp.sum("total"), "3/8")
    assert np.median([release.parts[1].value for release in means]) == pytest.approx(N, rel=0.1)
    assert np.median([release.value for release in means]) == pytest.approx(
        ORDERS["o_totalprice"].mean(), rel=0.15
    )


@pytest.mark.parametrize("query", [prdp.count(), prdp.sum("o_totalprice")], ids=str)
def test_groups_come_close_to_the_truth_and_an_unknown_key_to_nothing(query: Any) -> None:
    groups = orders(synthetic=True).group_by("o_orderstatus", keys=["F", "O", "nobody"])
    tables = simulate(groups, query, share="1/2", runs=21, seed=5)
    prices = ORDERS.groupby("o_orderstatus")["o_totalprice"]
    truth = (prices.size() if isinstance(query, queries.Count) else prices.sum()).to_dict()
    for place, key in enumerate(["F", "O", "nobody"]):
        median = np.median([float(table.releases[place][0].value) for table in tables])
        assert median == pytest.approx(truth.get(key, 0), abs=0.15 * truth["F"])
    assert {release.method for (release,) in tables[0].releases} == {"joint"}


def test_means_by_group_and_histograms_are_answered_and_charged_once() -> None:
    table = orders()
    means = table.group_by("o_orderstatus", keys=STATUS).mean("o_totalprice", share="1/4")
    assert [len(row[0].parts) for row in means.releases] == [2, 2, 2]
    both = table.group_by("o_orderstatus", keys=STATUS).agg(
        prdp.count(), prdp.sum("o_totalprice"), share="1/4"
    )
    assert [len(row) for row in both.releases] == [2, 2, 2]
    histogram = table.histogram("o_shippriority", edges=[0, 50, 100], share="1/4")
    assert len(histogram) == 2
    assert table.ledger.remaining == Fraction(1, 4)
    assert table.group_by("o_orderstatus", keys=STATUS).mean("o_totalprice", share="1/4") == means


def cells_of(table: Any, query: Any, groups: Any = None) -> tuple[Any, Any]:
    """Return how a query is answered, and what the engine finds for it."""
    plan = table.planner.plan([query], 1, groups)
    return plan.queries[0], found(table, plan)


def test_plans_know_what_is_true_of_units() -> None:
    price = ORDERS["o_totalprice"]
    assert truths(*cells_of(orders(), prdp.count())) == [N]
    assert truths(*cells_of(orders(), prdp.sum("o_totalprice"))) == [price.sum()]
    assert truths(*cells_of(orders(), prdp.mean("o_totalprice"))) == [Fraction(int(price.sum()), N)]
    assert float(*truths(*cells_of(orders(), prdp.max("o_totalprice")))) == pytest.approx(
        price.max(), rel=0.1
    )
    assert float(*truths(*cells_of(orders(), prdp.min("o_totalprice")))) == pytest.approx(
        price.min(), rel=0.1
    )
    groups = orders().group_by("o_orderstatus", keys=["O", "nobody", "F"])
    by_status = price.groupby(ORDERS["o_orderstatus"]).sum()
    found = truths(*cells_of(groups.table, prdp.sum("o_totalprice"), groups.grouping))
    assert found == [by_status["O"], 0, by_status["F"]]
    both = orders(synthetic=True).group_by("o_orderstatus", keys=["O", "F"])
    assert prdp.share_for(prdp.count(), error="60%", like=both, runs=20).share is not None


def test_smallest_values_by_group_are_as_near_whatever_limit_of_rows_is_declared() -> None:
    """A unit's budget is divided among its groups, of which there are three, not among its rows."""
    smallest = ORDERS.groupby("o_orderstatus")["o_totalprice"].min()
    for max_rows in (8, 2**20):
        table = orders(policy="1000", max_rows=max_rows, synthetic=True)
        groups = table.group_by("o_orderstatus", keys=list(STATUS))
        tables = simulate(groups, prdp.min("o_totalprice"), share=1, runs=20, seed=7)
        far = [abs(one[key].exact / int(smallest[key]) - 1) for one in tables for key in STATUS]
        assert sorted(far)[len(far) // 2] < Fraction(1, 20)


def counted(rows: Mapping[str, Any], **options: Any) -> int:
    """Return how many rows take part, by the cells of the open table."""
    table = prdp.open(
        pd.DataFrame(rows),
        policy=prdp.Policy.column("eps", at_least="1/10", at_most=10),
        privacy_unit="who",
        **options,
    )
    _, cells = cells_of(table, prdp.count())
    return sum(cell.total for cell in cells.totals.cells)


@pytest.mark.parametrize("budget", [None, float("nan"), 0.0, -1.0, 0.05, float("-inf")])
def test_one_invalid_row_leaves_its_whole_unit_out(budget: float | None) -> None:
    eps = pd.Series([1.0, budget, 2.0, 3.0], dtype="Float64") if budget is None else [1.0, budget, 2.0, 3.0]
    assert counted({"who": [1, 1, 1, 2], "eps": eps}) == 1
    assert counted({"who": [1, 3, 1, 2], "eps": eps}) == 3


def test_rows_of_nobody_are_left_out() -> None:
    assert counted({"who": [1.0, np.nan, np.nan, 2.0], "eps": [1.0] * 4}) == 2
    assert counted({"who": pd.array(["a", None, "b", None], dtype="string"), "eps": [1.0] * 4}) == 2


def test_an_unit_with_more_rows_than_the_public_limit_is_cut_off_there_and_nothing_overflows() -> None:
    """One unit has 2^20 + 8 rows of the least value that groups allow, and as many of the greatest."""
    most = 2**43 - 1
    rows = f"SELECT k % 2 AS g FROM range(2 * ({MAX_ROWS} + 8)) AS t(k)"
    table = prdp.open(
        duckdb.sql(f"SELECT 1 AS who, 1.0::DOUBLE AS eps, g, {most} * (1 - 2 * g) AS v FROM ({rows})"),
        policy=prdp.Policy.column("eps", at_least="1/10", at_most=10),
        bounds={"v": (-most, most)},
        privacy_unit="who",
    )
    _, cells = cells_of(table, prdp.count())
    assert [cell.total for cell in cells.totals.cells] == [MAX_ROWS]
    _, found = cells_of(table, prdp.sum("v"), table.group_by("g", keys=[0, 1]).grouping)
    limit = MAX_ROWS * most
    assert [cell.total for cell in found.totals.summary.cells] == [limit]
    assert found.totals.unclipped() == (limit // 2, -(limit // 2))
    assert found.rows.unclipped() == (MAX_ROWS // 2, MAX_ROWS // 2)


def test_texts_that_a_session_collates_are_still_two_units() -> None:
    """Were they one, adding the well protected one would lower the other's cap: it would lose too much."""
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'nocase'")
    relation = connection.sql("SELECT * FROM (VALUES ('ann', 1.0::DOUBLE), ('ANN', NULL)) AS t(who, eps)")
    policy = prdp.Policy.column("eps", at_least="1/10", at_most=10)
    table = prdp.open(relation, policy=policy, privacy_unit="who", rows_are_records=True)
    _, cells = cells_of(table, prdp.count())
    assert sum(cell.total for cell in cells.totals.cells) == 1


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda t: t.count(share="1/2", method="partition"), "method='partition' keeps all rows of a unit"),
        (
            lambda t: t.group_by("o_orderstatus", keys=STATUS).count(share="1/2", method="naive"),
            "method='naive' keeps all rows of a unit by group",
        ),
    ],
)
def test_what_is_not_proved_is_refused_with_the_reason_before_any_charge(ask: Any, says: str) -> None:
    table = orders()
    with pytest.raises(InvalidRequest, match=says):
        ask(table)
    assert table.ledger.remaining == 1
    assert table._reader.kept == {}


def test_sums_too_large_to_share_out_among_groups_are_refused() -> None:
    table = orders(bounds={"o_totalprice": (100, 2**43)}, policy="100000 / o_totalprice")
    with pytest.raises(
        InvalidRequest,
        match="8,796,093,022,208 rounding steps of 1 in each of 1,048,576 rows: 2\\^63 or more",
    ):
        table.group_by("o_orderstatus", keys=STATUS).sum("o_totalprice", share="1/2")
    assert table.ledger.remaining == 1
    assert table.sum("o_totalprice", share="1/2").value > 0


def test_the_protected_column_is_known_and_can_be_distinguished() -> None:
    with pytest.raises(InvalidRequest, match="Did you mean 'o_custkey'"):
        orders(privacy_unit="o_custkeys")
    assert orders(privacy_unit="O_CUSTKEY").privacy_unit == "o_custkey"
    things = pd.DataFrame({"thing": [object()]})
    with pytest.raises(InvalidRequest, match="cannot distinguish values of Python objects"):
        prdp.open(things, policy=prdp.Policy.constant(1), privacy_unit="thing")


def test_a_ledger_is_bound_to_what_is_protected(tmp_path: Path) -> None:
    path = tmp_path / "orders.ledger"
    counts = orders(ledger=path).group_by("o_orderstatus", keys=STATUS).count(share="1/4")
    with pytest.raises(LedgerError, match="privacy_unit: o_custkey -> none"):
        orders(ledger=path, privacy_unit=None)
    assert orders(ledger=path).group_by("o_orderstatus", keys=STATUS).count(share="1/4") == counts
    assert orders(ledger=path).ledger.remaining == Fraction(3, 4)


def test_a_real_question_about_groups_is_answered_with_redraw_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prdp.run.answer.SystemEntropy", lambda: Seeded(7))
    table = orders()
    counts = table.filter("o_totalprice > 5000").group_by("o_orderstatus", keys=["F"]).count(share="1/2")
    truth = int(((ORDERS["o_orderstatus"] == "F") & (ORDERS["o_totalprice"] > 5000)).sum())
    assert counts.releases[0][0].value == pytest.approx(truth, rel=0.3)
    assert "over all groups" in dict(counts.releases[0][0].choices)["clipped at"]


def test_a_share_for_a_number_of_units_is_found_by_their_number_and_not_by_their_rows() -> None:
    unit = np.repeat(np.arange(2_000), 5)
    like = prdp.open({"who": unit}, policy="1", privacy_unit="who", synthetic=True)
    found = prdp.share_for(prdp.count_distinct("who"), error="20%", like=like, runs=20)
    assert found.share is not None


@pytest.mark.parametrize("bounds", [(11_000_000, 12_500_000), (10**12, 10**12 + 9)])
@pytest.mark.parametrize("group", ["a", "not listed"])
@pytest.mark.parametrize("asked", [{}, {"method": "naive"}])
def test_no_row_makes_squares_fail_where_groups_are_asked_apart_and_bounds_are_far_from_zero(
    bounds: tuple[int, int], group: str, asked: dict[str, Any]
) -> None:
    """Each group is read around its own center; the rows of the others are read beside it."""
    values = [bounds[0] + place % 5 for place in range(40)]
    groups = ["a" if place % 2 else "b" for place in range(40)]
    policy = "1" if asked else "CASE WHEN g = 'a' THEN 1 ELSE 2 END"
    for more in ([], [bounds[1]]):
        table = prdp.open(
            pd.DataFrame({"u": range(40 + len(more)), "v": values + more, "g": groups + [group] * len(more)}),
            policy=prdp.Policy(policy, at_least=1, at_most=2),
            privacy_unit="u",
            one_row_per_unit=True,
            bounds={"v": bounds},
            synthetic=True,
        )
        assert len(table.group_by("g", keys=["a", "b"]).std("v", share="1/8", **asked)) == 2


@pytest.mark.parametrize(
    ("query", "stated"),
    [
        (prdp.count(), True),
        (prdp.mean("o_shippriority"), True),
        (prdp.std("o_shippriority"), True),
        (prdp.median("o_shippriority"), False),
        (prdp.count_distinct("o_custkey"), False),
    ],
)
def test_an_answer_states_that_rows_beyond_a_declared_limit_are_cut_off(query: Any, stated: bool) -> None:
    few = orders(bounds=BOUNDS | {"o_shippriority": (0, 99)}, max_rows=3)
    assert ("at most 3 rows of each o_custkey count" in str(few.agg(n=query, share="1/4"))) == stated
    many = orders(bounds=BOUNDS | {"o_shippriority": (0, 99)})
    assert "at most" not in str(many.agg(n=query, share="1/4"))


def test_a_sum_states_how_much_a_declared_limit_lets_a_unit_add() -> None:
    assert "each o_custkey adds at most 3 times the bound" in str(
        orders(max_rows=3).sum("o_totalprice", share="1/4")
    )
