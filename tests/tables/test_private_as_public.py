"""The records themselves are refused as a public table, or as keys, of a statement."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
import pytest

import prdp
from prdp.errors import InvalidRequest

COLUMNS = {"person": ["Zoë", "Ada"], "amount": [3, 4]}
JOINED = "SELECT p.person, COUNT(*) FROM people a JOIN p ON a.person = p.person GROUP BY p.person"
GROUPED = "SELECT person, COUNT(*) FROM people GROUP BY person"
KINDS: list[Any] = [
    pandas.DataFrame,
    polars.DataFrame,
    pyarrow.table,
    lambda columns: {name: np.array(values) for name, values in columns.items()},
]


def opened(source: object) -> prdp.Table:
    return prdp.open(source, policy="1", name="people")


def refused(table: prdp.Table, text: str, **stated: Any) -> None:
    for ask in (table.sql, table.explain_sql):
        with pytest.raises(InvalidRequest, match="have one source"):
            ask(text, share="1/10", **stated)
    assert table.remaining == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_frame_that_was_opened_is_refused_as_a_public_table(kind: Any) -> None:
    frame = kind(COLUMNS)
    refused(opened(frame), JOINED, tables={"p": frame})


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_the_frame_is_refused_in_a_public_table_and_as_keys(kind: Any) -> None:
    frame = kind(COLUMNS)
    refused(opened(frame), JOINED, tables={"p": {"person": frame["person"]}})
    refused(opened(frame), GROUPED, keys={"person": frame["person"]})


def test_the_relation_that_was_opened_and_its_table_are_refused() -> None:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT 'Zoë' AS person, 3 AS amount")
        table = opened(database.table("t"))
        refused(table, JOINED, tables={"p": database.table("t")})
        refused(table, JOINED, tables={"p": database.sql("SELECT DISTINCT person FROM t")})


def test_a_path_is_no_public_table_of_a_statement(tmp_path: Path) -> None:
    frame = pandas.DataFrame(COLUMNS)
    frame.to_parquet(tmp_path / "people.parquet")
    table = opened(tmp_path / "people.parquet")
    with pytest.raises(InvalidRequest, match="takes a public table in memory"):
        table.sql(JOINED, share="1/10", tables={"p": tmp_path / "people.parquet"})
    assert table.remaining == 1


def test_public_tables_and_keys_of_their_own_are_answered() -> None:
    table = opened(pandas.DataFrame(COLUMNS))
    assert len(table.sql(JOINED, share="1/10", tables={"p": pandas.DataFrame({"person": ["Zoë"]})})) == 1
    assert len(table.sql(GROUPED, share="1/10", keys={"person": ["a.csv", "b.csv"]})) == 2
    assert table.remaining == Fraction(4, 5)


def test_the_public_table_of_a_join_may_list_keys_and_the_private_ones_may_not() -> None:
    people = pyarrow.table({"id": [1, 2]})
    orders = pyarrow.table({"person": [1, 2], "good": ["a", "b"]})
    goods = pyarrow.table({"good": ["a", "b"]})
    shop = prdp.open_join(
        {"people": people, "orders": orders, "goods": goods},
        private="people",
        key="id",
        public=["goods"],
        references={"orders.person": "people.id", "orders.good": "goods.good"},
        policy="1",
    )
    text = (
        "SELECT orders.good, COUNT(*) FROM people JOIN orders ON orders.person = people.id "
        "GROUP BY orders.good"
    )
    assert len(shop.sql(text, share="1/10", keys={"good": goods["good"].to_pylist()})) == 2
    for private in (people, orders):
        with pytest.raises(InvalidRequest, match="have one source"):
            shop.sql(text, share="1/10", tables={"p": private})
    assert shop.remaining == Fraction(9, 10)
    shop.explain_sql(text, share="1/10", keys={"good": ["a"]}, tables={"p": goods})
