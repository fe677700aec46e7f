"""No value of any type of PostgreSQL changes what other records count for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import psycopg
import pytest

from prdp.engines.engine import Engine
from prdp.engines.postgres.engine import open_source
from prdp.schema import Kind
from tests.storage_matrix.typed_tables import Columns, Rows, TypedColumn, faults, named

pytestmark = pytest.mark.slow

_NULL = "NULL"
_NUMERICS = ("NaN", "Infinity", "-Infinity", "1e131071", "-1e131071", "1e-16383", "9e307", "2e308", _NULL)
_MOMENTS = ("infinity", "-infinity", "294276-12-31 23:59:59.999999", "4714-11-24 00:00:00 BC", _NULL)
_DAYS = ("infinity", "-infinity", "5874897-12-31", "4714-11-24 BC", "10000-01-01", _NULL)
_TEXTS = ("\U0010ffff" * 30, "", "\x01", "a" * 2**20, "\u0130\u1e9e", "NaN", _NULL)
_USUAL_TEXTS = ("a", "b", "clerk")
_USUAL_MOMENTS = ("2025-03-01", "2025-03-02", "2025-04-05")

_FLOAT4 = ("NaN", "Infinity", "-Infinity", "3.4028235e38", "1.4e-45", "-0", _NULL)
_FLOAT8 = ("NaN", "Infinity", "-Infinity", "1.7976931348623157e308", "5e-324", "-0", _NULL)

VALUES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "bool": (("t", "f", "t"), ("t", "f", _NULL)),
    "int2": (("1", "7", "16385"), (str(2**15 - 1), str(-(2**15)), _NULL)),
    "int4": (("1", "7", "1073741825"), (str(2**31 - 1), str(-(2**31)), _NULL)),
    "int8": (("1", "7", str(2**53 + 1)), (str(2**63 - 1), str(-(2**63)), _NULL)),
    "float4": (("1", "2.5", "300"), _FLOAT4),
    "float8": (("1", "2.5", "300"), _FLOAT8),
    "numeric": (("1", "2.5", "300"), _NUMERICS),
    "numeric(1,0)": (("1", "7", "2"), ("NaN", "9", "-9", _NULL)),
    "numeric(10,2)": (("1.25", "7", "2"), ("NaN", "99999999.99", "-99999999.99", _NULL)),
    "numeric(38,0)": (("1", "7", str(2**64 + 1)), ("NaN", "9" * 38, "-" + "9" * 38, _NULL)),
    "numeric(38,38)": (("0", f"0.{'0' * 37}1", "0.5"), ("NaN", f"0.{'9' * 38}", f"-0.{'9' * 38}", _NULL)),
    "numeric(39,0)": (("1", "7", str(2**64 + 1)), ("NaN", "9" * 39, "-" + "9" * 39, _NULL)),
    "numeric(1000,0)": (("1", "7", "2"), ("NaN", "9" * 1000, "-" + "9" * 1000, _NULL)),
    "numeric(1000,1000)": (("0", "0.5", "0.25"), ("NaN", f"0.{'9' * 1000}", f"0.{'0' * 999}1", _NULL)),
    "numeric(3,-2)": (("100", "700", "200"), ("NaN", "99900", "-99900", _NULL)),
    "numeric(3,5)": (("0.001", "0.002", "0.003"), ("NaN", "0.00999", "-0.00999", _NULL)),
    "text": (_USUAL_TEXTS, _TEXTS),
    'text COLLATE "POSIX"': (_USUAL_TEXTS, _TEXTS),
    "varchar": (_USUAL_TEXTS, _TEXTS),
    "varchar(40)": (_USUAL_TEXTS, ("\U0010ffff" * 40, "", _NULL)),
    "bpchar": (_USUAL_TEXTS, ("\U0010ffff" * 40, "", "  ", _NULL)),
    "char(40)": (_USUAL_TEXTS, ("\U0010ffff" * 40, "", "  ", _NULL)),
    "name": (_USUAL_TEXTS, ("\U0010ffff" * 15, "", _NULL)),
    "uuid": (tuple(f"{one * 8}-0000-0000-0000-000000000000" for one in "abc"), ("f" * 32, "0" * 32, _NULL)),
    "mood": (("a", "b", "clerk"), ("\U0010ffff", _NULL)),
    "date": (_USUAL_MOMENTS, _DAYS),
    "timestamp": (_USUAL_MOMENTS, _MOMENTS),
    "timestamptz": (_USUAL_MOMENTS, _MOMENTS),
    "timestamp(0)": (_USUAL_MOMENTS, _MOMENTS),
    "timestamptz(3)": (_USUAL_MOMENTS, _MOMENTS),
    "in_years": (_USUAL_MOMENTS, _MOMENTS),
    "price": (("1.25", "7", "2"), ("NaN", "999999.99", _NULL)),
    "letters": (_USUAL_TEXTS, _TEXTS),
    "nested": (_USUAL_TEXTS, _TEXTS),
}
"""Of each type that can be read: usual values, and extremes of what it is stored as; ``mood`` is an ENUM, and
``in_years``, ``price``, ``letters`` and ``nested`` are domains."""

_MADE = (
    "CREATE TYPE mood AS ENUM ('a', 'b', 'clerk', '\U0010ffff')",
    "CREATE DOMAIN in_years AS timestamp",
    "CREATE DOMAIN price AS numeric(8,2)",
    "CREATE DOMAIN letters AS text",
    "CREATE DOMAIN nested AS letters",
    "CREATE TYPE pair AS (a int, b text)",
    "CREATE TYPE span AS RANGE (subtype = float8)",
)
_ALL_TYPES = """
    SELECT pg_catalog.format_type(t.oid, NULL), t.typname FROM pg_catalog.pg_type AS t
    WHERE t.typtype IN ('b', 'd', 'e', 'r', 'm') OR t.typname IN ('pair', '_pair')
    ORDER BY t.oid
