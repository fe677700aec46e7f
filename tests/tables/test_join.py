"""Joins: which results belong to which record, what is refused, and what is answered."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prdp
from prdp.cells.summary import Cell, Summary, magnitude_key
from prdp.errors import BudgetExhausted, InvalidRequest, LedgerError
from prdp.levels import Levels
from prdp.mechanisms.clip import Clip
from prdp.testing import simulate
from prdp.testing.exact_loss import TOLERANCE, worst_loss
from prdp.testing.reference import magnitude_code
from prdp.testing.truth import true_answers, truths
from tests.reading import found

POLICY = prdp.Policy.column("eps", at_least="1/8", at_most="3")
LEVELS = Levels(Fraction(1, 8), Fraction(3))
REFERENCES = {"orders.customer": "customers.id", "items.order": "orders.number", "orders.shop": "shops.code"}
BOUNDS = {"price": (-50, 100)}
MAX_ROWS = 1000

Customer = tuple[int | None, float | None]
Order = tuple[int | None, int | None, str | None]
Item = tuple[int | None, int | None]


def tables(
    customers: Sequence[Customer], orders: Sequence[Order] = (), items: Sequence[Item] = ()
) -> dict[str, Any]:
    whole, text = pyarrow.int64(), pyarrow.string()
    return {
        "customers": pyarrow.table(
            {
                "id": pyarrow.array([row[0] for row in customers], whole),
                "eps": pyarrow.array([row[1] for row in customers], pyarrow.float64()),
            }
        ),
        "orders": pyarrow.table(
            {
                "number": pyarrow.array([row[0] for row in orders], whole),
                "customer": pyarrow.array([row[1] for row in orders], whole),
                "shop": pyarrow.array([row[2] for row in orders], text),
            }
        ),
        "items": pyarrow.table(
            {
                "order": pyarrow.array([row[0] for row in items], whole),
                "price": pyarrow.array([row[1] for row in items], whole),
            }
        ),
        "shops": pyarrow.table({"code": ["a", "b", None], "town": ["Ulm", "Bonn", "Jena"]}),
    }


def opened(sources: dict[str, Any], **options: Any) -> prdp.Join:
    chosen: dict[str, Any] = {
        "private": "customers",
        "key": "id",
        "references": REFERENCES,
        "public": ["shops"],
        "policy": POLICY,
        "bounds": BOUNDS,
        "max_rows": MAX_ROWS,
    }
    return prdp.open_join(sources, **chosen | options)


def summed(join: prdp.Join) -> Summary:
    summary: Summary = found(join, join.plan(prdp.sum("price"), share="1")).totals
    return summary


def counted(join: prdp.Join) -> Summary:
    summary: Summary = found(join, join.plan(prdp.count(), share="1")).totals
    return summary


def expected(
    contributions: dict[Any, list[int]], budgets: dict[Any, list[float | None]], largest: int
) -> Any:
    """Return the cells by plain Python: a record is a key, with its least budget and its results' sum."""
    cells = []
    for key, values in contributions.items():
        if not values:
            continue
        levels = [LEVELS.index(budget) for budget in budgets[key]]
        total = max(-largest, min(largest, sum(values)))
        if None not in levels:
            quanta = LEVELS.quanta(min(level for level in levels if level is not None))
            cells.append(Cell(magnitude_key(quanta, magnitude_code(total), largest), 1, total))
    return Summary.of(LEVELS, 1, largest, cells).cells


keys = st.none() | st.integers(1, 4)
budgets = st.sampled_from([None, math.nan, 0.1, 0.125, 0.5, 1.0, 9.0])
databases = st.tuples(
    st.lists(st.tuples(keys, budgets), max_size=6),
    st.lists(st.tuples(keys, keys, st.sampled_from([None, "a", "b", "z"])), max_size=6),
    st.lists(st.tuples(keys, st.none() | st.integers(-60, 120)), max_size=8),
)


