"""With budgets so large that noise vanishes, accepted texts are answered as plain DuckDB does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

import prdp
from prdp.expressions.evaluate import value_of
from prdp.expressions.nodes import Column, columns
from prdp.mechanisms.keys import KeyFinder
from prdp.plan.queries import Max, Mean, Min, Quantile, Std, Variance
from prdp.sql.results import SqlAnswers
from prdp.sql.statement import Compiled
from tests.sql.fixtures import Fixture, compiled_in, fixtures
from tests.sql.worlds import WORLDS

POLICY = prdp.Policy.constant(10**9)
ACCEPTED = [fixture for fixture in fixtures() if not fixture.refused]
BY_WORLD = {world: [f for f in ACCEPTED if f.world == world] for world in WORLDS}

SLACK = 2e-5
A_YEAR = 365  # no date of the texts is further from the limit in WHERE
"""Relative and absolute: a count's noise has a scale of 1e-6 or less, a mean's lattice is as fine."""

BESIDE = 0.25
"""DuckDB's quantiles lie between two values, ours at one of them: so far aside of q is looked for."""


@pytest.fixture(autouse=True, scope="module")
def _without_keys_that_nobody_has() -> Iterator[None]:
    """Find true keys alone: a search finds one that nobody has in 1 of 100 cases, which others test."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(KeyFinder, "_false", lambda *_: [])
        yield


@pytest.mark.parametrize("world", WORLDS)
@settings(max_examples=2)
@given(seed=st.integers(0, 2**32))
def test_accepted_texts_agree_with_plain_duckdb(world: str, seed: int) -> None:
    made = WORLDS[world]
    tables = made.made(np.random.default_rng(seed))
    plain = made.plain(tables)
    queryable = made.opened(tables, POLICY)
    for fixture in BY_WORLD[world]:
        if not {"low(", "high("} & set(fixture.text.lower().replace("(", "( ").split()):
            check(fixture, queryable, plain)


def check(fixture: Fixture, queryable: Any, plain: Any) -> None:
    world = WORLDS[fixture.world]
    asked = compiled_in(world, queryable, fixture.text)
    if not isinstance(asked, Compiled):
        check_results(fixture, queryable, plain)
        return
    answers = queryable.sql(fixture.text, share="1/500", keys=world.keys, tables=world.public, redraw=True)
    tree = sqlglot.parse_one(fixture.text.replace("FROM self", f"FROM {queryable.name}"), read="duckdb")
    wanted = rows(plain, unlimited(tree))
    cut = asked.tail.limit is not None or asked.tail.offset
    places = [place for place, item in enumerate(asked.items) if is_key(item.checked.node)]
    if len(places) < len(asked.groups):
        return  # groups that are not selected cannot be distinguished
    mine = {tuple(value_of(row[place]) for place in places): row for row in answers.values}
    true = {tuple(row[place] for place in places): row for row in wanted}
    if asked.tail.having is None and not cut:
        assert true.keys() <= mine.keys() or has_listed_keys(asked, fixture), (fixture.text, true, mine)
    for key in true.keys() & mine.keys():
        compare(fixture, asked, plain, tree, mine[key], true[key], places, key)
    for key in mine.keys() - true.keys():
        if asked.tail.having is None:
            assert_nothing_there(asked, mine[key])
    if asked.tail.order:
        assert_sorted(asked, answers)


def check_results(fixture: Fixture, queryable: Any, plain: Any) -> None:
    """Hold what is computed from results to DuckDB's rows, sorted; keys that do not occur have none there."""
    world = WORLDS[fixture.world]
    answers = queryable.sql(fixture.text, share="1/500", keys=world.keys, tables=world.public, redraw=True)
    mine, true = (
        sorted(map(shown, found)) for found in (answers.values, plain.execute(fixture.text).fetchall())
    )
    if len(mine) == len(true):
        for one, other in zip(mine, true, strict=True):
            assert one == other, (fixture.text, mine, true)


def shown(row: Sequence[Any]) -> tuple[str, ...]:
    """Return a row as texts; what noise of a millionth moves is the same."""
    values = map(value_of, row)
    return tuple(f"{round(one, 3) + 0.0:g}" if isinstance(one, float) else str(one) for one in values)


def is_key(node: Any) -> bool:
    return isinstance(node, Column) and node.name.startswith("k")