"""
_TRIED = (
    *("0", "{}", "empty", "(0,0)", "a", "0/0", "00:00", "::1"),
    *(
        "0:0:0:0:0:0",
        "0:0:0:0:0:0:0:0",
        "{1,1,1}",
        "((0,0),(1,1))",
        "<(0,0),1>",
        "1:1:",
        "postgres=r/postgres",
        "",
    ),
)
_NO_COLUMN = "a list of a catalog's rows, one of which is of no certain type"
_NOT_MADE = dict.fromkeys(
    ("_pg_attribute", "_pg_statistic", "_pg_statistic_ext_data", "_pg_stats", "_pg_stats_ext_exprs"),
    _NO_COLUMN,
) | {"_cstring": "a list of texts as functions in C have them; no column may have it"}
"""Types that no column can have."""


def _connected(address: str) -> Any:
    return psycopg.connect(address, autocommit=True)


@pytest.fixture(scope="module")
def database(postgres_server: Any) -> str:
    address = str(postgres_server.new_database())
    with _connected(address) as connection:
        for statement in _MADE:
            connection.execute(statement)
    return address


def test_every_type_of_the_catalog_is_in_the_matrix_or_is_not_read(database: str) -> None:
    """Make a table with a column of every type, and put a value into each that takes one of some texts."""
    with _connected(database) as connection:
        types = connection.execute(_ALL_TYPES).fetchall()
        connection.execute("CREATE TABLE every_type (record int8)")
        names = {}
        for place, (declared, name) in enumerate(types):
            if name in _NOT_MADE:
                with pytest.raises(psycopg.Error, match="pseudo-type"):
                    connection.execute(f"ALTER TABLE every_type ADD COLUMN c{place} {declared}")
            else:
                connection.execute(f"ALTER TABLE every_type ADD COLUMN c{place} {declared}")
                names[f"c{place}"] = name
        for column in names:
            _insert_any(connection, column)
    schema = open_source(database, None, table="every_type").schema
    read = {
        names[column] for column, kind in schema.items() if column in names and kind.kind is not Kind.OTHER
    }
    tried = {kind.partition("(")[0].partition(" ")[0] for kind in VALUES} - {"char"}
    assert read - _DOMAINS_OF_THE_CATALOG == tried


_DOMAINS_OF_THE_CATALOG = {"cardinal_number", "character_data", "sql_identifier", "time_stamp", "yes_or_no"}
"""Domains of information_schema, over int4, varchar, name and timestamptz."""


def _insert_any(connection: Any, column: str) -> None:
    for text in _TRIED:
        try:
            connection.execute(f"INSERT INTO every_type (record, {column}) VALUES (1, '{text}')")
        except psycopg.Error:
            continue
        return


COLUMNS = named(TypedColumn(kind, usual, extremes) for kind, (usual, extremes) in VALUES.items())
_NUMBERS = count()


def _indexed(some: Columns) -> str:
    """Return a column for an index, which takes no value of more than a third of a page."""
    short = (name for name, column in some.items() if all(len(str(one)) < 1000 for one in column.extremes))
    return next(short, "record")


class Kept:
    """Keeps rows in a new table of a database."""

    def __init__(self, address: str, how: str) -> None:
        self._address, self._how = address, how

    def __call__(self, some: Columns, rows: Rows) -> Engine:
        table = f"kept{next(_NUMBERS)}"
        columns = ", ".join(f"{name} {column.declared}" for name, column in some.items())
        marks = ", ".join(["%s"] * (len(some) + 1))
        with _connected(self._address) as connection:
            how = self._how.format(table=table, columns=columns, indexed=_indexed(some))
            for statement in how.split(";"):
                connection.execute(statement.encode())
            given = [[None if value == _NULL else value for value in row] for row in rows]
            connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})".encode(), given)
            connection.execute(f"ANALYZE {table}".encode())
            engine = open_source(self._address, None, table=table)
            if "VIEW" not in self._how:
                return engine
        return open_source(self._address, None, table=f"{table}_seen", rows_are_records=True)


_STORAGES = {
    "a table": "CREATE TABLE {table} (record int8, {columns})",
    "partitions with indices": (
        "CREATE TABLE {table} (record int8, {columns}) PARTITION BY HASH (record);"
        "CREATE TABLE {table}_0 PARTITION OF {table} FOR VALUES WITH (MODULUS 2, REMAINDER 0);"
        "CREATE TABLE {table}_1 PARTITION OF {table} FOR VALUES WITH (MODULUS 2, REMAINDER 1);"
        "CREATE INDEX ON {table} ({indexed}); CREATE INDEX ON {table} (record)"
    ),
    "a view": (
        "CREATE TABLE {table} (record int8, {columns});"
        "CREATE VIEW {table}_seen AS SELECT * FROM {table} WHERE record >= 0"
    ),
}


@pytest.mark.parametrize("storage", _STORAGES)
def test_no_value_of_any_type_changes_what_others_count_for(database: str, storage: str) -> None:
    plain = storage == "a table"
    found = faults(COLUMNS, Kept(database, _STORAGES[storage]), one_by_one=plain)
    assert not found, "\n".join(found[:5])[:4000]