@pytest.mark.slow
@settings(max_examples=60)
@given(data=databases)
def test_results_are_those_of_sql_folded_by_the_private_record(
    data: tuple[list[Customer], list[Order], list[Item]],
) -> None:
    customers, orders, items = data
    join = opened(tables(*data))
    owned: dict[Any, list[float | None]] = defaultdict(list)
    for key, budget in customers:
        owned[key].append(budget)
    in_order: dict[Any, list[int]] = defaultdict(list)
    in_bonn: dict[Any, list[int]] = defaultdict(list)
    for key in owned.keys() - {None}:  # however often it is there, each of its orders is there once
        for number, customer, shop in orders:
            if customer != key:
                continue
            if shop == "b":
                in_bonn[key].append(1)
            for order, price in items:
                if number is not None and order == number:
                    in_order[key] += [] if price is None else [max(-50, min(100, price))]
    assert summed(join.over("items")).cells == expected(in_order, owned, 100 * MAX_ROWS)
    assert counted(join.over("shops").filter("town = 'Bonn'")).cells == expected(in_bonn, owned, MAX_ROWS)


@pytest.mark.slow
@settings(max_examples=40)
@given(data=databases)
def test_a_record_s_cell_depends_on_no_other_record(
    data: tuple[list[Customer], list[Order], list[Item]],
) -> None:
    """Remove a record with the rows that are its own: the other cells stay as they are."""
    customers, orders, items = data
    whole = summed(opened(tables(*data)).over("items"))
    alone = Summary.of(LEVELS, 1, 100 * MAX_ROWS, [])
    for key in {key for key, _ in customers if key is not None}:
        own_orders = [row for row in orders if row[1] == key]
        numbers = {row[0] for row in own_orders}
        own = tables(
            [row for row in customers if row[0] == key],
            own_orders,
            [row for row in items if row[0] in numbers],
        )
        alone = alone.merged(summed(opened(own).over("items")))
    assert whole.cells == alone.cells


ENTITIES: tuple[dict[str, Any], ...] = (
    {"eps": (0.125,), "prices": (3, 4)},
    {"eps": (0.5, 0.3), "prices": (12,)},  # two rows of one key: the least budget
    {"eps": (1.0,), "prices": (-7, 2, 2)},
    {"eps": (3.0,), "prices": (11, 1)},
    {"eps": (1.0, math.nan), "prices": (9,)},  # one of its rows has no budget: left out
)


def test_no_record_with_all_its_rows_loses_more_than_its_share_of_its_budget() -> None:
    """Exactly, on every small database: the cells of the join under the law of clip."""
    from tests.exact.test_clip import FINDER  # noqa: PLC0415

    def summary_of(records: Sequence[Any]) -> Summary:
        customers = [(place, eps) for place, record in enumerate(records) for eps in record["eps"]]
        orders = [(place, place, "a") for place in range(len(records))]
        items = [(place, price) for place, record in enumerate(records) for price in record["prices"]]
        folded = [sum(record["prices"]) for record in records]
        found = summed(opened(tables(customers, orders, items), max_rows=3).over("items"))
        assert sum(cell.total for cell in found.cells) == sum(
            total
            for total, record in zip(folded, records, strict=True)
            if not any(map(math.isnan, record["eps"]))
        )
        return found

    def promised(record: Any) -> float:
        valid = not any(map(math.isnan, record["eps"]))
        return min(record["eps"]) if valid else 0.0

    found = worst_loss(ENTITIES, lambda s: Clip(FINDER).law(s, Fraction(1)), summary_of, promised, 2)
    assert found.excess <= TOLERANCE, found


def shop(customers: int = 3000) -> dict[str, Any]:
    return tables(
        [(key, 1.0 + key % 3) for key in range(customers)],
        [(2 * key + part, key, "ab"[part]) for key in range(customers) for part in range(2)],
        [(number, number % 40) for number in range(2 * customers)],
    )


