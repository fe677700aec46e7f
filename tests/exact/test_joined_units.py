"""Units of a join, on every small database: with all that belongs to one, no output says more than E(u)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import pyarrow
import pytest

import prdp
from prdp.cells.summary import Summary
from prdp.cells.units import UnitCells
from prdp.noise.laws import Law
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from tests.exact.test_clip import COARSE, TOTAL_PART
from tests.exact.test_rank import MEDIAN, SIDES, sides_at
from tests.exact.universe import POLICY

NAN = math.nan
Database = Mapping[str, Sequence[tuple[Any, ...]]]


@dataclass(frozen=True)
class Person:
    """A unit: its own rows (budget, town, whether a member), and its items (price, colour)."""

    name: str
    own: tuple[tuple[float | None, str | None, bool], ...]
    items: tuple[tuple[int | None, str], ...]

    @property
    def budget(self) -> float:
        """What it is promised: the least over all own rows, and 0 if one of them has none."""
        return min(POLICY.budget({"eps": eps}) or 0.0 for eps, *_ in self.own)


PEOPLE = (
    Person("ann", ((1.0, "a", True),), ((7, "red"), (5, "blue"))),
    Person("ANN", ((0.125, "b", True),), ((12, "red"),)),  # nobody but ann has these letters
    Person("twice", ((3.0, "a", True), (2.0, "a", True)), ((12, "red"), (12, "blue"))),
    Person("moved", ((0.5, "a", True), (0.5, "b", True)), ((12, "red"), (12, "red"))),
    Person("left", ((3.0, "a", True), (0.2, "a", False)), ((9, "red"), (-5, "blue"))),
    Person("odd", ((1.0, "a", True), (NAN, "b", True)), ((12, "red"),)),
    Person("poor", ((0.15, "b", True),), ((12, "blue"), (None, "red"))),
)


def database(people: Sequence[Person]) -> dict[str, list[tuple[Any, ...]]]:
    """Return the tables of some people, and an item that belongs to nobody."""
    return {
        "people": [(person.name, *row) for person in people for row in person.own],
        "items": [(person.name, *item) for person in people for item in person.items]
        + [("stranger", 12, "red"), (None, 12, "red")],
    }


def opened(tables: Database) -> prdp.Join:
    people, items = (list(zip(*tables[name], strict=True)) for name in ("people", "items"))
    text, number = pyarrow.string(), pyarrow.float64()
    names, eps, towns, members = people or ((), (), (), ())
    unit, prices, colours = items
    return prdp.open_join(
        {
            "people": pyarrow.table(
                {
                    "name": pyarrow.array(names, text),
                    "eps": pyarrow.array(eps, number),
                    "town": pyarrow.array(towns, text),
                    "member": pyarrow.array(members, pyarrow.bool_()),
                }
            ),
            "items": pyarrow.table(
                {
                    "owner": pyarrow.array(unit, text),
                    "price": pyarrow.array(prices, pyarrow.int64()),
                    "colour": pyarrow.array(colours, text),
                }
            ),
        },
        private="people",
        key="name",
        references={"items.owner": "people.name"},
        policy=POLICY,
        bounds={"price": (-12, 12)},
        max_rows=4,
    ).over("items")


Asked = Callable[[prdp.Join], Any]


def total(join: prdp.Join) -> Any:
    return join


def members(join: prdp.Join) -> Any:
    return join.filter("member")


def by_town(join: prdp.Join) -> Any:
    return join.group_by("town", keys=["a", "b"])


def by_colour(join: prdp.Join) -> Any:
    return join.group_by("colour", keys=["red", "blue"])


def summaries(tables: Database, asked: Asked, query: Any) -> list[Any]:
    """Return the cells of each group, as DuckDB finds them: of units or of their parts."""
    join = opened(tables)
    (plan,) = asked(join).plan(query, share="1").queries
    found = join._reader.read(plan.read)
    return [cells.totals.refined(4) if isinstance(cells, UnitCells) else cells for cells in found]


def much_clipped(summary: Summary) -> Law:
    law: Any = COARSE.law(summary, Fraction(1))
    total: Law = law.laws[0].then(3)
    return total


def whole(summary: Summary) -> Law:
    return COARSE.law(summary, Fraction(1))


FINE = replace(MEDIAN, bits=14)
"""On a lattice so fine that rounding down hides no twin."""


def weights(summary: Summary) -> Law:
    """Return the noisy weights around a median's range: what adds up a unit's parts to the last one."""
    law: Law = sides_at(0, 20)(FINE.law(summary, Fraction(1)))
    return law


def neighbours() -> Iterator[tuple[tuple[Person, ...], Person]]:
    """Yield every database of at most one person, and one more."""
    for size in range(2):
        for there in combinations(PEOPLE, size):
            yield from ((there, person) for person in PEOPLE if person not in there)


def excess(asked: Asked, query: Any, law: Callable[[Summary], Law], part: float, change: Any = dict) -> float:
    """Return by how much somebody loses more than promised; groups are drawn independently."""
    found: dict[frozenset[Person], list[Law]] = {}

    def laws(people: Sequence[Person]) -> list[Law]:
        names = frozenset(people)
        if names not in found:
            found[names] = [law(one) for one in summaries(change(database(people)), asked, query)]
        return found[names]

    worst = -math.inf
    for there, person in neighbours():
        pairs = zip(laws(there), laws((*there, person)), strict=True)
        lost = sum(largest_log_ratio(one, other) for one, other in pairs)
        worst = max(worst, lost - part * person.budget)
    return worst


QUERIES = [prdp.count(), prdp.sum("price"), prdp.sum("price * 2 - 1")]


@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("asked", [total, members, by_town])
def test_no_unit_loses_more_than_its_budget(asked: Asked, query: Any) -> None:
    assert excess(asked, query, much_clipped, float(TOTAL_PART)) <= TOLERANCE


def test_no_unit_loses_more_than_its_budget_by_the_whole_law() -> None:
    assert excess(by_town, prdp.sum("price"), whole, 1.0) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("asked", [total, members, by_town, by_colour])
def test_no_unit_loses_more_than_its_budget_by_the_parts_it_divides_it_into(asked: Asked) -> None:
    """Divided among the results of the join that contain it, over all groups together."""
    assert excess(asked, prdp.median("price"), weights, float(SIDES)) <= TOLERANCE


def test_a_unit_that_is_divided_comes_close_to_what_it_may_lose() -> None:
    nobody, rich = (
        [weights(one) for one in summaries(database(people), by_colour, prdp.median("price"))]
        for people in ((), PEOPLE[2:3])
    )
    lost = sum(largest_log_ratio(one, other) for one, other in zip(nobody, rich, strict=True))
    assert lost > 0.9 * float(SIDES) * PEOPLE[2].budget


# Twins: each makes another database from the same rows, as a wrong statement would read it.


def own_rows_one_by_one(tables: Database) -> Database:
    """Join own rows one by one: whose key appears twice is two units, each with all items."""
    people = [(f"{name}/{place}", *row) for place, (name, *row) in enumerate(tables["people"])]
    items = [
        (f"{name}/{place}", *item)
        for place, (name, *_) in enumerate(tables["people"])
        for unit, *item in tables["items"]
        if unit == name
    ]
    return {"people": people, "items": [*items, *tables["items"][-2:]]}


def ids_by_collation(tables: Database) -> Database:
    return {name: [(unit and unit.lower(), *row) for unit, *row in rows] for name, rows in tables.items()}


def items_one_by_one(tables: Database) -> Database:
    """Divide nothing: each item is of a unit of its own, which has the whole budget."""
    people, items = [], []
    for place, (name, *item) in enumerate(tables["items"]):
        people += [(f"{name}/{place}", *row) for unit, *row in tables["people"] if unit == name]
        items.append((f"{name}/{place}", *item))
    return {"people": people, "items": items}


def colours_one_by_one(tables: Database) -> Database:
    """Count the results of each group by themselves: a unit in two has its budget in both."""
    people = [(f"{name}/{group}", *row) for name, *row in tables["people"] for group in ("red", "blue")]
    items = [(f"{name}/{colour}", price, colour) for name, price, colour in tables["items"]]
    return {"people": people, "items": items}


def filter_before_level(tables: Database) -> Database:
    return {**tables, "people": [row for row in tables["people"] if row[3]]}


def invalid_skipped(tables: Database) -> Database:
    return {**tables, "people": [row for row in tables["people"] if POLICY.budget({"eps": row[1]})]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("twin", "asked"),
    [
        (own_rows_one_by_one, total),  # rows doubled
        (own_rows_one_by_one, by_town),  # own rows of two groups taken for disjoint
        (ids_by_collation, total),
        (filter_before_level, members),
        (invalid_skipped, total),
    ],
)
def test_reading_units_in_another_way_breaks_the_promise(twin: Any, asked: Asked) -> None:
    assert excess(asked, prdp.sum("price"), much_clipped, float(TOTAL_PART), twin) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(
    ("twin", "asked"),
    [
        (own_rows_one_by_one, total),
        (ids_by_collation, total),
        (filter_before_level, members),
        (invalid_skipped, total),
        (items_one_by_one, total),
        (colours_one_by_one, by_colour),
    ],
)
def test_dividing_among_the_rows_of_a_join_in_another_way_breaks_the_promise(twin: Any, asked: Asked) -> None:
    assert excess(asked, prdp.median("price"), weights, float(SIDES), twin) > 0.01


def test_a_key_that_is_twice_has_each_of_its_rows_once() -> None:
    """And is in no group of units if its own rows are in two."""
    tables = database([person for person in PEOPLE if person.name in {"twice", "moved"}])
    (everything,) = summaries(tables, total, prdp.count())
    assert sum(cell.total for cell in everything.cells) == 4 << 4
    doubled = summaries(own_rows_one_by_one(tables), total, prdp.count())[0]
    assert sum(cell.total for cell in doubled.cells) == 8 << 4
    groups = summaries(tables, by_town, prdp.count())
    assert [sum(cell.total for cell in group.cells) for group in groups] == [2 << 4, 0]
