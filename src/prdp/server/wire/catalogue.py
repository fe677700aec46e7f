"""The catalogue that clients look tables up in: made of public facts, and answered apart from all records.

A statement about ``pg_catalog`` or ``information_schema`` is read into a tree, of which every table and every
function has to be on a list. What is left is written anew for a database in memory that holds the catalogue
and nothing else, cannot open a file, and has little memory and time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import duckdb
import sqlglot
from sqlglot import exp

from prdp.safety.silent_logs import silent
from prdp.schema import ColumnType, Kind
from prdp.server.planning import Served
from prdp.server.wire import values
from prdp.server.wire.failures import WireError
from prdp.server.wire.results import WireResult
from prdp.server.wire.schema_of_catalogue import (
    FUNCTIONS,
    LOCAL_FUNCTIONS,
    MACROS,
    SETTINGS,
    SYSTEM,
    TYPES,
    VIEWS,
    Rows,
    column_names,
    created,
)
from prdp.server.wire.values import WireColumn
from prdp.sql.reading import sql_of

MAX_ROWS = 10_000
_SECONDS = 2.0
_MEMORY = "64MB"
_MAX_SERIES, _MAX_JOINED = 1_000, 16
"""Numbers of a series, and texts that a statement joins: the database cannot be interrupted meanwhile."""
_SCHEMAS = {"pg_catalog", "information_schema"}
_PUBLIC, _OWNER = 2200, 10
_NUMERIC = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UBIGINT", "UINTEGER", "HUGEINT"}
_REGS = {"REGCLASS", "REGTYPE", "REGPROC", "REGNAMESPACE", "REGPROCEDURE", "REGROLE"}
_NAMES = {"NAME", "CHAR", '"CHAR"', "CSTRING", "XML"}


def type_of(column: ColumnType) -> int:
    """Return the number of a column's type.

    >>> type_of(ColumnType(Kind.NUMBER, integer=True)), type_of(ColumnType(Kind.TEXT))
    (20, 25)
    """
    native = column.native.upper()
    if column.kind is Kind.NUMBER:
        return values.INT8 if column.integer else values.NUMERIC if native[:3] in ("DEC", "NUM") else 701
    if column.kind is Kind.MOMENT:
        return values.DATE if native == "DATE" else values.TIMESTAMP
    return values.BOOL if column.kind is Kind.BOOLEAN else values.TEXT


def number_of(table: str) -> int:
    """Return the number of a table: by its name alone, so that it says nothing of others."""
    return 0x40000000 | crc32(table.encode()) & 0x3FFFFFFF


def _parsed(text: str) -> Any:
    """Return a statement's tree; None where it is not of PostgreSQL's language."""
    try:
        with silent():  # its log would repeat the statement
            trees = sqlglot.parse(text, read="postgres")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return None
    return trees[0] if len(trees) == 1 else None


def _tables(tree: Any) -> list[Any]:
    """Return the tables of a statement that are not its own (WITH)."""
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    return [one for one in tree.find_all(exp.Table) if one.name and not (one.name in own and not one.db)]


def is_about_catalogue(text: str, served: Mapping[str, Served]) -> bool:
    """Return whether a statement is about the catalogue, or about no table at all."""
    tree = _parsed(text)
    if tree is None or not isinstance(tree, exp.Query):
        return False
    names = _tables(tree)
    return all(
        one.db.lower() in _SCHEMAS or (one.name.lower().startswith("pg_") and one.name not in served)
        for one in names
    )


def kinds_of_parameters(text: str, served: Mapping[str, Served]) -> dict[int, int]:
    """Return the types of parameters, by the columns that they are compared with."""
    tree, found = _parsed(text), {}
    if tree is None:
        return {}
    schemas = [served[one.name].facts.schema for one in _tables(tree) if one.name in served]
    columns = {name.lower(): kind for schema in schemas for name, kind in schema.items()}
    for node in tree.find_all(exp.Parameter):
        parent = node.parent
        while isinstance(parent, exp.Paren | exp.Neg | exp.Tuple):
            parent = parent.parent
        if isinstance(parent, exp.Limit | exp.Offset):
            found[int(node.name)] = values.INT8
        elif isinstance(parent, exp.Cast):
            kind = parent.to.sql(dialect="postgres").upper().partition("(")[0]
            found[int(node.name)] = _CASTS.get(kind, values.TEXT)
        elif isinstance(parent, exp.Predicate | exp.Binary | exp.Between | exp.In):
            near = [one for one in parent.find_all(exp.Column) if one.name.lower() in columns]
            if near:
                kind = type_of(columns[near[0].name.lower()])
                found[int(node.name)] = values.FLOAT8 if kind == values.INT8 else kind
    return found


def without_parameters(text: str) -> str:
    """Return a statement without the clauses that have parameters: its columns are the same.

    >>> without_parameters("SELECT COUNT(*) AS n FROM t WHERE a > $1 GROUP BY b")
    'SELECT COUNT(*) AS n FROM t GROUP BY b'
    """
    tree = _parsed(text)
    if tree is None:
        return text
    for select in list(tree.find_all(exp.Select)):
        for clause in ("where", "having", "limit", "offset"):
            part = select.args.get(clause)
            if part is not None and part.find(exp.Parameter) is not None:
                select.set(clause, None)
    return str(tree.sql(dialect="postgres", unsupported_level=sqlglot.ErrorLevel.IGNORE))


_CASTS = {
    "INT": 20, "INTEGER": 20, "BIGINT": 20, "SMALLINT": 20, "DOUBLE PRECISION": 701, "REAL": 701,
    "DECIMAL": 1700, "NUMERIC": 1700, "DATE": 1082, "TIMESTAMP": 1114, "BOOLEAN": 16,
}  # fmt: skip


@dataclass(frozen=True)
class Catalogue:
    """The catalogue of some tables."""

    database: Any

    @classmethod
    def of(cls, tables: Mapping[str, Served]) -> Catalogue:
        """Return the catalogue of tables, from their public facts."""
        options: dict[str, Any] = {"memory_limit": _MEMORY, "threads": "1", "enable_external_access": "false"}
        database = duckdb.connect(":memory:", config=options)
        database.execute(";\n".join(created()))
        for name, rows in _contents(tables).items():
            for row in rows:
                marks = ", ".join("?" * len(row))
                database.execute(f"INSERT INTO {name} ({', '.join(row)}) VALUES ({marks})", [*row.values()])
        database.execute(";\n".join((*MACROS, *VIEWS, "SET lock_configuration = true")))
        return cls(database)

    def run(self, text: str, setting: Callable[[str], str | None]) -> WireResult:
        """Answer a statement about the catalogue.

        Args:
            text: The statement.
            setting: The value of a setting by its name; None for none.
        """
        tree = _parsed(text)
        if tree is None:
            raise WireError.of("statement")
        names = [_column_name(column) for column in tree.selects]
        about_tables = bool(_tables(tree))
        try:
            written = sql_of(_rewritten(tree, setting), comments=False)
            columns, rows = self._asked(written)
        except WireError:
            raise
        except Exception:  # whatever the parser or the database raises
            if not about_tables:
                raise WireError("0A000", "this cannot be answered: it is about no table.") from None
            columns = tuple(WireColumn(name, values.TEXT) for name in names)
            rows = []  # what clients look up beside tables: there is none of it
        if len(names) == len(columns):
            columns = tuple(
                WireColumn(name if name != "*" else column.name, column.type)
                for name, column in zip(names, columns, strict=True)
            )
        return WireResult(f"SELECT {len(rows)}", columns, rows)

    def _asked(self, text: str) -> tuple[tuple[WireColumn, ...], list[Any]]:
        cursor = self.database.cursor()
        watch = threading.Timer(_SECONDS, cursor.interrupt)
        watch.start()
        try:
            found = cursor.execute(text)
            described = found.description or []
            columns = tuple(WireColumn(str(name), _wire_type(str(kind))) for name, kind, *_ in described)
            return columns, found.fetchmany(MAX_ROWS)
        finally:
            watch.cancel()
            cursor.close()


def _wire_type(kind: str) -> int:
    kind = kind.upper()
    if kind.endswith("[]"):
        return values.TEXTS
    if kind in _NUMERIC:
        return values.INT8
    if kind.startswith("DECIMAL"):
        return values.NUMERIC
    return {"BOOLEAN": values.BOOL, "BOOL": values.BOOL, "DOUBLE": values.FLOAT8, "FLOAT": values.FLOAT8,
            "DATE": values.DATE, "TIMESTAMP": values.TIMESTAMP}.get(kind, values.TEXT)  # fmt: skip


# What is in it.


def _contents(tables: Mapping[str, Served]) -> dict[str, Rows]:
    """Return the rows of the catalogue's tables."""
    attributes, descriptions = [], []
    classes = [
        {"oid": number, "relname": name, "relnamespace": 11, "relowner": _OWNER, "relkind": "r",
         "relnatts": 0, "relpersistence": "p", "relreplident": "n"}
        for name, number in SYSTEM.items()
    ]  # fmt: skip
    for name, served in tables.items():
        number, schema = number_of(name), served.facts.schema
        classes.append({
            "oid": number, "relname": name, "relnamespace": _PUBLIC, "relowner": _OWNER, "relkind": "r",
            "relnatts": len(schema), "relpersistence": "p", "relreplident": "d", "reltuples": -1.0,
        })  # fmt: skip
        notion = "" if served.facts.policy.stated is None else " of zero-concentrated privacy"
        policy = f"policy{notion}: {served.facts.policy.shown.text}"
        descriptions.append({"objoid": number, "classoid": 1259, "objsubid": 0, "description": policy})
        for place, (column, kind) in enumerate(schema.items(), 1):
            of = type_of(kind)
            attributes.append({
                "attrelid": number, "attname": column, "atttypid": of, "attnum": place,
                "attlen": WireColumn("", of).size,
            })  # fmt: skip
            if note := _noted(served, column):
                descriptions.append(
                    {"objoid": number, "classoid": 1259, "objsubid": place, "description": note}
                )
    types = [
        {"oid": oid, "typname": name, "typnamespace": 11, "typowner": _OWNER, "typlen": size, "typtype": "b",
         "typcategory": category, "typarray": array, "typelem": element, "typinput": f"{name}in"}
        for oid, name, size, category, array, element in TYPES
    ]  # fmt: skip
    return {
        "pg_class": classes, "pg_attribute": attributes, "pg_description": descriptions, "pg_type": types,
        "pg_namespace": [
            {"oid": 11, "nspname": "pg_catalog", "nspowner": _OWNER},
            {"oid": _PUBLIC, "nspname": "public", "nspowner": _OWNER},
            {"oid": 13000, "nspname": "information_schema", "nspowner": _OWNER},
        ],
        "pg_database": [{"oid": 5, "datname": "prdp", "datdba": _OWNER, "encoding": 6,
                         "datlocprovider": "c", "datcollate": "C", "datctype": "C", "datallowconn": True}],
        "pg_roles": [{"oid": _OWNER, "rolname": "owner"}],
        "pg_settings": [{"name": name, "setting": value} for name, value in SETTINGS.items()],
        "pg_am": [{"oid": 2, "amname": "heap", "amtype": "t"}],
    }  # fmt: skip