SAME_KEY = "rows of customers with the same id are one record"


@pytest.mark.parametrize("doubled", [False, True])
def test_it_is_said_of_counts_and_sums_that_rows_with_the_same_key_are_one_record(*, doubled: bool) -> None:
    """Whether some key stands twice is private: the same is said of every table."""
    customers = [(1, 1.0), (2, 1.0), (1 if doubled else 3, 1.0)]
    join = opened(tables(customers, [(10, 1, "a")], [(10, 7)]), synthetic=True)
    over = join.over("items")
    for asked, query in (
        (join, prdp.count()),
        (over, prdp.count()),
        (over, prdp.sum("price")),
        (over, prdp.mean("price")),
        (over.group_by("shop", keys=["a", "b"]), prdp.count()),
    ):
        assert SAME_KEY in str(asked.explain(query, share=1)), query
        assert SAME_KEY in str(simulate(asked, query, share=1, runs=1, seed=1)[0]), query
    for other in (prdp.max("price"), prdp.count_distinct("id")):  # nothing is counted twice
        assert SAME_KEY not in str(over.explain(other, share=1)), other
    alone = opened(tables(customers, [(10, 1, "a")], [(10, 7)]), synthetic=True, one_row_per_unit=True)
    assert SAME_KEY not in str(alone.explain(prdp.count(), share=1))


def test_what_a_customer_s_results_add_up_to_is_the_customer_s_own() -> None:
    """A doubled key doubles no result, an invalid budget excludes its customer, a dangling id is nobody's."""
    customers: list[Customer] = [(1, 1.0), (1, 2.0), (2, 1.0), (3, None), (4, 1.0)]
    orders: list[Order] = [(10, 1, "a"), (11, 1, "b"), (20, 2, "a"), (30, 3, "a"), (90, 9, "b"), (40, 4, "a")]
    items: list[Item] = [(10, 5), (10, 6), (11, 7), (20, 50), (30, 99), (90, 99), (40, None)]
    join = opened(tables(customers, orders, items), synthetic=True)
    over = join.over("items", "shops")
    for query, truth in (
        (prdp.max("price", per_unit="sum"), 50),
        (prdp.min("price", per_unit="sum"), 18),
        (prdp.max("price", per_unit="count"), 3),
        (prdp.min("price", per_unit="count"), 0),
        (prdp.min("price", per_unit="max"), 7),
    ):
        assert true_answers(over, query) == [pytest.approx(truth, rel=0.003)], query
    by_shop = over.group_by("shop", keys=["a", "b"])
    assert true_answers(by_shop, prdp.min("price", per_unit="sum")) == pytest.approx([11, 7], rel=0.003)


def test_counts_and_sums_come_close_to_the_truth() -> None:
    join = opened(shop())
    assert join.count(share="1/4").value == pytest.approx(3000, rel=0.1)
    orders = join.over("orders").count(share="1/4")
    assert orders.value == pytest.approx(6000, rel=0.1)
    assert (
        orders.interval(tail_factor=1)[1] < orders.interval()[1]
    )  # it covers what clipping may have cut off
    assert join.over("items").sum("price", share="1/4").value == pytest.approx(6000 * 19.5, rel=0.1)
    bonn = join.over("items", "shops").filter("town = 'Bonn' AND price > 3")
    true = sum(0.5 * (number % 40) for number in range(1, 6000, 2) if number % 40 > 3)
    assert bonn.sum("price * 0.5", round_to="0.1", share="1/4").value == pytest.approx(true, rel=0.1)
    assert join.ledger.remaining == 0


def test_the_same_question_again_is_free_and_too_much_is_refused() -> None:
    join = opened(shop(50))
    first = join.over("orders").count(share="1/2")
    assert join.over("orders").count(share="1/2") == first
    assert join.over("orders", "shops").count(share="1/4") is not first
    with pytest.raises(BudgetExhausted):
        join.count(share="1/2")


