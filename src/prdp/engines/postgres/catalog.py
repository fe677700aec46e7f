"""PostgreSQL's catalog: public facts of a table, known before any record is read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from prdp.engines.database import Rows
from prdp.engines.origins import Origins, Place
from prdp.engines.postgres.session import Ask
from prdp.engines.sources.checks import column_type, refuse_ambiguous
from prdp.errors import InvalidRequest
from prdp.expressions.tokens import quoted
from prdp.schema import ColumnType, Kind, Schema

_RELATIONS = """
    SELECT c.oid, n.nspname, c.relname, CASE WHEN EXISTS (
            WITH RECURSIVE below AS (
                SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = c.oid
                UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i
                    JOIN below AS b ON i.inhparent = b.inhrelid
            ) SELECT FROM below JOIN pg_catalog.pg_class AS k ON k.oid = below.inhrelid WHERE k.relkind = 'f'
        ) THEN 'f' ELSE c.relkind END, pg_catalog.row_security_active(c.oid),
        pg_catalog.has_any_column_privilege(c.oid, 'SELECT'),
        CASE WHEN c.relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(c.oid) ELSE '' END
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND
"""
_NUMERIC = "numeric"  # which may be NaN
_COLUMNS = """
    WITH RECURSIVE base AS (
        SELECT a.attnum, a.attname, a.attgenerated, a.atttypid AS type, a.atttypmod AS modifier,
            pg_catalog.format_type(a.atttypid, a.atttypmod) AS shown,
            pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') AS readable, a.attnotnull
        FROM pg_catalog.pg_attribute AS a
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
      UNION ALL
        SELECT b.attnum, b.attname, b.attgenerated, t.typbasetype,
            CASE WHEN b.modifier >= 0 THEN b.modifier ELSE t.typtypmod END, b.shown, b.readable, b.attnotnull
        FROM base AS b JOIN pg_catalog.pg_type AS t ON t.oid = b.type WHERE t.typtype = 'd'
    )
    SELECT b.attname, t.typname, t.typtype, n.nspname = 'pg_catalog', b.modifier, b.shown,
        b.attgenerated, b.readable, b.attnotnull
    FROM base AS b JOIN pg_catalog.pg_type AS t ON t.oid = b.type
        JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
    WHERE t.typtype <> 'd' ORDER BY b.attnum
"""
_ORIGINS = r"""
    WITH RECURSIVE reached AS (
        SELECT CAST(%s AS oid) AS number
      UNION
        SELECT found.number FROM reached AS r CROSS JOIN LATERAL (
            SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = r.number
          UNION ALL
            SELECT CAST(one[1] AS oid) FROM pg_catalog.pg_rewrite AS w
            CROSS JOIN LATERAL pg_catalog.regexp_matches(w.ev_action::text, ':relid (\d+)', 'g') AS one
            WHERE w.ev_class = r.number AND w.ev_type = '1'
          UNION ALL
            SELECT w.ev_class FROM pg_catalog.pg_rewrite AS w
            WHERE w.ev_type <> '1' AND w.ev_action::text ~ (':relid ' || r.number || '\M')
        ) AS found (number)
    ), called AS (
        SELECT r.number, p.oid AS function, p.proname, p.provolatile, p.proargtypes, p.prorettype
        FROM reached AS r JOIN pg_catalog.pg_rewrite AS w ON w.ev_class = r.number AND w.ev_type = '1'
        CROSS JOIN LATERAL pg_catalog.regexp_matches(
            w.ev_action::text, ':(funcid|opfuncid|aggfnoid|winfnoid|opno) (\d+)', 'g') AS one
        LEFT JOIN pg_catalog.pg_operator AS o ON one[1] = 'opno' AND o.oid = CAST(one[2] AS oid)
        JOIN pg_catalog.pg_proc AS p ON p.oid = COALESCE(o.oprcode, CAST(one[2] AS oid))
    )
    SELECT r.number, COALESCE(n.nspname, ''), COALESCE(c.relname, ''), CASE
        WHEN c.oid IS NULL OR c.relkind NOT IN ('r', 'p', 'v', 'm', 'f') OR r.number < 16384 THEN 'catalogue'
        WHEN c.relkind = 'f' THEN 'foreign'
        WHEN c.relrowsecurity THEN 'secured'
        WHEN EXISTS (
            SELECT FROM pg_catalog.pg_rewrite AS w
            WHERE w.ev_class = r.number AND w.ev_type = '1' AND w.ev_action::text LIKE '%%{COERCETODOMAIN %%'
        ) THEN 'domain'
        WHEN EXISTS (
            SELECT FROM pg_catalog.pg_trigger AS t JOIN pg_catalog.pg_proc AS p ON p.oid = t.tgfoid
            WHERE NOT t.tgisinternal AND t.tgrelid <> r.number AND p.prosrc ~* (
                '\m(into|update|from|only|copy|table)\s+("?\w+"?\s*\.\s*)?"?'
                || pg_catalog.regexp_replace(c.relname, '([^\w])', '\\\1', 'g') || '"?(\W|$)')
            AND p.prosrc ~* '\m(insert|update|delete|merge|copy|truncate)\M'
        ) THEN 'trigger'
        ELSE COALESCE((
            SELECT min(k.proname) FROM called AS k WHERE k.number = r.number AND NOT (
                k.function < 16384 AND (k.provolatile = 'i' OR k.provolatile = 's'
                    AND NOT CAST(k.proargtypes AS oid[]) && ARRAY[19, 26, 2205]::oid[]
                    AND k.prorettype NOT IN (142, 2249)))
        ), '') END
    FROM reached AS r LEFT JOIN pg_catalog.pg_class AS c ON c.oid = r.number
        LEFT JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE r.number <> 0 ORDER BY 1