def _noted(served: Served, column: str) -> str:
    """Return what is public of a column's values, for people."""
    parts = []
    low, high = served.facts.bounds.get(column, (None, None))
    if low is not None and high is not None:
        parts.append(f"from {float(low):,.12g} to {float(high):,.12g}")
    keys = served.listed["keys"].get(column)
    if keys is not None and not isinstance(keys, str | Mapping):
        parts.append(f"{len(keys)} keys are listed")
    return "; ".join(parts)


# Statements.


def _rewritten(tree: Any, setting: Callable[[str], str | None]) -> Any:
    """Return a statement for the database in memory; refuse tables and functions that are on no list."""
    if not isinstance(tree, exp.Query) or tree.find(exp.Into, exp.Lock):
        raise WireError("25006", "only SELECT is answered: nothing is ever written.")
    own = {cte.alias for cte in tree.find_all(exp.CTE)}
    made = tree
    for node in reversed(list(tree.walk())):  # parts before wholes
        other = _rewrite(_without_schemas(node), setting, own)
        if node is made:
            made = other
        elif other is not node:
            node.replace(other)
    joined = 0
    for node in made.find_all(exp.Func, exp.DPipe):
        joined += _joined(node)
        name = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__.lower()
        if (name not in FUNCTIONS and name not in LOCAL_FUNCTIONS) or joined > _MAX_JOINED:
            raise KeyError(name)
    for node in made.find_all(exp.Command, exp.DDL, exp.DML, exp.Copy, exp.Pragma, exp.Attach):
        if not isinstance(node, exp.Query):
            raise KeyError(type(node).__name__)
    return made


