"""Translate prdp's statements from DuckDB's SQL, by a table of what a dialect says otherwise.

Nothing is left to chance: every node of a statement is in the dialect's table, or among the words that
it shares with DuckDB; anything else is refused. Rules see their operands translated already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import sqlglot
from numpy.typing import NDArray
from sqlglot import exp

from prdp.engines.database import Statement
from prdp.engines.statements.cells import Arrays
from prdp.errors import InvalidRequest

Rule = Callable[[exp.Expression], exp.Expression]

_HALF = 1 << 64
_DEEPEST = 50_000
_LONGEST_KEPT = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Dialect:
    """Differences of an engine's SQL from DuckDB's; each is equal to itself alone.

    Attributes:
        name: The dialect's name, to sqlglot.
        rules: By the class of a node, such as ``IsNan``, or the name of a function that sqlglot does not
            know, such as ``round_even``: its translation.
        shared: The classes of nodes and the functions that mean the same, and are written by sqlglot.
        title: The dialect's name, to people; by default the same.
    """

    name: str
    rules: Mapping[str, Rule]
    shared: frozenset[str]
    title: str = ""


def translated(sql: str, dialect: Dialect) -> Statement:
    """Return one of prdp's statements in a dialect; usual ones are kept for the next time.

    Raises:
        InvalidRequest: The dialect does not support something in it.
    """
    return _kept(sql, dialect) if len(sql) <= _LONGEST_KEPT else _made(sql, dialect)


def _made(sql: str, dialect: Dialect) -> Statement:
    with _room():
        return _translated(sqlglot.parse_one(sql, dialect="duckdb"), dialect)


@lru_cache(maxsize=256)
def _kept(sql: str, dialect: Dialect) -> Statement:
    return _made(sql, dialect)


@contextmanager
def _room() -> Iterator[None]:
    """Let sqlglot go as deep as statements nest, which is deeper than Python lets it by default."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _translated(tree: exp.Expression, dialect: Dialect) -> Statement:
    wide = _joined_halves(tree)
    tables, names = _mentioned(tree)
    holder = exp.Paren(this=tree)  # so that the root can be replaced too
    for node in reversed(list(tree.walk())):
        word = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
        rule = dialect.rules.get(word)
        if rule is not None:
            translated = rule(node)
            if translated is not node:
                node.replace(translated)
        elif word not in dialect.shared:
            title = dialect.title or dialect.name
            raise InvalidRequest(f"{title} does not support {word}, which this query needs.")
    return Statement(holder.this.sql(dialect=dialect.name), wide, tables, names)


def _mentioned(tree: exp.Expression) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tables that a statement reads, without its own WITH, and the quoted names in it."""
    own = {query.alias for query in tree.find_all(exp.CTE)}
    tables = frozenset(table.name for table in tree.find_all(exp.Table)) - own
    return tables, frozenset(name.name for name in tree.find_all(exp.Identifier) if name.quoted)


def _joined_halves(tree: exp.Expression) -> tuple[str, ...]:
    """Make one column of each two halves of a wide number; return the names of these columns."""
    wide: list[str] = []
    for select in tree.find_all(exp.Select):
        halves = {item.alias: item for item in select.expressions}
        for name, high in halves.items():
            whole = name.removesuffix("_high")
            if whole != name and f"{whole}_low" in halves:
                shifted = high.find(exp.BitwiseRightShift)
                high.replace(exp.alias_(shifted.this.copy(), whole))
                halves[f"{whole}_low"].pop()
                wide.append(whole)
    return tuple(wide)


def with_halves(found: Arrays, wide: Mapping[str, Sequence[int | None]]) -> Arrays:
    """Return a statement's columns with wide ones as two halves each, as DuckDB would give them."""
    for name, whole in wide.items():
        known = [number or 0 for number in whole]
        found[f"{name}_high"] = np.array([number >> 64 for number in known], dtype=np.int64)
        found[f"{name}_low"] = np.array([number % _HALF for number in known], dtype=np.uint64)
    return found


