"""Tables of one database are joined by their names there, and are distinguished."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

import prdp

CUSTOMERS = "CREATE TABLE customers AS SELECT range AS id, range % 50 AS age FROM range(400)"
ORDERS = "CREATE TABLE orders AS SELECT range % 400 AS customer, 5 AS price FROM range(1600)"


def in_duckdb(folder: Path) -> Path:
    with duckdb.connect(str(folder / "shop.duckdb")) as database:
        database.execute(CUSTOMERS)
        database.execute(ORDERS)
        database.execute("CREATE VIEW clients AS SELECT * FROM customers")
    return folder / "shop.duckdb"


def in_sqlite(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "shop.sqlite")) as database:
        database.execute("CREATE TABLE customers (id INTEGER, age INTEGER)")
        database.executemany("INSERT INTO customers VALUES (?, ?)", [(k, k % 50) for k in range(400)])
        database.execute("CREATE TABLE orders (customer INTEGER, price INTEGER)")
        database.executemany("INSERT INTO orders VALUES (?, 5)", [(k % 400,) for k in range(1600)])
        database.commit()
    return folder / "shop.sqlite"


def joined(**tables: object) -> prdp.Join:
    private, other = tables
    return prdp.open_join(
        tables,
        private=private,
        key="id",
        references={f"{other}.customer": f"{private}.id"},
        policy="1",
        bounds={"price": (0, 10)},
    )


def assert_whole(join: prdp.Join) -> None:
    engine = join._engine
    tables = f"{engine.slot('customers')} JOIN {engine.slot('orders')} ON id = customer"
    assert engine.rows_of(f"SELECT count(*), sum(price) FROM {tables}") == [(1600, 8000)]
    assert abs(join.count(share=1).value - 400) < 100


@pytest.mark.parametrize("keep", [in_duckdb, in_sqlite])
def test_tables_of_one_database_are_joined(tmp_path: Path, keep: Callable[[Path], Path]) -> None:
    file = keep(tmp_path)
    assert_whole(joined(customers=file, orders=str(file)))


def test_a_database_is_joined_with_a_file_of_another_kind(tmp_path: Path) -> None:
    orders = duckdb.connect().sql("SELECT range % 400 AS customer, 5 AS price FROM range(1600)")
    orders.write_parquet(str(tmp_path / "orders.parquet"))
    tables = joined(customers=in_sqlite(tmp_path), orders=[tmp_path / "orders.parquet"])
    assert_whole(tables)


def test_a_table_that_the_database_has_not_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(prdp.InvalidRequest, match=r"has no table 'sales'. It has .*orders"):
        joined(customers=in_duckdb(tmp_path), sales=tmp_path / "shop.duckdb")


def test_a_table_that_changes_between_opening_and_asking_is_refused(tmp_path: Path) -> None:
    tables = joined(customers=in_duckdb(tmp_path), orders=tmp_path / "shop.duckdb")
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as database:
        database.execute("ALTER TABLE orders DROP price")
    with pytest.raises(prdp.InvalidRequest, match="Nothing was charged"):
        tables.count(share="1/10")
    assert not tables.ledger.entries


def test_one_list_of_files_under_two_names_is_refused(tmp_path: Path) -> None:
    rows = duckdb.connect().sql("SELECT range AS id, range AS customer, 5 AS price FROM range(40)")
    rows.write_parquet(str(tmp_path / "t.parquet"))
    with pytest.raises(prdp.InvalidRequest, match="have one source"):
        joined(customers=[tmp_path / "t.parquet"], orders=tmp_path / "t.parquet")