def test_a_ledger_file_is_bound_to_the_references(tmp_path: Path) -> None:
    file = tmp_path / "shop.ledger"
    first = opened(shop(50), ledger=file).count(share="1/2")
    assert opened(shop(50), ledger=file).count(share="1/2") == first
    with pytest.raises(LedgerError, match="max_rows"):
        opened(shop(50), ledger=file, max_rows=7)


def test_simulated_answers_repeat_and_charge_nothing() -> None:
    join = opened(shop(50), synthetic=True).over("items")
    for query in (prdp.count(), prdp.sum("price"), prdp.median("price"), prdp.std("price")):
        one, two = (simulate(join, query, share="1/2", runs=5, seed=3) for _ in range(2))
        assert [release.exact for release in one] == [release.exact for release in two]
        assert all(release.simulated for release in one)
    assert join.ledger.remaining == 1


TOWNS = ["Ulm", "Bonn", "Jena"]
RICH: dict[str, Any] = {"policy": prdp.Policy.constant(500), "bounds": {"price": (0, 100)}, "max_rows": 8}
"""Of two results, each has so much budget that there is nearly no noise."""


@pytest.mark.parametrize(
    ("ask", "truth"),
    [
        (lambda j: j.over("items").median("price", share="1/4"), 19.5),
        (lambda j: j.over("items").quantile("price", "3/4", share="1/4"), 29.5),
        (lambda j: j.over("items").variance("price", share="1/4"), (40**2 - 1) / 12),
        (lambda j: j.over("items").std("price", share="1/4"), math.sqrt((40**2 - 1) / 12)),
        (lambda j: j.over("items").count_distinct("price", share="1/4"), 40),
        (lambda j: j.over("shops").filter("town <> 'Bonn'").count_distinct("town", share="1/4"), 1),
    ],
    ids=["median", "quantile", "variance", "std", "distinct", "distinct of a public table"],
)
def test_queries_that_divide_a_record_s_budget_are_answered_and_charged_once(ask: Any, truth: float) -> None:
    join = opened(shop(), **RICH)
    first = ask(join)
    assert first.value == pytest.approx(truth, rel=0.05)
    assert ask(join) == first
    assert join.ledger.remaining == Fraction(3, 4)


@pytest.mark.parametrize(
    ("query", "truth"),
    [(prdp.count(), 2000), (prdp.sum("price"), 39_000), (prdp.mean("price"), 19.5)],
    ids=str,
)
def test_the_framework_answers_as_a_table_of_the_same_units_does(query: Any, truth: float) -> None:
    rows = [(number % 500, number % 40) for number in range(2000)]
    own, orders = [(key, 3.0) for key in range(500)], [(key, key, "a") for key in range(500)]
    join = opened(tables(own, orders, rows), synthetic=True, **RICH)
    table = prdp.open(
        {"id": np.array([key for key, _ in rows]), "price": np.array([price for _, price in rows])},
        privacy_unit="id",
        synthetic=True,
        **RICH,
    )
    method = prdp.methods.Framework(split="1/2", beta="1/20")
    of_join, of_table = (
        [release.exact for release in simulate(one, query, method=method, share="1/8", runs=5, seed=1)]
        for one in (join.over("items"), table)
    )
    assert of_join == of_table
    assert float(of_join[0]) == pytest.approx(truth, rel=0.1)