def masked(values: NDArray[np.generic], missing: NDArray[np.bool_]) -> NDArray[np.generic]:
    """Return a column as DuckDB would give it: masked where there is NULL."""
    return np.ma.MaskedArray(values, mask=missing)


def with_sources(sources: str, statement: str) -> str:
    """Return a statement that begins with the definitions of its tables.

    >>> with_sources("t AS (SELECT 1 AS x)", "SELECT x FROM t")
    'WITH t AS (SELECT 1 AS x) SELECT x FROM t'
    """
    if not sources:
        return statement
    rest = statement.removeprefix("WITH ")
    return f"WITH {sources}{', ' if rest != statement else ' '}{rest}"


def named_subquery(node: exp.Expression, *, quoted: bool = False) -> exp.Expression:
    """Give a subquery of a FROM clause the name that some databases ask for."""
    if isinstance(node.parent, exp.From | exp.Join) and not node.alias:
        node.set("alias", exp.TableAlias(this=exp.to_identifier("chosen", quoted=quoted)))
    return node


def replaced_columns(node: exp.Expression) -> bool:
    """Write ``* REPLACE (...)`` as the columns of the first table, and those of another in their place.

    Returns:
        Whether a SELECT had it.
    """
    star = node.expressions[0]
    if not (isinstance(star, exp.Star) and star.args.get("replace")):
        return False
    first = node.args["from_"].this.this
    kept = [exp.column(item.alias_or_name, quoted=True) for item in first.expressions]
    node.set("expressions", [*kept, *(item.copy() for item in star.args["replace"])])
    return True


def counts_from_one(place: exp.Expression) -> bool:
    """Return whether a place in a list, that is no constant, still counts from one.

    sqlglot has made those count from zero that it knows to be whole numbers, and left alone what it knows no
    type of.
    """
    return place.type is not None and place.type.this == exp.DType.UNKNOWN


def of_whole_numbers(operation: exp.Expression) -> bool:
    """Return whether both sides of an operation are known to be whole numbers."""
    kinds = (side.unnest().type for side in (operation.this, operation.expression))
    return all(kind is not None and kind.this == exp.DType.BIGINT for kind in kinds)


def raw(text: str) -> exp.Expression:
    """Return a piece of SQL that is written as it is."""
    return exp.Literal(this=text, is_string=False)


def unmaterialized(node: exp.Expression) -> exp.Expression:
    """Leave out of a common table expression whether it is kept, for dialects that have no word for it."""
    node.set("materialized", None)
    return node


def form(text: str, dialect: str, **parts: exp.Expression) -> exp.Expression:
    """Return SQL of a dialect in which names represent nodes.

    >>> form("CASE WHEN x = 'NaN' THEN y END", "postgres", x=exp.column("a"), y=exp.Literal.number(1)).sql()
    "CASE WHEN a = 'NaN' THEN 1 END"
    """
    tree = _parsed(text, dialect).copy()
    holder = exp.Paren(this=tree)
    for column in list(tree.find_all(exp.Column)):
        if column.name in parts:
            column.replace(_enclosed(parts[column.name]))
    found: exp.Expression = holder.this
    return found.pop()


@cache
def _parsed(text: str, dialect: str) -> exp.Expression:
    return sqlglot.parse_one(text, dialect=dialect)


def _enclosed(node: exp.Expression) -> exp.Expression:
    """Return a copy of a node that binds as one, whatever is beside it."""
    copied = node.copy()
    plain = (exp.Column, exp.Literal, exp.Func, exp.Paren, exp.Cast, exp.Case, exp.Null, exp.Boolean)
    alone = isinstance(copied, plain) and not isinstance(copied, exp.Collate)  # to sqlglot, a function
    return copied if alone else exp.Paren(this=copied)