"""
"""Dependencies of a table or view: its partitions and children, what its parsed query reads, and
tables whose rules write into it.

A function is taken for one of its arguments alone if it is PostgreSQL's own and immutable, or stable with no
argument that names an object (name, oid, regclass) and no result that holds rows (xml, record). A trigger's
function is known as text alone: one that writes, and names the table, may fill it.
"""

_POLICIES = """
    SELECT pg_catalog.concat_ws(' ', pg_catalog.format('%%I.%%I', n.nspname, c.relname),
        CASE WHEN p.polpermissive THEN 'permits' ELSE 'restricts to' END,
        CAST(CAST(p.polroles AS pg_catalog.regrole[]) AS text), pg_catalog.pg_get_expr(p.polqual, p.polrelid))
    FROM pg_catalog.pg_policy AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.polrelid
        JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE p.polcmd IN ('r', '*') AND c.oid = ANY(%s) ORDER BY 1
"""
_LISTED = """
    SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname
        ELSE n.nspname || '.' || c.relname END
    FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND NOT c.relispartition
        AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%%'
    ORDER BY 1 LIMIT 1000
"""
_FACTS = """
    SELECT pg_catalog.current_setting('server_encoding'),
        CAST(pg_catalog.current_setting('server_version_num') AS INT) / 10000
"""
_MAY_ASK = "SELECT pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE')"
_IDENTITY = """
    SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()), d.oid
    FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()
"""
_TYPES = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "bool": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
}
_TEXTS = {"text", "varchar", "bpchar", "name", "uuid"}
_VIEWS = {"v": "a view", "m": "a materialized view", "f": "a foreign table, or has one below it"}
_OLDEST = 14
"""The first version of PostgreSQL whose EXTRACT is exact."""

_MAX_DIGITS = 38
_LARGEST, _SMALLEST = str(2**1024 - 2**970), f"{5**1075}e-1075"
_TEXT, _PLAIN, _FLOAT, _EXACT, _DECIMAL = (
    'CAST({0} AS TEXT) COLLATE "C"',
    "{0}",
    "CAST({0} AS DOUBLE PRECISION)",
    "CASE WHEN {0} <> 'NaN' THEN {0} END",
    (  # NUMERIC of any size as the nearest double; a cast alone would fail beyond the doubles
        "CASE WHEN {0} = 'NaN' THEN NULL "
        f"WHEN abs({{0}}) >= {_LARGEST} THEN CAST('Infinity' AS DOUBLE PRECISION) * sign({{0}}) "
        f"WHEN abs({{0}}) <= {_SMALLEST} THEN 0 ELSE CAST({{0}} AS DOUBLE PRECISION) END"
    ),
)


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table of a PostgreSQL database.

    Attributes:
        place: Its schema and its name.
        schema: Its columns, with DuckDB's names of their types.
        read: For each column that can be read, SQL for its value, in the form that statements rest on.
        source: Of a view, its query; where row security may filter rows, its policies and this user's role.
        filtered: Whether row security may filter rows.
        origins: The tables whose rows it shows.
    """

    place: tuple[str, str]
    schema: Schema
    read: dict[str, str]
    source: str
    filtered: bool
    origins: Origins = field(compare=False)

    def named(self, slot: str, names: Collection[str]) -> str:
        """Return the WITH clause that names the table in a slot and its columns."""
        items = [f"{sql} AS {quoted(column)}" for column, sql in self.read.items() if column in names]
        where = ".".join(map(quoted, self.place))
        return f"{slot} AS NOT MATERIALIZED (SELECT {', '.join(items)} FROM {where})"