def test_a_mechanism_of_ones_own_sees_results_with_parts_of_their_record_s_budget() -> None:
    """A customer with 4 items has a quarter of the budget for each; another join is another question."""
    items = [(order, price) for order in range(100) for price in range(4 if order < 50 else 1)]
    customers, orders = [(key, 2.0) for key in range(100)], [(key, key, "a") for key in range(100)]
    join = opened(tables(customers, orders, items), policy=prdp.Policy.column("eps", at_least=1, at_most=2))
    seen: list[tuple[Any, Fraction]] = []

    def rows_of(rows: Any, epsilon: Fraction, beta: Fraction) -> int:
        assert beta == Fraction(1, 1000)
        seen.append((rows, epsilon))
        return 7

    kept: dict[str, Any] = {"share": "1/4", "split": "1/2", "beta": "1/1000", "name": "rows"}
    dear = join.over("items").filter("price < 9")
    release = dear.run(rows_of, columns=["price", "id"], **kept)
    rows, epsilon = seen[0]
    assert rows.column_names == ["price", "id"]
    assert set(rows["id"].to_pylist()) >= set(range(50, 100))
    most = Fraction(2) / 4 if rows.num_rows > 50 else Fraction(2)
    assert epsilon <= most * Fraction(1, 8)
    assert dear.run(rows_of, columns=["price", "id"], **kept) == release
    assert "over customers, orders, items" in release.question
    join.over("orders").run(rows_of, columns=["id"], **kept)
    assert join.run(rows_of, columns=["id"], **kept).question == "rows of id over customers"
    assert len(seen) == 3
    assert join.ledger.remaining == Fraction(1, 4)
    with pytest.raises(InvalidRequest, match=r"price.*items"):
        join.run(rows_of, columns=["price"], share="1/8")


@pytest.mark.parametrize(
    ("query", "truths"),
    [
        (prdp.max("price"), [38, 39, None]),
        (prdp.median("price"), [19, 20, None]),
        (prdp.count_distinct("price"), [20, 20, 0]),
        (prdp.std("price"), [math.sqrt((40**2 - 4) / 12)] * 2 + [None]),
    ],
    ids=str,
)
def test_by_groups_of_results_a_record_is_in_several_and_is_charged_once(
    query: Any, truths: list[float | None]
) -> None:
    """Of a customer's two items, one has an even price in Ulm, the other an odd price in Bonn."""
    join = opened(shop(), **RICH)
    groups = join.over("items", "shops").group_by("town", keys=TOWNS)
    table = groups.agg(query, share="1/4")
    for town, truth in zip(TOWNS, truths, strict=True):
        if truth is not None:
            assert table[town].value == pytest.approx(truth, rel=0.08, abs=1.5), town
    assert groups.agg(query, share="1/4") == table
    assert join.ledger.remaining == Fraction(3, 4)


def test_empty_tables_are_answered() -> None:
    release = opened(tables([])).over("items").sum("price", share="1")
    low, high = release.interval("999999/1000000")
    assert low <= 0 <= high


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"private": "customer"}, "there is no table 'customer'"),
        ({"key": "ident"}, "names the column 'ident'"),
        ({"public": ["shops", "customers"]}, "private and public at once"),
        ({"references": {**REFERENCES, "items.price": "orders.customer"}}, "joined in two ways"),
        ({"references": {**REFERENCES, "customers.id": "orders.number"}}, "may refer to public tables only"),
        (
            {"references": {"customers.id": "orders.customer"}},
            "did you mean references={'orders.customer': 'customers.id'}",
        ),
        ({"public": "shops"}, r"Write public=\['shops'\]"),
        (
            {"references": {"orders.number": "items.order", "items.order": "orders.number"}},
            "nothing says how|circle",
        ),
        ({"references": {**REFERENCES, "orders.number": "orders.customer"}}, "refers to itself"),
        ({"references": {"orders.customer": "customers.id"}}, "nothing says how 'items'"),
        ({"references": {**REFERENCES, "shops.code": "orders.shop"}}, "Its rows would say who is there"),
        ({"references": {**REFERENCES, "orders": "customers.id"}}, "write 'table.column'"),
        ({"references": {**REFERENCES, "orders.custmer": "customers.id"}}, "Did you mean 'customer'"),
        ({"references": {"orders.shop": "customers.id"}}, "joins VARCHAR with BIGINT"),
        ({"references": ["orders.customer"]}, "is not a dict"),
        ({"types": {"orders": "BIGINT"}}, "is not a dict"),
        ({"types": {"order": {"number": "BIGINT"}}}, "names the table 'order'"),
        ({"max_rows": 0}, "not a number of rows"),
        ({"policy": [1]}, "not a policy"),
        ({"name": 5}, "no name"),
    ],
)
def test_what_public_facts_show_to_be_wrong_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        opened(shop(3), **options)


