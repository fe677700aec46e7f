"""Tables of one ClickHouse, joined: the contract, questions about them, and refusals."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from itertools import count, product
from pathlib import Path

import pyarrow
import pytest
from chdb.session import Session

import prdp
from prdp.engines.clickhouse.engine import open_tables
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.testing.join_contract import COLUMNS, PUBLIC, JoinContract, Tables
from tests.engines.clickhouse import chdb, kept
from tests.engines.shop import answers_as_duckdb_does, answers_sql, arrow_tables, opened
from tests.engines.test_joined import arrow_of

pytestmark = pytest.mark.slow

__all__ = ["chdb"]

TYPES = {"VARCHAR": "Nullable(String)", "DOUBLE": "Nullable(Float64)", "BIGINT": "Nullable(Int64)"}
PLAIN = "ENGINE = MergeTree ORDER BY tuple()"
SHOP = {
    "people": "id Int64, member Bool, town Int64",
    "orders": "buyer Int64, price Int64",
    "towns": "code Int64, country LowCardinality(String)",
}
_NUMBERS = count()


class TestJoined(JoinContract):
    """Fewer questions of each kind: a statement of joins takes long to be read."""

    brief = True

    @pytest.fixture(autouse=True)
    def _session(self, chdb: Session, tmp_path: Path) -> None:
        self.session, self.folder = chdb, tmp_path

    def engine(self, tables: Tables) -> SqlEngine:
        names = {}
        for name, table in arrow_of(tables).items():
            listed = ", ".join(f"{column} {TYPES[kind]}" for column, kind in COLUMNS[name].items())
            names[name] = kept(self.session, self.folder, table, listed, PLAIN)
        return open_tables(self.session, names, PUBLIC)


@pytest.fixture
def shop(chdb: Session, tmp_path: Path) -> dict[str, str]:
    return {name: kept(chdb, tmp_path, table, SHOP[name], PLAIN) for name, table in arrow_tables().items()}


def test_seeded_answers_are_those_of_duckdb(chdb: Session, shop: dict[str, str]) -> None:
    answers_as_duckdb_does(shop, chdb)
    answers_sql(opened(shop, chdb))


def test_every_pair_of_whole_types_is_joined(chdb: Session) -> None:
    """A key of 64 bits without a sign is as good as one with it."""
    kinds = ("Int8", "UInt32", "Int64", "UInt64", "Int128", "Nullable(Int64)")
    names = {}
    for kind in kinds:
        names[kind] = f"whole{next(_NUMBERS)}"
        chdb.query(f"CREATE TABLE {names[kind]} (k {kind}, v Int64) {PLAIN}")
        chdb.query(f"INSERT INTO {names[kind]} SELECT number % 50, 1 FROM numbers(100)")
    for one, other in product(kinds, ("Int64", "UInt64")):
        if one == other:
            continue
        join = prdp.open_join(
            {"people": names[one], "orders": names[other]},
            database=chdb,
            private="people",
            key="k",
            references={"orders.k": "people.k"},
            policy=prdp.Policy.constant(10**9),
            synthetic=True,
        )
        assert join.over("orders").count(share=1).value == pytest.approx(100, abs=0.01), (one, other)


def test_results_are_handed_out_with_numbers_texts_and_times_of_their_columns(chdb: Session) -> None:
    chdb.query(f"CREATE TABLE whose (k Int64) {PLAIN}")
    chdb.query("INSERT INTO whose SELECT number FROM numbers(50)")
    chdb.query(f"CREATE TABLE lines (k Int64, w UInt64, v Int128, t String, d Date) {PLAIN}")
    values = f"{2**64 - 1}, -toInt128({2**63}) * toInt128({2**63}) * 2, 'ä', '2024-02-29'"
    chdb.query(f"INSERT INTO lines SELECT number, {values} FROM numbers(50)")
    join = prdp.open_join(
        {"people": "whose", "orders": "lines"},
        database=chdb,
        private="people",
        key="k",
        references={"orders.k": "people.k"},
        policy=prdp.Policy.constant(10**6),
    )
    seen: list[pyarrow.Table] = []

    def rows_of(rows: pyarrow.Table, epsilon: Fraction, beta: Fraction) -> int:
        seen.append(rows)
        return 0

    join.over("orders").run(rows_of, columns=["w", "v", "t", "d"], share="1/2")
    assert seen[0].num_rows > 0
    expected = (2**64 - 1, -(2**127), "ä", datetime(2024, 2, 29))
    assert {tuple(row.values()) for row in seen[0].to_pylist()} == {expected}


def test_values_of_a_public_table_are_python_s(chdb: Session) -> None:
    columns = "t Nullable(String), d Date, m DateTime64(3, 'Asia/Tokyo'), b Bool, w UInt64"
    chdb.query(f"CREATE TABLE public_values ({columns}) {PLAIN}")
    moment = "toDateTime64('2024-02-29 01:02:03.004', 3, 'UTC')"
    for row in (
        f"'ä', '2024-02-29', {moment}, true, {2**64 - 1}",
        f"NULL, '2024-02-29', {moment}, true, 1",
        "unhex('ff'), '1970-01-01', toDateTime64(0, 3, 'UTC'), false, 1",
    ):
        chdb.query(f"INSERT INTO public_values SELECT {row}")
    tables = open_tables(chdb, {"t": "public_values"}, ["t"])
    assert {column: tables.values("t", column) for column in tables.schemas["t"]} == {
        "t": ["ä"],
        "d": [datetime(1970, 1, 1), datetime(2024, 2, 29)],
        "m": [datetime(1970, 1, 1), datetime(2024, 2, 29, 1, 2, 3, 4000)],
        "b": [False, True],
        "w": [1, 2**64 - 1],
    }


def test_public_tables_may_be_views_and_others_may_not(chdb: Session, shop: dict[str, str]) -> None:
    views = {name: f"{table}_seen" for name, table in shop.items()}
    for name, view in views.items():
        chdb.query(f"CREATE VIEW {view} AS SELECT * FROM {shop[name]}")
    answers_as_duckdb_does({**shop, "towns": views["towns"]}, chdb)
    for name in ("people", "orders"):
        with pytest.raises(InvalidRequest, match="made of other tables"):
            opened({**shop, name: views[name]}, chdb)


def test_tables_that_cannot_be_joined_are_refused_with_what_works(
    chdb: Session, shop: dict[str, str]
) -> None:
    joined = f"{shop['people']} JOIN {shop['orders']} ON id = buyer"
    chdb.query(f"CREATE TABLE both_of_it {PLAIN} AS SELECT * FROM {joined}")
    for tables, database, words in (
        ({**shop, "people": "both_of_it", "orders": "bank.both_of_it"}, chdb, "have one source"),
        ({**shop, "orders": "nowhere"}, chdb, "has no table 'nowhere'"),
        ({**shop, "orders": 5}, chdb, "is not a table's name"),
        ({**shop, "orders": chdb}, None, "all tables of a join are in one database"),
        ({**shop, "orders": "clickhouse://ana:s3cret@host/bank"}, None, "database='clickhouse://user@host"),
    ):
        with pytest.raises(InvalidRequest, match=words) as raised:
            opened(tables, database)
        assert "s3cret" not in str(raised.value)


def test_a_table_that_is_gone_or_changed_costs_nothing(chdb: Session, shop: dict[str, str]) -> None:
    join = opened(shop, chdb).over("orders")
    assert f'"bank"."{shop["orders"]}"' in str(join.explain(prdp.sum("price"), share="1/10"))
    chdb.query(f"ALTER TABLE {shop['orders']} ADD COLUMN more Int64")
    with pytest.raises(InvalidRequest, match="Nothing was charged"):
        join.sum("price", share="1/10")
    assert not join.ledger.entries
