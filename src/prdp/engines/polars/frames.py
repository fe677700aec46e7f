"""Run prdp's statements on Polars: FROM, JOIN, WHERE, GROUP BY and SELECT as steps of lazy frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import polars as pl
import sqlglot
from sqlglot import exp

from prdp.engines.polars.expressions import WORDS, cast_to, constant_value, lookup, once
from prdp.errors import InvalidRequest

_Names = tuple[tuple[str, str, str], ...]
"""The table, the name and the column of the frame of all that can be named."""


def run(sql: str, tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Return the frame of a statement over tables that it finds by their names; nothing is read."""
    return _Query(dict(tables), count()).frame(sqlglot.parse_one(sql, dialect="duckdb"))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What an expression can name: columns of a frame, and operands that are computed once."""

    names: _Names
    operands: Mapping[str, Any]

    def column(self, node: exp.Column) -> pl.Expr:
        """Return a column by its name, or by its table's and its own."""
        for table, name, held in self.names:
            if name == node.name and node.table in ("", table):
                return pl.col(held)
        raise InvalidRequest(f"Polars finds no column {node.name!r} in a statement.")

    def write(self, node: exp.Expression) -> pl.Expr:  # noqa: PLR0911  (one return a form)
        """Return an expression."""
        match node:
            case exp.Column():
                return self.column(node)
            case exp.Alias():
                return self.write(node.this)
            case exp.Identifier():  # an operand that is computed once
                operand: pl.Expr = self.operands[node.name]
                return operand
            case exp.Bracket() if isinstance(node.this, exp.Identifier):
                values: list[pl.Expr] = self.operands[node.this.name]
                return values[int(node.expressions[0].this)]  # sqlglot counts constant places from 0
            case exp.Bracket() if isinstance(node.this, exp.Array):
                return lookup(node, self.write)
            case exp.Bracket():
                return once(node, self.write, self._within)
            case exp.Window():
                return self._window(node)
            case exp.Filter():
                return self._filtered(node)
        word = node.name.lower() if isinstance(node, exp.Anonymous) else type(node).__name__
        if word not in WORDS:
            raise InvalidRequest(f"Polars has no word for {word}, which this question needs.")
        return WORDS[word](node, self.write)

    def _within(self, name: str, operand: Any) -> Any:
        return replace(self, operands={**self.operands, name: operand}).write

    def _window(self, node: exp.Window) -> pl.Expr:
        parts = [self.write(part) for part in node.args["partition_by"]]
        if isinstance(node.this, exp.RowNumber):
            order = [self.write(one.this) for one in node.args["order"].expressions]
            return pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(parts, order_by=order)
        return self.write(node.this).over(parts)

    def _filtered(self, node: exp.Filter) -> pl.Expr:
        """Return an aggregate of the rows for which a condition holds."""
        aggregate, kept = node.this, self.write(node.expression.this)
        if isinstance(aggregate.this, exp.Star):
            return kept.sum().cast(pl.Int64)
        value = pl.when(kept).then(self.write(aggregate.this))
        within = replace(self, operands={**self.operands, "prdp kept": value})
        return within.write(type(aggregate)(this=exp.to_identifier("prdp kept")))


@dataclass(frozen=True, slots=True)
class _Source:
    frame: pl.LazyFrame
    names: _Names


@dataclass(frozen=True, slots=True)
class _Query:
    """Runs queries.

    Attributes:
        tables: What can be read, by name.
        numbers: Numbers columns that must not meet others of the same name.
    """

    tables: Mapping[str, pl.LazyFrame]
    numbers: Any

    def frame(self, node: exp.Expression) -> pl.LazyFrame:
        """Return a query's frame, with its columns by their names."""
        if isinstance(node, exp.Subquery):
            return self.frame(node.this)
        known = dict(self.tables)
        for cte in node.args["with_"].expressions if node.args.get("with_") else ():
            known[cte.alias] = replace(self, tables=known).frame(cte.this)
        query = replace(self, tables=known)
        if isinstance(node, exp.Union):
            first, second = query.frame(node.this), query.frame(node.expression)
            names = zip(second.collect_schema().names(), first.collect_schema().names(), strict=True)
            return pl.concat([first, second.rename(dict(names))], how="vertical_relaxed")
        assert isinstance(node, exp.Select)  # noqa: S101  (prdp writes no others)
        return query.selected(node)

    def selected(self, node: exp.Select) -> pl.LazyFrame:
        """Return the frame of one SELECT."""
        if not node.args.get("from_"):
            return _listed(node.expressions)
        source = self._source(node.args["from_"].this)
        for join in node.args.get("joins") or ():
            source = self._joined(source, join)
        scope = _Scope(source.names, {})
        frame = source.frame
        if node.args.get("where"):
            frame = frame.filter(scope.write(node.args["where"].this))
        items = _items(node.expressions, source.names)
        if node.args.get("group") or any(
            item.find(exp.AggFunc) and not item.find(exp.Window) for _, item in items
        ):
            return _grouped(frame, items, node, scope)
        made = {name: scope.write(item) for name, item in items}
        chosen = frame.with_columns(**made).select(*made)  # a constant too is there for every row
        return chosen.unique() if node.args.get("distinct") else chosen

    def _source(self, node: exp.Expression) -> _Source:
        frame = self.tables[node.name] if isinstance(node, exp.Table) else self.frame(node)
        alias = node.alias_or_name
        names = frame.collect_schema().names()
        held = {name: f"{name} {next(self.numbers)}" for name in names}
        return _Source(frame.rename(held), tuple((alias, name, held[name]) for name in names))

    def _joined(self, left: _Source, join: exp.Join) -> _Source:
        right = self._source(join.this)
        names = left.names + right.names
        if join.method == "ASOF":
            return _Source(_searched(left, right, join.args["on"]), names)
        pairs = _equal_pairs(join)
        on_left = [_Scope(left.names, {}).write(_side(pair, left.names)) for pair in pairs]
        on_right = [_Scope(right.names, {}).write(_side(pair, right.names)) for pair in pairs]
        keys = [f"on {next(self.numbers)}" for _ in pairs]
        frame = left.frame.with_columns(**dict(zip(keys, on_left, strict=True)))
        other = right.frame.with_columns(**dict(zip(keys, on_right, strict=True)))
        how: Any = "left" if join.side == "LEFT" else "inner"
        return _Source(frame.join(other, on=keys, how=how).drop(keys), names)


