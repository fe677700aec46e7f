"""Tables of one PostgreSQL database, joined: the contract, and questions about them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import prdp
from prdp.engines.postgres.engine import open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.testing.join_contract import COLUMNS, JoinContract, Tables
from tests.engines.shop import ORDERS, PEOPLE, TOWNS, answers_as_duckdb_does, answers_sql, opened
from tests.engines.test_postgres import fill, run

pytestmark = pytest.mark.slow

NewDatabase = Callable[[], str]
TYPES = {"VARCHAR": "text", "DOUBLE": "float8", "BIGINT": "bigint"}


class TestJoined(JoinContract):
    @pytest.fixture(autouse=True)
    def _database(self, new_database: NewDatabase) -> None:
        self.address = new_database()
        self.opened = 0

    def engine(self, tables: Tables) -> SqlEngine:
        self.opened += 1
        schema = f"s{self.opened}"
        run(self.address, f"CREATE SCHEMA {schema}")
        for name, columns in COLUMNS.items():
            listed = ", ".join(f"{column} {TYPES[kind]}" for column, kind in columns.items())
            fill(self.address, f"{schema}.{name}", listed, tables[name])
        return open_tables(self.address, {name: f"{schema}.{name}" for name in COLUMNS})


@pytest.fixture
def shop(new_database: NewDatabase) -> str:
    address = new_database()
    for name, columns, values in (
        ("people", "id bigint, member boolean NOT NULL, town bigint", PEOPLE),
        ("orders", "buyer bigint, price bigint", ORDERS),
        ("towns", "code bigint, country text", TOWNS),
    ):
        rows = zip(*(column.tolist() for column in values.values()), strict=True)
        fill(address, name, columns, [dict(zip(values, row, strict=True)) for row in rows])
    run(
        address,
        "CREATE VIEW everybody AS SELECT * FROM people",
        'CREATE TABLE "both" AS SELECT * FROM people JOIN orders ON id = buyer',
    )
    return address


SAME: dict[str, object] = {"people": "people", "orders": "orders", "towns": "public.towns"}


def test_seeded_answers_are_those_of_duckdb(shop: str) -> None:
    answers_as_duckdb_does(SAME, shop)


def test_a_join_is_asked_in_sql_and_shows_its_statement(shop: str) -> None:
    join = opened(SAME, shop)
    answers_sql(join)
    shown = str(join.over("orders").explain(prdp.sum("price"), share="1/10"))
    assert 'FROM "public"."orders"' in shown


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"people": "both", "orders": "public.both"}, "have one source"),
        ({"orders": "order"}, "There is 'orders'"),
        ({"people": "everybody"}, "is a view"),
        ({"orders": 5}, "is not a table's name"),
    ],
)
def test_tables_that_cannot_be_joined_are_refused(shop: str, tables: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        opened(SAME | tables, shop)


def test_an_address_in_the_place_of_a_table_is_answered_with_what_to_write(shop: str) -> None:
    with pytest.raises(InvalidRequest, match=r"database='postgresql://user@host/database'") as raised:
        opened(SAME | {"people": "postgresql://ana:s3cret@host/bank"})
    assert "s3cret" not in str(raised.value)
    with pytest.raises(InvalidRequest, match="database= is the address of a PostgreSQL database"):
        opened(SAME, "people.duckdb")


def test_a_table_that_is_gone_or_changed_costs_nothing(shop: str) -> None:
    join = opened(SAME, shop).over("orders")
    run(shop, "ALTER TABLE orders ALTER price TYPE text")
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        join.sum("price", share="1/10")
    assert not join.ledger.entries