def has_listed_keys(asked: Compiled, fixture: Fixture) -> bool:
    """Return whether keys were listed by the caller: other values are in no group then."""
    return any(
        name in WORLDS[fixture.world].keys
        for item in asked.groups
        for name in (*item.names, item.text, *columns(item.checked.node))
    )


def unlimited(tree: exp.Expression) -> str:
    plain = tree.copy()
    plain.set("limit", None)
    plain.set("offset", None)
    return str(plain.sql(dialect="duckdb"))


def rows(plain: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(value_of(value) for value in row) for row in plain.execute(text).fetchall()]


def compare(  # noqa: PLR0917  (all of it is in the message)
    fixture: Fixture, asked: Compiled, plain: Any, tree: exp.Expression,
    mine: Sequence[Any], true: Sequence[Any], places: list[int], key: tuple[Any, ...],
) -> None:  # fmt: skip
    for place, item in enumerate(asked.items):
        found, wanted = mine[place], true[place]
        if place in places or wanted is None:
            continue  # of no rows DuckDB says NULL, where an answer is some number
        used = [
            asked.queries[int(name[1:].partition("_")[0])]
            for name in columns(item.checked.node)
            if name[0] == "a"
        ]
        where = (fixture.text, item.name, found, wanted)
        if found is None:  # AVG where the released count is below 1, which that of one record may be by noise
            assert any(isinstance(query, Mean) for query in used), where
            continue
        if any(isinstance(query, Max | Min) for query in used):
            assert abs(found - wanted) <= 0.1 * abs(wanted) + 1.5, where  # ranges are 9 % wide
        elif any(isinstance(query, Quantile) for query in used):
            low, high = (quantiles(plain, tree, shift, places, key)[place] for shift in (-BESIDE, BESIDE))
            assert low * 0.99 - 1.5 <= found <= high * 1.01 + 1.5, (*where, low, high)
        elif any(isinstance(query, Variance | Std) for query in used):
            assert abs(found - wanted) <= 0.3, (
                where
            )  # around the mean's nearest whole rounding step: proofs/computed.md
        elif isinstance(wanted, str | bool):
            assert found == wanted, where
        elif isinstance(wanted, datetime):
            assert abs((found - wanted).days) <= 0.1 * A_YEAR, where  # 9 % of the days from the limit
        else:
            assert math.isclose(found, wanted, rel_tol=SLACK, abs_tol=SLACK), where


def quantiles(
    plain: Any, tree: exp.Expression, shift: float, places: list[int], key: tuple[Any, ...]
) -> tuple[Any, ...]:
    """Return the row of a statement whose quantiles are moved aside."""

    def moved(node: exp.Expression) -> exp.Expression:
        match node:
            case exp.Median():
                return exp.PercentileCont(this=node.this.copy(), expression=number(0.5 + shift))
            case exp.WithinGroup():
                by = node.expression.expressions[0]
                at = float(node.this.this.this)
                at = 1 - at if by.args.get("desc") else at
                return exp.PercentileCont(this=by.this.copy(), expression=number(at + shift))
            case (
                exp.PercentileCont(expression=exp.Literal() as at)
                | exp.PercentileDisc(expression=exp.Literal() as at)
            ):
                return exp.PercentileCont(this=node.this.copy(), expression=number(float(at.this) + shift))
            case _:
                return node

    text = unlimited(tree.transform(moved))
    return next(row for row in rows(plain, text) if tuple(row[place] for place in places) == key)


def number(value: float) -> exp.Expression:
    return exp.Literal.number(f"{min(1.0, max(0.0, value)):g}")


def assert_nothing_there(asked: Compiled, mine: Sequence[Any]) -> None:
    """A listed key that no row has is counted as about 0."""
    for place, item in enumerate(asked.items):
        node = item.checked.node
        if isinstance(node, Column) and node.name.startswith("a"):
            query = asked.queries[int(node.name[1:])]
            if query.word in {"count", "sum", "count_distinct"}:
                assert abs(mine[place]) < 0.01, (asked.statement.text, mine)


def assert_sorted(asked: Compiled, answers: SqlAnswers) -> None:
    selected = {item.checked.text: place for place, item in enumerate(asked.items)}
    first = asked.tail.order[0]
    if first.checked.text in selected:
        column = [row[selected[first.checked.text]] for row in answers.values]
        assert column == sorted(column, reverse=first.descending), asked.statement.text