def _items(expressions: Sequence[exp.Expression], names: _Names) -> list[tuple[str, exp.Expression]]:
    """Return the columns of a SELECT with their names; a star is all that there are."""
    items: list[tuple[str, exp.Expression]] = []
    for item in expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            instead = {one.alias: one.this for one in star.args.get("replace") or ()}
            items += [
                (name, instead.get(name, exp.column(name, table=table)))
                for table, name, _ in names
                if item is star or item.table == table
            ]
        else:
            items.append((item.alias_or_name, item))
    return list(dict(items).items())


def _grouped(
    frame: pl.LazyFrame, items: Sequence[tuple[str, exp.Expression]], node: exp.Select, scope: _Scope
) -> pl.LazyFrame:
    """Return the groups of a SELECT, each with what is made of its rows."""
    group = node.args.get("group")
    keys = [scope.write(key) for key in group.expressions] if group else []
    plain = {key.sql() for key in group.expressions} if group else set()
    made = {name: scope.write(item) for name, item in items if item.unalias().sql() not in plain}
    having = node.args.get("having")
    if having:
        made["prdp having"] = scope.write(having.this)
    if not keys:
        found = frame.select(**made)
    else:
        named = [key.alias(f"prdp key {place}") for place, key in enumerate(keys)]
        found = frame.group_by(named).agg(**made)
    if having:
        found = found.filter(pl.col("prdp having"))
    places = {key.sql(): f"prdp key {place}" for place, key in enumerate(group.expressions)} if group else {}
    return found.select(**{name: pl.col(places.get(item.unalias().sql(), name)) for name, item in items})


def _side(pair: tuple[exp.Expression, exp.Expression], names: _Names) -> exp.Expression:
    """Return which side of an equation names columns of these."""
    known = {(table, name) for table, name, _ in names} | {("", name) for _, name, _ in names}
    for side in pair:
        if all((column.table, column.name) in known for column in side.find_all(exp.Column)):
            return side
    raise InvalidRequest("Polars cannot join by this condition.")


def _equal_pairs(join: exp.Join) -> list[tuple[exp.Expression, exp.Expression]]:
    using = join.args.get("using")
    if using:
        return [(exp.column(one.name), exp.column(one.name)) for one in using]
    on = join.args["on"]
    return [(pair.this, pair.expression) for pair in (on.flatten() if isinstance(on, exp.And) else [on])]


def _searched(left: _Source, right: _Source, on: exp.GTE) -> pl.LazyFrame:
    """Return rows with the last of sorted rows whose number is not above theirs."""
    key = _Scope(left.names, {}).column(on.this).meta.output_name()
    start = _Scope(right.names, {}).column(on.expression).meta.output_name()
    known = left.frame.filter(pl.col(key).is_not_null()).sort(key)
    unknown = left.frame.filter(pl.col(key).is_null())
    found = known.join_asof(right.frame.sort(start), left_on=key, right_on=start, coalesce=False)
    return pl.concat([found, unknown], how="diagonal_relaxed")


def _listed(items: Sequence[exp.Expression]) -> pl.LazyFrame:
    """Return public constants as a frame: lists side by side, or one row."""
    columns: dict[str, pl.Series] = {}
    for item in items:
        value = item.unalias()
        kind = None
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Explode):
            kind, value = value.to, value.this
        values = _values(value.this) if isinstance(value, exp.Explode) else [value]
        columns[item.alias] = _series(values, kind)
    return pl.LazyFrame(columns)


def _values(node: exp.Expression) -> list[exp.Expression]:
    """Return the members of a list of constants."""
    match node:
        case exp.Cast():
            return _values(node.this)
        case exp.Array():
            return list(node.expressions)
        case exp.Split():
            return [exp.Literal.string(part) for part in node.this.this.split(node.expression.this)]
        case exp.GenerateSeries():
            return [exp.Literal.number(number) for number in range(int(node.args["end"].this))]
        case _:
            raise InvalidRequest("Polars cannot read a list of a statement.")


def _series(values: Sequence[exp.Expression], kind: exp.DataType | None) -> pl.Series:
    """Return constants as one column."""
    held = [constant_value(one) for one in values]
    column = pl.Series(held, strict=True) if held else pl.Series([], dtype=pl.String)
    return column if kind is None else pl.select(cast_to(pl.lit(column), kind)).to_series()
