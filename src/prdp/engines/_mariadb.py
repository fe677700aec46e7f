"""MariaDB, as prdp reads it: its sessions, its catalog, and where checks keep their tables."""

from __future__ import annotations

import re
from typing import Any

from prdp.engines._sources import column_type, refuse_ambiguous
from prdp.engines._sql_backend import Ask, CheckTables, SqlBackend, SqlTable
from prdp.engines.dialects._mariadb_doubles import GREATEST
from prdp.engines.dialects.mariadb import MARIADB
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind

_OLDEST = (10, 6)
_VERSION = re.compile(r"(\d+)\.(\d+)\..*MariaDB", re.IGNORECASE)
_PLAIN_ENGINES = {"InnoDB", "Aria", "MyISAM", "MEMORY"}
_TABLE = """
    SELECT table_schema, table_name, table_type, engine FROM information_schema.tables
    WHERE table_name = %s AND table_schema = COALESCE(%s, DATABASE())
"""
_COLUMNS = """
    SELECT column_name, data_type, column_type, numeric_precision, numeric_scale, is_generated, privileges
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position
"""
_VIEW = "SELECT view_definition FROM information_schema.views WHERE table_schema = %s AND table_name = %s"
_LONGEST_KEY = 262_144
"""So many bytes of a text are compared where rows are sorted: all of a VARCHAR or TEXT, in any encoding. By
default they are 1024, and an owner whose name is longer would be taken for two."""

_SORTED_AT_ONCE = 64 << 20
"""Room for 15 rows with that many bytes in each of some columns, without which MariaDB sorts nothing."""

_TEXT = "CONVERT(CAST({0} AS CHAR) USING utf8mb4) COLLATE utf8mb4_nopad_bin"
_MOMENT = (
    "CASE WHEN {0} >= '0001-01-01' AND MONTH({0}) > 0 AND DAYOFMONTH({0}) > 0 "
    "THEN CAST({0} AS DATETIME(6)) END"
)
"""MariaDB may hold days that there are not, such as 2020-00-00; these are NULL."""

_SIGNED, _DOUBLE = "CAST({0} AS SIGNED)", "CAST({0} AS DOUBLE)"
_WHOLES = {
    "tinyint": ("TINYINT", _SIGNED),
    "smallint": ("SMALLINT", _SIGNED),
    "mediumint": ("INTEGER", _SIGNED),
    "int": ("INTEGER", _SIGNED),
    "bigint": ("BIGINT", "{0}"),
}
_FORMS = {
    **dict.fromkeys(("decimal", "float", "double"), ("DOUBLE", _DOUBLE)),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "enum", "uuid"), ("VARCHAR", _TEXT)),
    **dict.fromkeys(("date", "datetime", "timestamp"), ("TIMESTAMP", _MOMENT)),
}
_MOST_DIGITS = 38