def test_rows_belong_to_private_records_by_their_key_alone() -> None:
    sources = shop(3)
    sources["customers"] = sources["customers"].append_column("group", pyarrow.array([1, 1, 2]))
    with pytest.raises(InvalidRequest, match="by their key 'id'"):
        opened(sources, references={**REFERENCES, "orders.customer": "customers.group"})


@pytest.mark.parametrize(
    "keys",
    [
        pyarrow.array([(1, 0, 0), (0, 30, 0)], pyarrow.month_day_nano_interval()),  # one to the engine
        pyarrow.array([["ann"], ["ANN"]]),
        pyarrow.array([{"name": "ann"}, {"name": None}]),
    ],
)
def test_a_key_of_which_two_may_be_taken_for_one_is_refused(keys: Any) -> None:
    source = pyarrow.table({"id": keys, "eps": [3.0, 0.125]})
    with pytest.raises(InvalidRequest, match=r"cannot distinguish values of \w+"):
        prdp.open_join({"people": source}, private="people", key="id", references={}, policy=POLICY)


def test_references_that_go_round_in_a_circle_are_refused() -> None:
    sources = shop(3) | {
        "one": pyarrow.table({"x": [1], "y": [2]}),
        "two": pyarrow.table({"z": [1], "w": [2]}),
    }
    with pytest.raises(InvalidRequest, match="round in a circle"):
        opened(sources, references={**REFERENCES, "one.x": "two.z", "two.w": "one.y"})


def test_a_public_table_with_a_key_twice_is_refused_whenever_it_is_so(tmp_path: Path) -> None:
    sources = shop(5)
    path = tmp_path / "shops.parquet"
    pyarrow.parquet.write_table(sources["shops"], path)
    join = opened(sources | {"shops": str(path)})
    twice = pyarrow.table({"code": ["a", "a"], "town": ["Ulm", "Bonn"]})
    with pytest.raises(InvalidRequest, match="several rows for one 'code'"):
        opened(sources | {"shops": twice})
    pyarrow.parquet.write_table(twice, path)
    with pytest.raises(InvalidRequest, match="several rows for one 'code'"):
        join.over("shops").count(share="1/2")
    assert join.ledger.remaining == 1


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda j: j.over("itmes"), "the tables are"),
        (
            lambda j: j.over("items").filter("town = 'Ulm'"),
            r"'town' of the table 'shops'.*Write .over\('shops'\) first",
        ),
        (lambda j: j.sum("Price", share="1/2"), r"Write .over\('items'\) first"),
        (lambda j: j.filter("nothing = 1"), "nothing"),
        (lambda j: j.over("items").sum("number", share="1/2"), "needs the column's public bounds"),
        (lambda j: j.over("items").sum("eps * 3", share="1/2"), "needs the public bounds of eps"),
        (lambda j: j.over("items").sum("price / number", share="1/2"), "needs the public bounds of number"),
        (lambda j: j.over("items").sum("price / 3", round_to="0", share="1/2"), "needs the rounding step"),
        (lambda j: j.over("items").sum("price / 3", round_to="1/10000000000000000", share="1/2"), "2\\^53"),
        (lambda j: j.over("items").sum("1 / price", round_to="1", share="1/2"), "no finite range"),
        (lambda j: j.over("shops").sum("town", share="1/2"), "needs numbers, but 'town' holds text"),
        (lambda j: j.count(share="1/2", method="partition"), "method='partition' keeps all rows of a unit"),
        (lambda j: j.over("items").median("number", share="1/2"), "needs the column's public bounds"),
        (lambda j: j.over("items").std("number", share="1/2"), "needs the column's public bounds"),
        (lambda j: j.over("shops").group_by("town", keys=["Ulm"]).min("number", share="1/2"), "bounds"),
        (lambda j: j.group_by("town", keys=["Ulm"]), r"Write .over\('shops'\) first"),
        (lambda j: j.group_by("id", keys=[1, 2]).count(share="1/2"), "names a protected record"),
        (
            lambda j: j.over("orders").group_by("customer", keys=[1]).count(share="1/2"),
            "a row of 'customers'",
        ),
        (lambda j: j.over("items").group_by("number", keys=[1]).count(share="1/2"), "a row of 'orders'"),
        (lambda j: j.count(share=1 / 3), "share='1/3'"),
    ],
)
def test_a_wrong_question_is_refused_and_nothing_is_charged(ask: Any, says: str) -> None:
    join = opened(shop(3))
    with pytest.raises(InvalidRequest, match=says):
        ask(join)
    assert join.ledger.remaining == 1