def _joined(node: Any) -> int:
    """Return how many texts a node joins: what is joined again and again grows beyond all memory."""
    match node:
        case exp.Concat() | exp.ConcatWs():
            return len(node.expressions)
        case exp.Replace():
            return _MAX_JOINED // 2
        case _:
            return int(isinstance(node, exp.DPipe))


def _bounded(node: Any) -> Any:
    """Return a series of few numbers."""
    first, last = node.args["start"], node.args["end"]
    start = exp.Greatest(this=first, expressions=[exp.Literal.number(0)])
    end = exp.Least(this=last, expressions=[exp.Literal.number(_MAX_SERIES)])
    return type(node)(start=start, end=end)


def _without_schemas(node: Any) -> Any:
    """Return a function or a sign without the schema before it, and a text without its collation."""
    match node:
        case exp.Dot(this=exp.Identifier() as schema, expression=called) if schema.name.lower() in _SCHEMAS:
            return called
        case exp.Collate():
            return node.this
        case exp.Operator():
            return _operator(node)
        case _:
            return node


def _rewrite(node: Any, setting: Callable[[str], str | None], own: Iterable[str]) -> Any:
    match node:
        case exp.Table():
            return _table(node, own)
        case exp.Column() if node.args.get("db") is not None:
            return exp.column(node.this, table=node.args.get("table"))
        case exp.Cast():
            return _cast(node)
        case exp.Func():
            is_series = isinstance(node, exp.GenerateSeries | exp.ExplodingGenerateSeries)
            return _bounded(node) if is_series else _called(node, setting)
        case exp.Column() if node.name.lower() in ("current_user", "session_user", "user") and not node.table:
            quoted = node.this.args.get("quoted")
            return node if quoted else exp.Literal.string(setting("current_user") or "")
        case _:
            return node


