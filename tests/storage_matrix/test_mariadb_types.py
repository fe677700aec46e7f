"""No value of any type of MariaDB changes what other records count for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from prdp.schema import Kind
from tests.storage_matrix.comparing import Query
from tests.storage_matrix.typed_tables import Columns, Reading, Rows, TypedColumn, faults, named

pytestmark = pytest.mark.slow

pymysql = pytest.importorskip("pymysql")
engines: Any = pytest.importorskip("prdp.engines.mariadb.engine")

_TEXTS = ("\U0010ffff" * 30, "", "\x00", "  ", "\u0130\u1e9e", None)
_LETTERS = ("a", "b", "clerk")
_DAYS = ("2025-03-01", "2025-03-02", "2025-04-05")
_MOMENTS = ("0000-00-00", "2020-00-10", "2020-02-00", "0000-01-01", "9999-12-31 23:59:59.999999", None)
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


def _whole() -> list[TypedColumn]:
    found = []
    for kind, bits in _BITS.items():
        large = min(2**53 + 1, 2 ** (bits - 2))
        ends = (2 ** (bits - 1) - 1, -(2 ** (bits - 1)), None)
        found.append(TypedColumn(kind, (1, 7, large), ends))
        found.append(TypedColumn(f"{kind} unsigned", (1, 7, large), (2**bits - 1, 0, None)))
    return found


def _decimals() -> list[TypedColumn]:
    found = []
    for digits, scale in ((1, 0), (10, 2), (38, 0), (38, 10), (38, 38), (39, 0), (65, 0), (65, 38)):
        most = Decimal("9" * digits + f"e-{scale}")
        usual = (Decimal(0), Decimal(f"1e-{scale}"), Decimal("5" * digits + f"e-{scale}"))
        found.append(TypedColumn(f"decimal({digits},{scale})", usual, (most, most.copy_negate(), None)))
    return found


READ = (
    *_whole(),
    *_decimals(),
    TypedColumn("tinyint(1)", (1, 0), (-128, 127, None)),
    TypedColumn("float", (1.0, 2.5, 300.0), (3.4028234e38, -3.4028234e38, 1.4e-45, -0.0, None)),
    TypedColumn("double", (1.0, 2.5, 300.0), (1.7976931348623157e308, -1.7976931348623157e308, 5e-324, None)),
    TypedColumn("char(40)", _LETTERS, _TEXTS),
    TypedColumn("varchar(40)", _LETTERS, _TEXTS),
    TypedColumn("varchar(40) CHARACTER SET latin1", _LETTERS, ("\xff" * 40, "", None)),
    TypedColumn("varchar(40) CHARACTER SET ucs2", _LETTERS, ("\uffff" * 40, "", None)),
    TypedColumn("varchar(40) COLLATE utf8mb4_unicode_ci", _LETTERS, ("CLERK", "A ", None)),
    TypedColumn("tinytext", _LETTERS, _TEXTS),
    TypedColumn("text", _LETTERS, ("a" * 65_535, *_TEXTS)),
    TypedColumn("enum('a','b','clerk','\U0010ffff')", _LETTERS, ("\U0010ffff", "no member", None)),
    TypedColumn("uuid", tuple(f"{one * 8}-0000-1000-8000-000000000000" for one in "abc"), ("f" * 32, None)),
    TypedColumn("date", _DAYS, _MOMENTS),
    TypedColumn("datetime", _DAYS, _MOMENTS),
    TypedColumn("datetime(6)", _DAYS, _MOMENTS),
    TypedColumn("timestamp", _DAYS, ("0000-00-00", "2038-01-19 03:14:07", "1970-01-01 00:00:01")),
    TypedColumn("timestamp(6)", _DAYS, ("0000-00-00", "2038-01-19 03:14:07.999999", "1970-01-01 00:00:01")),
)
_SHAPES = (
    *("geometry", "point", "linestring", "polygon"),
    *("multipoint", "multilinestring", "multipolygon", "geometrycollection"),
)
"""The types that the server takes and lists nowhere."""

UNREAD: Mapping[str, tuple[Any, Any]] = {
    **dict.fromkeys(
        ("binary(2)", "varbinary(2)", "tinyblob", "blob", "mediumblob", "longblob"), (b"a", b"\xff")
    ),
    **dict.fromkeys(("mediumtext", "longtext"), ("a", "\U0010ffff")),
    "json": ("{}", "[]"),
    "set('a','b')": ("a", "a,b"),
    "bit(64)": (1, 2**64 - 1),
    "year": (2025, 0),
    "time(6)": ("01:00:00", "-838:59:59"),
    "inet4": ("10.0.0.1", "255.255.255.255"),
    "inet6": ("::1", "::2"),
    **dict.fromkeys(_SHAPES, (None, None)),
}
"""What prdp does not read; it is in the table all the same."""

COLUMNS = named(READ)
OTHERS = named(TypedColumn(kind, [usual], [odd]) for kind, (usual, odd) in UNREAD.items())
_NUMBERS = count()


def _connected(database: Any) -> Any:
    url = database.engine.url
    server = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
    return pymysql.connect(**server, database=url.database, charset="utf8mb4")


class Kept:
    """Keeps rows in a new table, as a client does that lets MariaDB hold days that there are not."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._tables: list[str] = []

    def drop(self) -> None:
        """Drop the tables."""
        database = engines.session_at(self._address)
        with _connected(database) as client, client.cursor() as at:
            for table in self._tables:
                at.execute(f"DROP TABLE {table}")

    def __call__(self, some: Columns, rows: Rows) -> Any:
        table = f"matrix{next(_NUMBERS)}"
        database = engines.session_at(self._address)
        columns = ", ".join(f"{name} {column.declared} NULL" for name, column in some.items())
        marks = ", ".join(["%s"] * (len(some) + 1))
        with _connected(database) as client, client.cursor() as at:
            at.execute("SET sql_mode = ''")
            at.execute(f"CREATE TABLE {table} (record bigint, {columns})")
            self._tables.append(table)
            for row in rows:
                at.execute(f"INSERT INTO {table} VALUES ({marks})", row)
            client.commit()
        return engines.SqlEngine(engines.MariaDatabase(database, table))


