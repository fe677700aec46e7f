"""What is open can be looked at: its columns, types, policy and what is left; no view tells of a record."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prdp

PEOPLE = {"age": np.array([31, 58, 90]), "<b>": np.array([1.5, 2.5, 3.5])}
ODD_VALUES = ("31", "58", "90", "1.5", "2.5", "3.5")


def table(**given: Any) -> prdp.Table:
    declared: dict[str, Any] = {"policy": "10 / age", "bounds": {"age": (10, 120)}, "name": "people", **given}
    return prdp.open(PEOPLE, round_to={"<b>": 0.5}, **declared)


def join() -> prdp.Join:
    tables = {"people": {"id": np.array([1, 2])}, "orders": {"buyer": np.array([1, 1, 2])}}
    references = {"orders.buyer": "people.id"}
    opened = prdp.open_join(tables, private="people", key="id", references=references, policy="1")
    return opened.over("orders")


def links() -> prdp.graphs.Links:
    person = prdp.graphs.Records({"id": np.array([1, 2])}, key="id", policy="1")
    sent = {"sender": np.array([1, 2]), "receiver": np.array([2, 1])}
    return prdp.graphs.open_links(sent, records={"sender": person, "receiver": person})


def graph() -> prdp.graphs.Graph:
    calls = {"a": np.array([0, 1]), "b": np.array([1, 2])}
    return prdp.graphs.open(calls, source="a", target="b", nodes=range(5), policy="1")


OPENED = [table, join, links, graph]
COLUMNS = {table: ["age", "<b>"], join: ["id", "buyer"], links: ["sender", "receiver"], graph: ["a", "b"]}


@pytest.mark.parametrize("opened", OPENED)
def test_columns_types_policy_and_what_is_left_can_be_seen(opened: Any) -> None:
    shown = opened()
    assert shown.columns == COLUMNS[opened]
    assert set(shown.columns) <= shown.schema.keys()
    assert all(isinstance(p, prdp.Policy) for p in getattr(shown.policy, "values", lambda: [shown.policy])())
    assert shown.remaining == 1
    assert "all of every budget left" in repr(shown)
    assert all(column in repr(shown) for column in shown.columns)


def test_what_is_left_is_what_the_account_says() -> None:
    opened = table()
    opened.count(share=0.1)
    assert opened.remaining == opened.group_by("age", keys=[31]).remaining == Fraction(9, 10)
    assert "9/10 of every budget left" in repr(opened)
    assert "9/10 of every budget left" in opened._repr_html_()


def test_types_are_shown_by_the_engine_s_names() -> None:
    assert str(table().schema) == "{'age': BIGINT, '<b>': DOUBLE}"


@pytest.mark.parametrize("opened", OPENED)
def test_a_notebook_shows_every_column_and_escapes_names(opened: Any) -> None:
    view = opened()._repr_html_()
    assert view.startswith("<table>")
    assert ".prdp td { padding" in view, "not every notebook leaves room between columns by itself"
    assert "<b>" not in view
    for column in COLUMNS[opened]:
        assert column.replace("<", "&lt;").replace(">", "&gt;") in view


def test_groups_and_plans_have_views_of_their_own() -> None:
    groups = table().group_by("age", keys=[31, 58])
    assert (groups.columns, groups.policy) == (groups.table.columns, groups.table.policy)
    assert "2 public groups" in groups._repr_html_()
    plan = groups.plan(prdp.count(), prdp.mean("age").alias("avg"), share=0.1)
    assert (
        repr(plan) == "<plan of count, mean of age by age, 2 groups: charges 1/10 of every record's budget>"
    )
    view = plan._repr_html_()
    assert "<td>avg</td><td>mean of age</td><td>clip</td><td>1/20</td>" in view


def test_a_synthetic_table_says_that_it_is_one() -> None:
    shown = table(synthetic=True)
    assert "nothing is charged" in repr(shown)
    assert "nothing is charged" in shown._repr_html_()


def test_no_view_reads_a_record() -> None:
    shown = table()

    def refuse(*_: object) -> None:
        raise AssertionError("records were read")

    for name in ("summarise", "rows", "key_totals"):
        object.__setattr__(shown._engine, name, refuse)
    for view in (repr(shown), shown._repr_html_(), str(shown.schema)):
        assert not any(value in view for value in ODD_VALUES)


def test_a_view_does_not_fail_where_the_account_does(tmp_path: Path) -> None:
    path = tmp_path / "people.ledger"
    shown = table(ledger=path)
    path.write_bytes(b"no ledger")
    assert "account not readable here" in repr(shown)