def _refuse_version(version: str, shown: str) -> None:
    found = _VERSION.search(version)
    if found is None:
        raise InvalidRequest(f"{shown} is no MariaDB (it may be MySQL), and prdp has no SQL for it.")
    if (int(found[1]), int(found[2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise InvalidRequest(f"{shown} is on MariaDB {found[1]}.{found[2]}; prdp reads it from {oldest} on.")


def _find(ask: Ask, shown: str, table: str, rows_are_records: bool) -> SqlTable:
    """Look a table up, as ``name`` or ``database.name``; reads no record."""
    schema, point, name = table.rpartition(".")
    found = ask(_TABLE, name, schema if point else None)
    if not found:
        raise InvalidRequest(
            f"there is no table {table!r} in {shown}, or this user may not see it. Another database's is "
            "written 'database.table'."
        )
    ((schema, name, kind, engine),) = found
    view = kind != "BASE TABLE"
    if not rows_are_records and (view or engine not in _PLAIN_ENGINES):
        what = "a view" if view else f"a table of the engine {engine}"
        raise InvalidRequest(
            f"{table!r} is {what}, so that its rows need not be records: one row may come of many, or a "
            "record be in many. Give the table itself. If each row is one record all the same and none makes "
            "its query fail, say so with prdp.open(..., rows_are_records=True)."
        )
    types, read = {}, {}
    for column, *facts in ask(_COLUMNS, schema, name):
        types[column], form = _read_as(*facts)
        if form:
            read[column] = form.format(MARIADB_SERVER.named(column))
    refuse_ambiguous(list(types))
    query = " ".join(str(ask(_VIEW, schema, name)[0][0]).split()) if view else ""
    return SqlTable(f"{MARIADB_SERVER.named(schema)}.{MARIADB_SERVER.named(name)}", types, read, query)


def _read_as(  # noqa: PLR0911, PLR0917  (one return a type; the catalog's row)
    name: str, shown: str, digits: Any, scale: Any, generated: str, privileges: str
) -> tuple[ColumnType, str]:
    """Return what a column is to prdp, and the form in which it is read; none where it cannot be."""
    if "select" not in privileges:
        return ColumnType(Kind.OTHER, native=f"{shown}, which this user may not read"), ""
    if generated != "NEVER":  # computed for each row that is read, so that one row could make it fail
        return ColumnType(Kind.OTHER, native=f"{shown}, generated"), ""
    if name == "decimal" and digits <= _MOST_DIGITS:
        return column_type(f"DECIMAL({digits},{scale})"), "{0}"
    if shown == "tinyint(1)":  # what BOOLEAN is to MariaDB
        return column_type("BOOLEAN"), "({0} <> 0)"
    if name in _WHOLES:
        native, form = _WHOLES[name]
        if "unsigned" not in shown:
            return column_type(native), form
        return column_type(f"U{native}"), "CAST({0} AS DECIMAL(20, 0))"
    if name in _FORMS:
        native, form = _FORMS[name]
        return column_type(native), form
    longer = ", longer than MariaDB compares: make it VARCHAR" if name in {"mediumtext", "longtext"} else ""
    return ColumnType(Kind.OTHER, native=f"{shown}{longer}"), ""


MARIADB_SERVER = SqlBackend(
    name="mariadb",
    title="MariaDB",
    driver="mariadb+pymysql",
    package="pymysql",
    dialect=MARIADB,
    quote="`",
    version="SELECT VERSION()",
    session=(
        "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
        "SET SESSION sql_mode = '', old_mode = '', time_zone = '+00:00', sql_auto_is_null = 0",
        f"SET SESSION max_sort_length = {_LONGEST_KEY}, sort_buffer_size = {_SORTED_AT_ONCE}",
        "SET SESSION max_statement_time = 3600, sql_select_limit = DEFAULT",
    ),
    begin=(
        "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    ),
    whoami="SELECT CONNECTION_ID()",
    cancel="KILL CONNECTION {who}",
    find=_find,
    refuse=_refuse_version,
    troubles={
        1044: "this user may not use that database",
        1045: "it does not know this user, or the password is another one",
        1049: "it has no such database",
        1130: "it lets nobody in from here",
        2003: "nobody listens there, or no such host is known",
    },
    options=("unix_socket", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_cert", "connect_timeout"),
    arguments={"charset": "utf8mb4"},
    greatest=GREATEST,
    check=CheckTables(
        create="CREATE DATABASE {schema} CHARACTER SET utf8mb4",
        drop="DROP DATABASE IF EXISTS {schema}",
        table=(
            "CREATE TABLE {table} (eps DOUBLE, v BIGINT, x DOUBLE, day DATETIME(6), "
            "job TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)"
        ),
        insert="INSERT INTO {table} (eps, v, x, job, day) VALUES (%s, %s, %s, %s, %s)",
        has_nan=False,
    ),
    tried="10.11",
)
"""MariaDB from 10.6 on."""
