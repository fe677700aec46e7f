"""DuckDB's expressions in Polars: expressions of columns, none of which fails for any row.

Polars computes every branch of a CASE, so that a branch must be total even where its condition does not hold.
What Polars rounds otherwise, or knows by a table of its own (logarithms, remainders, capitals, texts of
numbers), is computed by the language's reference functions, once for each different value.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import polars as pl
from sqlglot import exp

from prdp.expressions.texts import lower, substring, upper
from prdp.expressions.tokens import moment_from, number_text

Write = Callable[[exp.Expression], pl.Expr]
Word = Callable[[Any, Write], pl.Expr]

MOMENT = pl.Datetime("us")
_TYPES: Mapping[str, Any] = {
    "DOUBLE": pl.Float64,
    "FLOAT": pl.Float32,
    "BOOLEAN": pl.Boolean,
    "INT128": pl.Int128,
    "TINYINT": pl.Int8,
    "SMALLINT": pl.Int16,
    "INT": pl.Int32,
    "BIGINT": pl.Int64,
    "UTINYINT": pl.UInt8,
    "USMALLINT": pl.UInt16,
    "UINT": pl.UInt32,
    "UBIGINT": pl.UInt64,
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMPNTZ"), MOMENT),
}
_HALF = pl.lit(1 << 64, dtype=pl.Int128)
_EVERY = {"YEAR": "1y", "QUARTER": "1q", "MONTH": "1mo", "WEEK": "1w", "DAY": "1d", "HOUR": "1h"}
_EVERY |= {"MINUTE": "1m", "SECOND": "1s"}


def by_value(of: Callable[..., Any], kind: Any, *operands: pl.Expr) -> pl.Expr:
    """Apply a Python function to operands that are not NULL, computed once for each value."""

    def computed(given: pl.Series) -> pl.Series:
        rows = given.struct.unnest()
        values = rows.unique()
        made = [None if None in row else of(*row) for row in values.iter_rows()]
        column = pl.Series("made", made, dtype=kind, strict=True)
        joined = rows.join(
            values.with_columns(column), on=rows.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        return joined["made"]

    named = pl.struct(*(operand.alias(f"operand{place}") for place, operand in enumerate(operands)))
    return named.map_batches(computed, return_dtype=kind, is_elementwise=True)


def constant(node: exp.Literal) -> pl.Expr:
    """Return a constant; whole numbers beyond 64 bits have 128."""
    if node.is_string:
        return pl.lit(node.this)
    if not re.fullmatch(r"\d+", node.this):
        return pl.lit(float(node.this))
    number = int(node.this)
    return pl.lit(number, dtype=pl.Int128) if number >= 2**63 else pl.lit(number)


def constant_value(node: exp.Expression) -> Any:
    """Return a constant as Python's."""
    match node:
        case exp.Cast():
            value = constant_value(node.this)
            return _from_text(value, node.to) if isinstance(value, str) else value
        case exp.Paren():
            return constant_value(node.this)
        case exp.Neg():
            return -constant_value(node.this)
        case exp.Literal() if node.is_string:
            return node.this
        case exp.Literal():
            return int(node.this) if re.fullmatch(r"\d+", node.this) else float(node.this)
        case _:
            return node.this  # true or false


def converted(node: exp.Cast, write: Write) -> pl.Expr:
    """Return a value as one of another type; NULL where there is none."""
    operand = node.this
    if isinstance(operand, exp.Literal) and operand.is_string and not _is_text(node.to):
        return pl.lit(_from_text(operand.this, node.to), dtype=_dtype(node.to))
    return cast_to(write(operand), node.to, from_text=isinstance(node, exp.TryCast))


def cast_to(value: pl.Expr, to: exp.DataType, *, from_text: bool = False) -> pl.Expr:
    """Return a value as one of a type; texts are read as the language reads them if they may be there."""
    if _is_text(to):
        return value.map_batches(_texts, return_dtype=pl.String, is_elementwise=True)
    kind = _dtype(to)
    if not from_text and kind != MOMENT and not isinstance(kind, pl.Decimal):
        return value.cast(kind, strict=False)

    def convert(given: pl.Series) -> pl.Series:
        if given.dtype == pl.String:
            return pl.Series(given.name, [_from_text(text, to) for text in given], dtype=kind)
        return given.cast(kind, strict=False)

    return value.map_batches(convert, return_dtype=kind, is_elementwise=True)