@pytest.fixture
def keep(mariadb: str) -> Iterator[Kept]:
    """Return what keeps rows; its tables are gone after the test."""
    kept = Kept(mariadb)
    yield kept
    kept.drop()


def _refused(step: Query | str) -> bool:
    """Return whether MariaDB does not support a query: lower case as prdp means it, and many bins."""
    if isinstance(step, Reading):
        return step.way == "many bins"
    return isinstance(step, Query) and "lower(" in (step.where or "")


_WORDS = """
    SELECT LOWER(word) FROM information_schema.keywords UNION
    SELECT plugin_name FROM information_schema.plugins WHERE plugin_type = 'DATA TYPE'
"""
_FORMS = ("{0}", "{0}(1)", "{0}('a')")


def _types_of(at: Any) -> set[str]:
    """Return the types that a column may have: of all words that the server knows, those that make one."""
    at.execute(_WORDS)
    found = set()
    for word in [word for (word,) in at.fetchall() if word.isidentifier()]:
        for form in _FORMS:
            try:
                at.execute(f"CREATE OR REPLACE TEMPORARY TABLE probe (c {form.format(word)})")
            except pymysql.Error:
                continue
            at.execute("SHOW COLUMNS FROM probe")
            found.add(_family(at.fetchone()[1]))
    return found


def _family(declared: str) -> str:
    return declared.partition("(")[0].partition(" ")[0]


def test_every_type_of_the_server_is_in_the_matrix(mariadb: str) -> None:
    database = engines.session_at(mariadb)
    tried = {_family(column.declared) for column in (*COLUMNS.values(), *OTHERS.values())}
    with _connected(database) as client, client.cursor() as at:
        listed = _types_of(at)
    assert {"bigint", "uuid", "enum"} <= listed
    assert listed - tried == set()


@pytest.mark.parametrize("name", COLUMNS, ids=[str(column.declared) for column in READ])
def test_no_value_of_a_type_changes_what_others_count_for(keep: Kept, name: str) -> None:
    """One type a table: statements about many columns grow with their product, in MariaDB's words most."""
    found = faults({name: COLUMNS[name]}, keep, refused=_refused)
    assert not found, "\n".join(found[:5])[:4000]


def test_types_that_are_not_read_are_stated_to_be_none(keep: Kept) -> None:
    schema = keep(OTHERS, []).schema
    assert {kind.kind for name, kind in schema.items() if name != "record"} == {Kind.OTHER}
    found = faults(OTHERS, keep)
    assert not found, "\n".join(found[:5])[:4000]