def relation(ask: Ask, shown: str, table: str, *, rows_are_records: bool) -> PostgresTable:
    """Return the table or view of a name; reads no record.

    Raises:
        InvalidRequest: There is no such table, or its rows need not be records.
    """
    _refuse_unless_readable(ask, shown)
    number, schema, name, kind, secured, readable, query = _found(ask, shown, table)
    if not readable:
        raise InvalidRequest(f"this user may not read the table {table!r} of {shown}: GRANT SELECT on it.")
    if not rows_are_records:
        _refuse_unless_records(table, kind, secured=secured)
    columns = ask(_COLUMNS, number)
    names = [str(column) for column, *_ in columns]
    refuse_ambiguous(names)
    types, read = {}, {}
    for column, *facts in columns:
        known = _Facts(*facts)
        kind, form = _read_as(known)
        types[column] = kind.never_null() if known.required and known.name != _NUMERIC else kind
        if form:
            read[column] = form.format(quoted(column))
    below = ask(_ORIGINS, number)
    server = _server(ask) or shown
    hiding = [one for one, *_, trouble in below if trouble == "secured"] if query else [number] * secured
    made = " ".join([*query.split(), *_row_security(ask, hiding)])
    filtered = bool(query or secured)
    return PostgresTable((schema, name), types, read, made, filtered, _origins(below, shown, server))


def _row_security(ask: Ask, tables: list[int]) -> list[str]:
    """Return the policies of tables, with the role that they are applied to."""
    if not tables:
        return []
    ((role,),) = ask("SELECT CAST(current_user AS text)")
    return [f"row security for {quoted(role)}:", *(text for (text,) in ask(_POLICIES, tables))]


def _server(ask: Ask) -> str:
    """Return the identifiers of the server and its database, whatever the address; empty if not permitted."""
    ((permitted,),) = ask(_MAY_ASK)
    return str(ask(_IDENTITY)[0]) if permitted else ""


def _origins(found: Rows, shown: str, server: str) -> Origins:
    """Return the tables below a table or view."""
    places: dict[Place, str] = {
        ("postgres", server, below): f"the table '{schema}.{name}' of {shown}"
        for below, schema, name, _ in found
    }
    reasons = (
        _UNTRACED.get(trouble, "{0}, whose query calls the function {1}").format(f"{schema}.{name}", trouble)
        for _, schema, name, trouble in found
        if trouble
    )
    return Origins(places, untraced=next(reasons, ""))


_UNTRACED = {
    "catalogue": "{0}, which PostgreSQL itself keeps of other tables",
    "foreign": "{0}, a foreign table",
    "secured": "{0}, of which row security shows some rows",
    "domain": "{0}, whose query casts to a domain, which may have a CHECK",
    "trigger": "{0}, into which a trigger of another table may write",
}


def _refuse_unless_readable(ask: Ask, shown: str) -> None:
    """Refuse databases in which texts or times are not what statements take them for."""
    ((encoding, version),) = ask(_FACTS)
    if encoding != "UTF8":
        raise InvalidRequest(
            f"{shown} is encoded in {encoding}, and prdp reads UTF8: copy the table into a database that is."
        )
    if version < _OLDEST:
        raise InvalidRequest(
            f"{shown} is on PostgreSQL {version}, and prdp reads versions from {_OLDEST} on."
        )


