"""Summaries computed by Polars: lazy frames, frames and Parquet files, streamed; no row is handed out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sqlglot
from sqlglot import exp

from prdp.engines.database import RECORDS, Database, PlainTable, Rows, Statement, slots_of
from prdp.engines.polars.expressions import WORDS, cast_to, constant_value, lookup, once
from prdp.engines.polars.plans import lazy_origins, refuse_unless_records
from prdp.engines.sources.checks import local_files, refuse_ambiguous
from prdp.engines.sources.source_query import unchanged
from prdp.engines.sql_engine import SqlEngine
from prdp.engines.statements.cells import Arrays
from prdp.errors import InvalidRequest
from prdp.schema import ColumnType, Kind, Schema

_Names = tuple[tuple[str, str, str], ...]
"""The table, the name and the column of the frame of all that can be named."""


def run(sql: str, tables: Mapping[str, pl.LazyFrame]) -> pl.LazyFrame:
    """Return the frame of a statement over tables that it finds by their names; nothing is read."""
    return _Query(dict(tables), count()).frame(sqlglot.parse_one(sql, dialect="duckdb"))


@dataclass(frozen=True, slots=True)
class _Scope:
    """Names in scope of an expression: columns of a frame, and operands that are computed once."""

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
            raise InvalidRequest(f"Polars does not support {word}, which this query needs.")
        return WORDS[word](node, self.write)

    def _within(self, name: str, operand: Any) -> Any:
        return replace(self, operands={**self.operands, name: operand}).write

    def _window(self, node: exp.Window) -> pl.Expr:
        parts = [self.write(part) for part in node.args["partition_by"]]
        if isinstance(node.this, exp.RowNumber):
            order = [self.write(one.this) for one in node.args["order"].expressions]
            return pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(parts, order_by=order)
        if isinstance(node.this, exp.DenseRank):  # of all rows
            (by,) = node.args["order"].expressions
            return self.write(by.this).rank("dense").cast(pl.Int64)
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
    """Return the side of an equation that names columns of these."""
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


_NATIVE: Mapping[Any, str] = {
    pl.Int8: "TINYINT",
    pl.Int16: "SMALLINT",
    pl.Int32: "INTEGER",
    pl.Int64: "BIGINT",
    pl.UInt8: "UTINYINT",
    pl.UInt16: "USMALLINT",
    pl.UInt32: "UINTEGER",
    pl.Int128: "HUGEINT",
    pl.Float32: "FLOAT",
    pl.Float64: "DOUBLE",
    pl.Boolean: "BOOLEAN",
    pl.String: "VARCHAR",
    pl.Date: "DATE",
    pl.UInt64: "UBIGINT",
}


Opened = Callable[[], pl.LazyFrame]
"""Returns a frame anew; raises what Polars does if it is not there any more."""


_MOMENT, _WIDE = pl.Datetime("us"), pl.Decimal(38, 0)
_UNITS = {"ms": Fraction(1000), "us": Fraction(1), "ns": Fraction(1, 1000)}
_MOMENTS = {"ms": "TIMESTAMP_MS", "us": "TIMESTAMP", "ns": "TIMESTAMP_NS"}
_DAY = Fraction(86_400_000_000)
_FARTHEST = 8 * 10**18
"""Microseconds of some 253,000 years: Polars' functions of dates reach 262,000, its numbers further."""