def _is_text(to: exp.DataType) -> bool:
    return to.this.name in ("VARCHAR", "TEXT")


def _dtype(to: exp.DataType) -> Any:
    """Return Polars' type of a name that DuckDB has for it."""
    if to.this.name == "DECIMAL":
        return pl.Decimal(*(int(part.name) for part in to.expressions))
    return _TYPES[to.this.name]


def _from_text(text: str | None, to: exp.DataType) -> Any:
    """Parse a text as a type; None where it is not valid."""
    if text is None or _is_text(to):
        return text
    try:
        match to.this.name:
            case "DOUBLE" | "FLOAT":
                return float(text)
            case "DECIMAL":
                return Decimal(text)
            case _:
                return moment_from(text) if _dtype(to) == MOMENT else int(text)
    except (ValueError, InvalidOperation):
        return None


def _texts(given: pl.Series) -> pl.Series:
    """Return values as texts: the shortest that says a number, whole ones without a point."""
    return pl.Series(given.name, [_text_of(value) for value in given], dtype=pl.String)


def _text_of(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case float():
            return number_text(value + 0.0) if math.isfinite(value) else str(value)
        case bytes():
            return value.hex()
        case datetime():
            written = value.isoformat(sep=" ")
            return written.rstrip("0") if value.microsecond else written
        case _:
            return str(value)


def case(node: exp.Case, write: Write) -> pl.Expr:
    """Return the value of the first branch whose condition is true."""
    chain: Any = pl
    for branch in node.args["ifs"]:
        chain = chain.when(write(branch.this)).then(write(branch.args["true"]))
    default = node.args.get("default")
    result: pl.Expr = chain.otherwise(None if default is None else write(default))
    return result


def greatest(node: exp.Greatest, write: Write) -> pl.Expr:
    """Return the greatest of values, NaN above all; Polars' own passes over NaN."""
    operands = [write(one) for one in (node.this, *node.expressions)]
    if isinstance(node.this, exp.Literal) and len(operands) == 2:  # NULL is passed over
        limit, value = operands
        return pl.when((value < limit).fill_null(True)).then(limit).otherwise(value)
    unknown = pl.any_horizontal(*(_is_nan(one) for one in operands))
    return pl.when(unknown).then(pl.lit(math.nan)).otherwise(pl.max_horizontal(*operands))


def _is_nan(value: pl.Expr) -> pl.Expr:
    return value.map_batches(
        lambda given: given.is_nan() if given.dtype.is_float() else given != given,  # noqa: PLR0124
        return_dtype=pl.Boolean,
        is_elementwise=True,
    )


def logarithm(node: exp.Log, write: Write) -> pl.Expr:
    """Return a logarithm to base 2 or 10: the C library's, which Polars' own misses by its last bit.

    Where it is rounded down with a slack, that bit is nothing.
    """
    base, x = int(node.this.this), write(node.expression)
    if node.find_ancestor(exp.Floor) is not None:
        return x.cast(pl.Float64).log(base)
    of = math.log2 if base == 2 else math.log10
    return by_value(lambda v: of(v) if v > 0 else math.nan, pl.Float64, x.cast(pl.Float64))


def quotient(node: exp.Div, write: Write) -> pl.Expr:
    """Return a quotient, rounded once: by a constant, Polars would multiply by its rounded reciprocal."""
    left, right = write(node.this), write(node.expression)
    if node.expression.find(exp.Column) is None:
        right = pl.when(left.is_not_null()).then(right)
    return left / right


def remainder(node: exp.Mod, write: Write) -> pl.Expr:
    """Return the remainder of a division, with the sign of the dividend."""
    return by_value(
        lambda a, b: math.fmod(a, b) if math.isfinite(a) and b else math.nan,
        pl.Float64,
        write(node.this).cast(pl.Float64),
        write(node.expression).cast(pl.Float64),
    )


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except OverflowError:
        return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
    except ValueError:
        return math.inf if x == 0 else math.nan


def lookup(node: exp.Bracket, write: Write) -> pl.Expr:
    """Return the constant at a place in a list."""
    values = [constant_value(one) for one in node.this.expressions]
    kind = pl.Int64 if max(map(abs, values)) < 2**63 else pl.Int128
    place = write(node.expressions[0]).cast(pl.Int64)  # from 1 on
    places = pl.Series(range(1, len(values) + 1), dtype=pl.Int64)
    return place.replace_strict(places, pl.Series(values, dtype=kind), default=None, return_dtype=kind)


def trimmed(node: exp.Trim, write: Write) -> pl.Expr:
    """Return a text without some characters at its ends."""
    characters = write(node.expression)
    match node.args.get("position"):
        case "LEADING":
            return write(node.this).str.strip_chars_start(characters)
        case "TRAILING":
            return write(node.this).str.strip_chars_end(characters)
        case _:
            return write(node.this).str.strip_chars(characters)


def part_of_text(node: exp.Substring, write: Write) -> pl.Expr:
    """Return the characters from a place on."""
    operands = [node.this, node.args["start"], *filter(None, [node.args.get("length")])]
    return by_value(
        lambda text, start, *length: substring(text, float(start), *map(float, length)),
        pl.String,
        *map(write, operands),
    )


def added(node: exp.Add, write: Write) -> pl.Expr:
    """Return a sum, or a moment some months later."""
    if isinstance(node.expression, exp.Anonymous) and node.expression.name.lower() == "to_months":
        months = constant_value(node.expression.expressions[0])
        return write(node.this).dt.offset_by(f"{months}mo")
    return write(node.this) + write(node.expression)


def hashed(node: exp.MD5, write: Write) -> pl.Expr:
    """Return the MD5 of texts joined by a slash, in hexadecimal."""
    _, *parts = node.this.expressions
    return by_value(
        lambda *texts: hashlib.md5("/".join(texts).encode(), usedforsecurity=False).hexdigest(),
        pl.String,
        *map(write, parts),
    )


def once(node: exp.Bracket, write: Write, within: Callable[[str, pl.Expr], Write]) -> pl.Expr:
    """Return a function of an operand that is computed once, of one or of several values."""
    transform = node.this
    (operand,) = transform.this.expressions
    function = transform.expression
    value: Any = operand
    if isinstance(operand, exp.Array):
        value = [write(one) for one in operand.expressions]
        return within(function.expressions[0].name, value)(function.this)
    return within(function.expressions[0].name, write(value))(function.this)


_Part = Callable[[pl.Expr], pl.Expr]


def _simple(of: _Part) -> Word:
    return lambda node, write: of(write(node.this))


def _pair(of: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Word:
    return lambda node, write: of(write(node.this), write(node.expression))


def _first(of: _Part) -> Word:
    return lambda node, write: of(write(node.expressions[0]))


WORDS: Mapping[str, Word] = {
    "Literal": lambda node, _: constant(node),
    "Null": lambda *_: pl.lit(None),
    "Boolean": lambda node, _: pl.lit(bool(node.this)),
    "Paren": lambda node, write: write(node.this),
    "Collate": lambda node, write: write(node.this),
    "Cast": converted,
    "TryCast": converted,
    "Case": case,
    "And": _pair(lambda a, b: a & b),
    "Or": _pair(lambda a, b: a | b),
    "Not": _simple(lambda a: ~a),
    "EQ": _pair(lambda a, b: a == b),
    "NEQ": _pair(lambda a, b: a != b),
    "LT": _pair(lambda a, b: a < b),
    "LTE": _pair(lambda a, b: a <= b),
    "GT": _pair(lambda a, b: a > b),
    "GTE": _pair(lambda a, b: a >= b),
    "Is": lambda node, write: write(node.this).is_null(),
    "In": lambda node, write: pl.any_horizontal(
        *(write(node.this) == write(one) for one in node.expressions)
    ),
    "Between": lambda node, write: (
        (write(node.this) >= write(node.args["low"])) & (write(node.this) <= write(node.args["high"]))
    ),
    "Add": added,
    "Sub": _pair(lambda a, b: a - b),
    "Mul": _pair(lambda a, b: a * b),
    "Div": quotient,
    "IntDiv": _pair(lambda a, b: a // b),
    "Neg": _simple(lambda a: a * -1),  # of 128 bits there is no other
    "Mod": remainder,
    "BitwiseRightShift": lambda node, write: write(node.this) // _HALF,
    "BitwiseAnd": lambda node, write: write(node.this) - write(node.this) // _HALF * _HALF,
    "Coalesce": lambda node, write: pl.coalesce(*map(write, (node.this, *node.expressions))),
    "Greatest": greatest,
    "Least": lambda node, write: pl.min_horizontal(*map(write, (node.this, *node.expressions))),
    "Abs": _simple(lambda a: a.abs()),
    "Floor": _simple(lambda a: a.floor()),
    "Ceil": _simple(lambda a: a.ceil()),
    "Sqrt": _simple(lambda a: a.sqrt()),
    "Exp": _simple(lambda a: a.exp()),
    "Ln": _simple(lambda a: a.log()),
    "Log": logarithm,
    "Pow": _pair(lambda a, b: by_value(_power, pl.Float64, a.cast(pl.Float64), b.cast(pl.Float64))),
    "Round": _simple(lambda a: a.round(0, mode="half_away_from_zero")),
    "round_even": _first(lambda a: a.round(0, mode="half_to_even")),
    "IsNan": _simple(lambda a: a.is_nan()),
    "Encode": _simple(lambda a: a.cast(pl.Binary)),
    "Lower": _simple(lambda a: by_value(lower, pl.String, a)),
    "Upper": _simple(lambda a: by_value(upper, pl.String, a)),
    "Length": _simple(lambda a: a.str.len_chars().cast(pl.Int64)),
    "strlen": _first(lambda a: a.str.len_bytes().cast(pl.Int64)),
    "Trim": trimmed,
    "Substring": part_of_text,
    "DPipe": _pair(lambda a, b: a + b),
    "StartsWith": _pair(lambda a, b: a.str.starts_with(b)),
    "EndsWith": _pair(lambda a, b: a.str.ends_with(b)),
    "Contains": _pair(lambda a, b: a.str.contains(b, literal=True)),
    "RegexpFullMatch": lambda node, write: write(node.this).str.contains(
        f"^(?:{node.expression.this})$(?-m)"
    ),
    "RegexpReplace": lambda node, write: write(node.this).str.replace(node.expression.this, ""),
    "MD5": hashed,
    "epoch_us": _first(lambda a: a.dt.epoch("us")),
    "isfinite": _first(lambda a: a.is_not_null()),
    "UnixToTime": _simple(lambda a: a.cast(pl.Int64).cast(MOMENT)),
    "TimestampTrunc": lambda node, write: write(node.this).dt.truncate(_EVERY[node.unit.name.upper()]),
    "TimeToStr": _simple(lambda a: a.dt.strftime("%Y-%m-%d")),
    "Year": _simple(lambda a: a.dt.year()),
    "Quarter": _simple(lambda a: a.dt.quarter()),
    "Month": _simple(lambda a: a.dt.month()),
    "Week": _simple(lambda a: a.dt.week()),
    "Day": _simple(lambda a: a.dt.day()),
    "DayOfWeek": _simple(lambda a: a.dt.weekday() % 7),
    "DayOfWeekIso": _simple(lambda a: a.dt.weekday()),
    "DayOfYear": _simple(lambda a: a.dt.ordinal_day()),
    "Hour": _simple(lambda a: a.dt.hour()),
    "Minute": _simple(lambda a: a.dt.minute()),
    "Second": _simple(lambda a: a.dt.second()),
    "Count": lambda node, write: (
        pl.len().cast(pl.Int64)
        if isinstance(node.this, exp.Star)
        else write(node.this).count().cast(pl.Int64)
    ),
    "Sum": _simple(lambda a: pl.when(a.count() > 0).then(a.cast(pl.Int128).sum())),
    "Min": _simple(lambda a: a.min()),
    "Max": _simple(lambda a: a.max()),
}
"""Translation rules of expressions; the engine translates columns, windows, aggregates' filters and lists."""