def _table(node: Any, own: Iterable[str]) -> Any:
    """Return a table of the catalogue by its name in the database in memory."""
    if not isinstance(node.this, exp.Identifier):
        node.set("db", None)
        return node  # a function's rows: functions are looked at by themselves
    if node.name in own and not node.db:
        return node
    schema, name = node.db.lower(), node.name.lower()
    if schema == "information_schema":
        name = f"is_{name}"
    if not column_names(name):
        raise KeyError(name)
    alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
    return exp.Table(this=exp.to_identifier(name), alias=alias, joins=node.args.get("joins"))


def _operator(node: Any) -> Any:
    sign = str(node.args["operator"]).rpartition(".")[2].strip('"')
    left, right = node.this, node.expression
    match sign:
        case "~":
            return exp.RegexpLike(this=left, expression=right)
        case "!~":
            return exp.Not(this=exp.RegexpLike(this=left, expression=right))
        case "~~":
            return exp.Like(this=left, expression=right)
        case "=":
            return exp.EQ(this=left, expression=right)
        case _:
            raise KeyError(sign)


def _cast(node: Any) -> Any:
    kind = node.to.sql(dialect="postgres").upper().removeprefix("PG_CATALOG.")
    if kind in _REGS:
        is_text = isinstance(node.this, exp.Literal) and node.this.is_string
        return exp.Anonymous(this=f"{kind.lower()}_{'of' if is_text else 'name'}", expressions=[node.this])
    if kind == "OID":
        return exp.cast(node.this, "BIGINT")
    if kind in _NAMES or kind.startswith(("NAME", "CHAR")):
        return exp.cast(node.this, "TEXT")
    if "[]" in kind:
        return exp.cast(node.this, "TEXT[]")
    return exp.cast(node.this, kind)


def _name(called: Any) -> str:
    name = str(called.name if isinstance(called, exp.Anonymous) else called.sql_name()).lower()
    return "version" if name == "current_version" else name


def _called(node: Any, setting: Callable[[str], str | None]) -> Any:  # noqa: PLR0911  (a table)
    name = _name(node)
    first = node.expressions[0].name if isinstance(node, exp.Anonymous) and node.expressions else ""
    match name:
        case "current_setting":
            found = setting(first)
            return exp.Null() if found is None else exp.Literal.string(found)
        case "set_config":
            return exp.Literal.string(node.expressions[1].name if len(node.expressions) > 1 else "")
        case "json_build_object" | "jsonb_build_object":
            return exp.Null()  # of sequences, which there are none of
        case "version":
            return exp.Literal.string(f"PostgreSQL {setting('server_version')} (prdp)")
        case "current_database" | "current_catalog":
            return exp.Literal.string(setting("current_database") or "")
        case "current_schema":
            return exp.Literal.string("public")
        case "current_user" | "session_user" | "getpgusername":
            return exp.Literal.string(setting("current_user") or "")
        case "current_schemas" if node.this:
            given = [node.this] if isinstance(node.this, exp.Expression) else node.expressions
            return exp.Anonymous(this=FUNCTIONS[name], expressions=given)
        case _ if name in FUNCTIONS and isinstance(node, exp.Anonymous):
            return exp.Anonymous(this=FUNCTIONS[name], expressions=node.expressions)
        case _:
            return node


def _column_name(column: Any) -> str:
    """Return the name that PostgreSQL gives to a column of a result."""
    while isinstance(column, exp.Dot | exp.Cast | exp.Paren):
        column = column.expression if isinstance(column, exp.Dot) else column.this
    if isinstance(column, exp.Case):
        return "case"
    if isinstance(column, exp.Func) and not column.alias_or_name:
        return _name(column)
    name = column.alias_or_name if isinstance(column, exp.Column | exp.Alias | exp.Star) else ""
    return str(name or (_name(column) if isinstance(column, exp.Func) else "?column?"))


__all__ = ["Catalogue", "is_about_catalogue", "kinds_of_parameters", "number_of", "type_of"]