class PolarsDatabase(Database[PlainTable]):
    """Lazy frames that Polars reads and joins, scanned anew for every statement.

    Attributes:
        frames: The frames, by their names.
    """

    name = "polars"
    traces = False

    def __init__(self, frames: Mapping[str, Opened], slots: Mapping[str, str]) -> None:
        self.frames = frames
        self.slots = slots
        self.lock = threading.Lock()

    def find(self) -> dict[str, PlainTable]:
        """Look at the columns of each frame."""
        return {name: _described(opened()) for name, opened in self.frames.items()}

    def write(self, sql: str, tables: Mapping[str, PlainTable]) -> Statement:  # noqa: ARG002
        """Return a statement as it is: Polars runs its steps."""
        return Statement(sql)

    def arrays(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Arrays:  # noqa: ARG002
        """Run a statement; return its columns."""
        return _arrays(self._collected(statement))

    def rows(self, statement: Statement, tables: Mapping[str, PlainTable]) -> Rows:  # noqa: ARG002
        """Run a statement; return its rows."""
        return self._collected(statement).rows()

    def arrow(self, statement: Statement, tables: Mapping[str, PlainTable], schema: Schema) -> Any:  # noqa: ARG002
        """Run a statement; return an Arrow table."""
        wide = pl.selectors.by_dtype(pl.Int128).cast(_WIDE, strict=False)  # Arrow has no such whole numbers
        return self._collected(statement).with_columns(wide).to_arrow()

    @property
    def number_of_files(self) -> int:
        """Number of files that the tables scan."""
        return sum(len(list(one.files())) for one in self.frames.values() if isinstance(one, _Files | _Lazy))

    def _collected(self, statement: Statement) -> pl.DataFrame:
        tables = {self.slots[name]: _readable(opened()) for name, opened in self.frames.items()}
        scanned = (opened for opened in self.frames.values() if isinstance(opened, _Files | _Lazy))
        try:
            with unchanged([file for opened in scanned for file in opened.files()]):
                return run(statement.sql, tables).collect(engine="streaming")
        except pl.exceptions.PanicException:  # no Exception to Python, and its words may speak of a record
            pass
        raise RuntimeError


def _described(frame: pl.LazyFrame) -> PlainTable:
    columns = frame.collect_schema()
    refuse_ambiguous(columns.names())
    return PlainTable({name: _column_type(kind) for name, kind in columns.items()})


def open_source(
    source: object,
    types: Mapping[str, str] | None,
    *,
    table: str | None = None,
    rows_are_records: bool = False,
) -> SqlEngine:
    """Open a lazy frame, a frame, or a path or glob of Parquet files; reads no record."""
    if types is not None or table is not None:
        raise InvalidRequest("types= and table= are not for Polars: a frame and a Parquet file state theirs.")
    opened = _opened(source, rows_are_records=rows_are_records)
    return SqlEngine(PolarsDatabase({"": opened}, {"": RECORDS}))


def open_tables(sources: Mapping[str, object]) -> SqlEngine:
    """Open several frames or files together; reads no record."""
    frames = {name: _opened(source, rows_are_records=False) for name, source in sources.items()}
    return SqlEngine(PolarsDatabase(frames, slots_of(frames)))


def _opened(source: object, *, rows_are_records: bool) -> Opened:
    if isinstance(source, str | Path):
        return _Files(str(source))
    if isinstance(source, pl.DataFrame):
        held = source.lazy()
        return lambda: held
    if not isinstance(source, pl.LazyFrame):
        kind = f"{type(source).__module__.partition('.')[0]}.{type(source).__name__}"
        raise InvalidRequest(
            f"Polars cannot read this {kind}: give a LazyFrame or DataFrame of Polars, or Parquet files; or "
            "omit engine=."
        )
    if not rows_are_records:
        refuse_unless_records(source)
    return _Lazy(source, tuple(lazy_origins(source).files.values()))


@dataclass(frozen=True, slots=True)
class _Lazy:
    """A lazy frame of the caller's, with the local files that its plan names."""

    frame: pl.LazyFrame
    scanned: tuple[str, ...]

    def __call__(self) -> pl.LazyFrame:
        return pl.LazyFrame._from_pyldf(self.frame._ldf)  # noqa: SLF001  (a new one, that has read nothing)

    def files(self) -> list[str]:
        """Return the files that are read."""
        return list(self.scanned)


@dataclass(frozen=True, slots=True)
class _Files:
    """Parquet files by their path or glob, scanned as they are by then."""

    path: str

    def __call__(self) -> pl.LazyFrame:
        return _scanned(self.path)

    def files(self) -> list[str]:
        """Return the files that are read."""
        return local_files(self.path)


def _scanned(path: str) -> pl.LazyFrame:
    """Return a scan of files; names of folders are no columns, as Polars would guess their types."""
    files = local_files(path)
    if not all(file.endswith((".parquet", ".pq")) for file in files) or any("=" in file for file in files):
        raise InvalidRequest(
            f"Polars reads Parquet files here, in folders without '='. Omit engine=: {path!r} may be "
            "one of the sources that DuckDB reads."
        )
    return pl.scan_parquet(files, glob=False, hive_partitioning=False, use_statistics=False)


def _column_type(kind: pl.DataType) -> ColumnType:
    """Return the type of a Polars column in prdp, by DuckDB's name of it."""
    if isinstance(kind, pl.Decimal):
        return ColumnType(Kind.NUMBER, native=f"DECIMAL({kind.precision or 38},{kind.scale})")
    if isinstance(kind, pl.Datetime):  # by the names that DuckDB has, so that one ledger serves both
        zoned = "TIMESTAMP WITH TIME ZONE" if kind.time_zone else _MOMENTS[kind.time_unit]
        return ColumnType(Kind.MOMENT, native=zoned)
    if isinstance(kind, pl.Categorical | pl.Enum):
        return ColumnType(Kind.TEXT, native="VARCHAR")
    native = _NATIVE.get(type(kind), "")
    if kind.is_integer() and native:
        return ColumnType(Kind.NUMBER, integer=True, native=native)
    kinds = {"FLOAT": Kind.NUMBER, "DOUBLE": Kind.NUMBER, "BOOLEAN": Kind.BOOLEAN, "VARCHAR": Kind.TEXT}
    kinds["DATE"] = Kind.MOMENT
    return ColumnType(kinds.get(native, Kind.OTHER), native=native or str(kind))


def _readable(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return a frame whose texts are texts, and whose moments are microseconds without a zone, in UTC.

    A decimal of more digits than its type has is NULL.

    In Polars every branch of a CASE is computed for every row: no guard in a statement keeps a far moment
    from a function that panics at it.
    """
    changed = []
    for name, kind in frame.collect_schema().items():
        if isinstance(kind, pl.Categorical | pl.Enum):
            changed.append(pl.col(name).cast(pl.String))
        elif isinstance(kind, pl.Date):
            changed.append(_microseconds(pl.col(name), _DAY))
        elif isinstance(kind, pl.Datetime):
            changed.append(_microseconds(pl.col(name), _UNITS[kind.time_unit]))
        elif isinstance(kind, pl.Decimal):
            changed.append(_within_digits(pl.col(name), kind.precision or 38))
    return frame.with_columns(changed) if changed else frame


def _within_digits(number: pl.Expr, digits: int) -> pl.Expr:
    most = pl.lit(10**digits - 1, pl.Int128)
    return pl.when(number.to_physical().is_between(-most, most)).then(number)


def _microseconds(moment: pl.Expr, unit: Fraction) -> pl.Expr:
    """Return a moment in microseconds, in UTC; NULL so far away that functions of dates would panic."""
    steps = moment.to_physical().cast(pl.Int64)
    if unit < 1:  # 292 years around 1970 at most
        return (steps // unit.denominator).cast(_MOMENT)
    reach = _FARTHEST // unit.numerator
    inside = pl.when(steps.is_between(-reach, reach)).then(steps)
    return (inside * unit.numerator).cast(_MOMENT)


def _arrays(found: pl.DataFrame) -> Arrays:
    return {name: _array(found[name]) for name in found.columns}


def _array(column: pl.Series) -> Any:
    """Return a column as a masked array; texts and bytes as Python objects."""
    missing = column.is_null().to_numpy()
    if column.dtype in (pl.String, pl.Binary):
        return np.ma.MaskedArray(np.array(column.to_list(), dtype=object), mask=missing)
    filled = column.fill_null(False if column.dtype == pl.Boolean else 0)
    return np.ma.MaskedArray(filled.to_numpy(), mask=missing)
