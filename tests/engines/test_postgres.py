"""PostgreSQL meets the contract, on a real server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
import pytest

from prdp.engines.postgres.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.testing.engine_contract import ROW_RECORDS, EngineContract

pytestmark = pytest.mark.slow

CONTRACT = "eps float8, v bigint, x float8, job text, day timestamp"


def run(address: str, *statements: str) -> None:
    """Run statements as whoever owns the database."""
    with psycopg.connect(address) as database:
        for statement in statements:
            database.execute(statement.encode())


def fill(
    address: str, table: str, columns: str, records: Sequence[Mapping[str, Any]], *, make: bool = True
) -> None:
    """Make a table, unless it is there, and fill it."""
    with psycopg.connect(address) as database:
        if make:
            database.execute(f"CREATE TABLE {table} ({columns})".encode())
        names = [column.split()[0] for column in columns.split(", ")]
        with database.cursor().copy(f"COPY {table} ({', '.join(names)}) FROM STDIN".encode()) as copy:
            for record in records:
                copy.write_row([record[name] for name in names])


class TestContract(EngineContract):
    @pytest.fixture(autouse=True)
    def _database(self, new_database: Callable[[], str]) -> None:
        self.address = new_database()
        self.number = 0

    def engine(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        self.number += 1
        fill(self.address, f"t{self.number}", CONTRACT, records)
        return open_source(self.address, None, table=f"t{self.number}")

    def row_records(self) -> Sequence[Mapping[str, Any]]:
        """Leave out the text with a NUL, which no text of PostgreSQL has."""
        return [record for record in ROW_RECORDS if "\0" not in (record["job"] or "")]

    def lost(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("DROP TABLE accounts", records)

    def changed(self, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        return self.after("ALTER TABLE accounts ALTER v TYPE float8", records)

    def after(self, statement: str, records: Sequence[Mapping[str, Any]]) -> SqlEngine:
        run(self.address, "DROP TABLE IF EXISTS accounts")
        fill(self.address, "accounts", CONTRACT, records)
        engine = open_source(self.address, None, table="accounts")
        run(self.address, statement)
        return engine


def test_a_table_with_a_foreign_one_below_it_needs_the_callers_word(new_database: Callable[[], str]) -> None:
    address = new_database()
    run(
        address,
        "CREATE FOREIGN DATA WRAPPER elsewhere",
        "CREATE SERVER there FOREIGN DATA WRAPPER elsewhere",
        "CREATE FOREIGN TABLE far (v bigint) SERVER there",
        "CREATE TABLE near (v bigint)",
        "CREATE FOREIGN TABLE below () INHERITS (near) SERVER there",
    )
    for table in ("far", "near"):
        with pytest.raises(InvalidRequest, match=r"foreign.*rows_are_records=True"):
            open_source(address, None, table=table)
