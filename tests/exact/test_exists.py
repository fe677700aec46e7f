"""EXISTS over a record's own rows, and sums over each record, as SQL plans them, keep E(u)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from prdp.cells.summary import Summary
from prdp.noise.laws import Law
from prdp.sql.statement import compiled
from prdp.testing.exact_loss import TOLERANCE, largest_log_ratio
from tests.exact.test_clip import TOTAL_PART
from tests.exact.test_joined_units import (
    Database,
    Person,
    database,
    invalid_skipped,
    much_clipped,
    neighbours,
    opened,
    own_rows_one_by_one,
)

RED = "EXISTS (SELECT 1 FROM items WHERE owner = name AND colour = 'red')"
TEXTS = {
    "with a row": f"SELECT COUNT(*) FROM people WHERE {RED}",
    "with a row, by IN": "SELECT COUNT(*) FROM people "
    "WHERE name IN (SELECT owner FROM items WHERE price > 5)",
    "members with a row": f"SELECT COUNT(*) FROM people WHERE member AND {RED}",
    "by town": f"SELECT town, COUNT(*) FROM people WHERE {RED} GROUP BY town",
    "sums of each": "SELECT SUM(t) FROM "
    "(SELECT name, SUM(price) AS t FROM people JOIN items ON owner = name GROUP BY name) AS s",
}  # fmt: skip


def summaries(tables: Database, text: str) -> list[Summary]:
    """Return what the mechanism of a statement's one query is shown, of each group."""
    join = replace(opened(tables), tables=("people",))  # SQL names the others itself
    asked = compiled(text, join, join._catalog, public={}, keys={"town": ["a", "b"]})
    assert asked.queryable is not None
    grouped: Any = asked.queryable
    if asked.groups:
        grouped = asked.queryable.group_by(*(item.key for item in asked.groups), keys=asked.keys)
    (plan,) = grouped.plan(*asked.queries, share="1").queries
    (step,) = plan.steps
    assert step.select_input is not None
    return [step.select_input(cells).refined(4) for cells in join._reader.read(plan.read)]


def excess(text: str, change: Callable[[Any], Database] = dict) -> float:
    """Return by how much somebody loses more than promised, over all small databases."""
    found: dict[frozenset[Person], list[Law]] = {}

    def laws(people: Sequence[Person]) -> list[Law]:
        names = frozenset(people)
        if names not in found:
            found[names] = [much_clipped(one) for one in summaries(change(database(people)), text)]
        return found[names]

    worst = -math.inf
    for there, person in neighbours():
        pairs = zip(laws(there), laws((*there, person)), strict=True)
        lost = sum(largest_log_ratio(one, other) for one, other in pairs)
        worst = max(worst, lost - float(TOTAL_PART) * person.budget)
    return worst


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_no_unit_loses_more_than_its_budget(text: str) -> None:
    assert excess(text) <= TOLERANCE


def items_one_by_one(tables: Database) -> Database:
    """Read EXISTS as a join whose results are records: a unit with two rows is two."""
    people = {name: row for name, *row in tables["people"]}
    rows = [
        (f"{unit}/{place}", unit, item)
        for place, (unit, *item) in enumerate(tables["items"])
        if unit in people
    ]
    return {
        "people": [(name, *people[unit]) for name, unit, _ in rows],
        "items": [*((name, *item) for name, _, item in rows), *tables["items"][-2:]],
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("twin", "text"),
    [
        (items_one_by_one, TEXTS["with a row, by IN"]),
        (own_rows_one_by_one, TEXTS["by town"]),
        (invalid_skipped, TEXTS["with a row"]),
    ],
)
def test_reading_exists_in_another_way_breaks_the_promise(twin: Any, text: str) -> None:
    assert excess(text, twin) > 0.05