def test_columns_that_several_tables_have_are_called_by_their_table_too() -> None:
    sources = shop(100)
    renamed = sources["items"].rename_columns(["order", "id"])
    join = opened(
        sources | {"items": renamed}, bounds={"items.id": (0, 100)}, key="id", references=REFERENCES
    )
    total = join.over("items").filter('"items.id" > 10').sum('"items.id"', share="1/2")
    low, high = total.interval("0.999999")
    assert low < sum(price for price in renamed["id"].to_pylist() if price > 10) < high


@pytest.mark.parametrize("name", ["prdp id", "PRDP ID", "Prdp Level"])
def test_a_column_cannot_have_a_name_of_the_statement_s_own_in_any_capitals(name: str) -> None:
    sources = shop(3)
    with pytest.raises(InvalidRequest, match="Rename it"):
        opened(sources | {"items": sources["items"].rename_columns(["order", name])}, bounds={})


def test_a_relation_is_refused_with_advice() -> None:
    import duckdb  # noqa: PLC0415

    with pytest.raises(InvalidRequest, match="cannot read a DuckDB relation"):
        opened(shop(3) | {"items": duckdb.sql('SELECT 1 AS "order", 2 AS price')})


@pytest.mark.parametrize(
    "name", ["id", "level", "value", "budget", "held0", "own0", "grp", "key0", "added", "part"]
)
def test_columns_may_be_called_what_the_statement_calls_its_own(name: str) -> None:
    """Whatever an own column and a row's are called, they are read, filtered and grouped by as such."""
    private = {"who": [1, 2, 2, 3], f"own {name}": [10, 20, 20, 30]}
    rows = {"of": [1, 2, 2, 3, 9], name: [5, 6, 7, 8, 9]}
    other = {"who": private["who"], name: private[f"own {name}"]}
    for own, column, held in ((f"own {name}", name, private), (name, "v", other)):
        reported = {"of": rows["of"], column: rows[name]}
        sources = {"people": pyarrow.table(held), "rows": pyarrow.table(reported)}
        join = prdp.open_join(
            sources,
            private="people",
            key="who",
            references={"rows.of": "people.who"},
            policy="1",
            bounds={own: (0, 100), column: (0, 100)},
        ).over("rows")
        asked = join.filter(f'"{own}" >= 20').plan(prdp.sum(f'"{column}" + 0 * "{own}"'), share="1")
        assert sum(cell.total for cell in found(join, asked).totals.cells) == 6 + 7 + 8
        for by, keys, true in ((own, [10, 20], [1, 2]), (column, [5, 6, 9], [1, 1, 0])):
            groups = join.group_by(f'"{by}"', keys=keys)
            (plan,) = groups.plan(prdp.count(), share="1").queries
            assert [value for cells in join._reader.read(plan.read) for value in truths(plan, cells)] == true