def _found(ask: Ask, shown: str, table: str) -> tuple[Any, ...]:
    """Return the one table of a name: as it is written, or as PostgreSQL reads a name without quotes."""
    schema, point, name = table.partition(".")
    visible = "pg_catalog.pg_table_is_visible(c.oid) AND c.relname = %s"
    tries: list[tuple[str, tuple[str, ...]]] = [(visible, (table,))]
    if point:
        tries.append(("n.nspname = %s AND c.relname = %s", (schema, name)))
    parts = _unquoted(table)
    if len(parts) == 1:
        tries.append((visible, parts))
    elif len(parts) == 2:
        tries.append(("n.nspname = %s AND c.relname = %s", parts))
    for condition, values in tries:
        rows = ask(_RELATIONS + condition, *values)
        if rows:
            return rows[0]
    raise InvalidRequest(_no_such(table, shown, [str(one) for (one,) in ask(_LISTED)]))


def _unquoted(table: str) -> tuple[str, ...]:
    """Return the parts of a name as PostgreSQL reads it: small letters, but for what is in quotes."""
    part = r'"(?:[^"]|"")+"|[^".]+'
    if not re.fullmatch(rf"(?:{part})(?:\.(?:{part}))*", table):
        return ()
    found = re.findall(part, table)
    return tuple(one[1:-1].replace('""', '"') if one.startswith('"') else one.lower() for one in found)


def _no_such(table: str, shown: str, there: Collection[str]) -> str:
    near = difflib.get_close_matches(table, there, n=3) or sorted(there)[:8]
    known = f" There is {', '.join(map(repr, near))}." if near else " This user sees no table at all there."
    return f"there is no table {table!r} in {shown}.{known} Another schema's is written 'schema.table'."


def _refuse_unless_records(table: str, kind: str, *, secured: bool) -> None:
    what = _VIEWS.get(kind)
    if what is not None:
        raise InvalidRequest(
            f"{table!r} is {what}, so that its rows need not be records: one row may come of many, or a "
            "record be in many. Give the table itself. If each row is one record all the same and none makes "
            "its query fail, declare it with prdp.open(..., rows_are_records=True)."
        )
    if secured:
        raise InvalidRequest(
            f"row security decides which rows of {table!r} this user sees, and may decide by other rows. "
            "Read it as a user with BYPASSRLS. If each row is seen or not by its own content alone, say so "
            "with prdp.open(..., rows_are_records=True)."
        )


class _Facts(NamedTuple):
    """A column, as the catalog has it."""

    name: str
    kind: str
    own: bool
    modifier: int
    shown: str
    generated: str
    readable: bool
    required: bool


def _read_as(column: _Facts) -> tuple[ColumnType, str]:
    """Return the type of a column in prdp, and the SQL that reads it; none where it cannot be read."""
    name, own = column.name, column.own
    if not column.readable:
        return ColumnType(Kind.OTHER, native=f"{column.shown}, which this user may not read"), ""
    if column.generated == "v":  # computed for each row that is read, so that one row could make it fail
        return ColumnType(Kind.OTHER, native=f"{column.shown}, generated when read"), ""
    if column.kind == "e" or name == "citext" or (own and name in _TEXTS):
        return column_type("VARCHAR"), _TEXT
    if own and name == _NUMERIC:
        return _numeric(column.modifier)
    if not own or name not in _TYPES:
        return ColumnType(Kind.OTHER, native=column.shown), ""
    return column_type(_TYPES[name]), _FLOAT if name == "float4" else _PLAIN


def _numeric(modifier: int) -> tuple[ColumnType, str]:
    """Return the SQL that reads NUMERIC: exactly up to 38 digits, else as the nearest double."""
    digits, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    if modifier >= 4 and scale <= digits <= _MAX_DIGITS:
        return column_type(f"DECIMAL({digits},{scale})"), _EXACT
    return column_type("DOUBLE"), _DECIMAL
