"""The public keys that a caller lists, read as what their columns hold; whatever else is refused."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import islice, product
from typing import Any

from prdp.declare.exact import short_repr
from prdp.errors import Argument, InvalidRequest
from prdp.expressions.tokens import is_writable, moment_from
from prdp.schema import ColumnType, Kind

MAX_KEYS = 100_000
LARGEST = 10**300
"""Largest magnitude of a key or an edge."""

_MAX_BITS = 4096
_LARGEST_FLOAT = 3.4e38
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_EXACT_DIGITS = 15
"""Decimals of so many digits are distinguished by their nearest doubles."""

Plain = str | int | float | bool | datetime


def refuse_too_many(count: int) -> None:
    """Refuse more groups than can be answered, or none."""
    if not 0 < count <= MAX_KEYS:
        raise InvalidRequest(f"{count:,} groups were listed: list from 1 to {MAX_KEYS:,}.")


def at_most(items: Iterable[object], most: int, what: str) -> list[object]:
    """Return the items of what may never end, or refuse them."""
    listed = list(islice(items, most + 1))
    if len(listed) > most:
        raise InvalidRequest(f"{what} lists more than {most:,}: list from 1 to {MAX_KEYS:,} groups.")
    return listed


_QUERIES = {
    *(("duckdb", "DuckDBPyRelation"), ("_duckdb", "DuckDBPyRelation"), ("polars", "LazyFrame")),
    ("pyspark", "DataFrame"),
}
"""The package and the name of what computes rows when it is asked for them."""


def rows_of(keys: object, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the listed keys as rows.

    A list has a value or a tuple a row, and a public table (a frame, Arrow) a key a row. A dict lists the
    values of each column, and every combination of them is a key, the last column's changing fastest.

    >>> rows_of(["clerk", "chef"], ["job"])
    [('clerk',), ('chef',)]
    >>> rows_of({"job": ["clerk", "chef"], "year": [2025, 2026]}, ["job", "year"])
    [('clerk', 2025), ('clerk', 2026), ('chef', 2025), ('chef', 2026)]
    """
    if isinstance(keys, Mapping):
        listed = [_column_of(keys, name) for name in names]
        refuse_too_many(math.prod(map(len, listed)))
        return list(product(*listed))
    refuse_queries(keys, "keys")
    table = table_columns(keys)
    if table is not None:
        columns = [_column_of(table, name) for name in names]
        return list(zip(*columns, strict=True))
    if isinstance(keys, str | bytes | set | frozenset) or not isinstance(keys, Iterable):
        raise InvalidRequest(
            f"keys={short_repr(keys)} is not a list of keys, whose order is part of the question. Write "
            "keys=['clerk', 'chef']."
        )
    alone = at_most(keys, MAX_KEYS, "keys=")
    if len(names) == 1 and set(map(type, alone)) <= {int, str}:
        return list(zip(alone, strict=True))
    rows: list[tuple[object, ...]] = []
    for key in alone:
        row = tuple(key) if _is_row(key) else (key,)  # type: ignore[arg-type]
        if len(row) != len(names):
            raise InvalidRequest(
                f"the key {short_repr(key)} has {len(row)} of {len(names)} values ({', '.join(names)}): "
                "list tuples, or a dict of lists whose combinations are the keys, ",
                Argument("keys", {name: [...] for name in names}),
                ".",
            )
        rows.append(row)
    return rows


def refuse_queries(given: object, option: str, part: str = "") -> None:
    """Refuse a query that has not been run; its type is named alone, since its own words may show rows.

    Args:
        given: What may be a query.
        option: The argument that it was given for.
        part: Which part of the argument it is, in words.
    """
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(given).mro()}
    if kinds & _QUERIES:
        rows = "relation.fetchall()" if option == "keys" else "relation.to_arrow_table()"
        raise InvalidRequest(
            f"{option}={part} is a {type(given).__name__}, a query whose rows may be the private table's. If "
            f"they are public, run it yourself and give its rows: {rows}, or frame.collect()."
        )


def _is_row(key: Any) -> bool:
    return isinstance(key, tuple | list) or (hasattr(key, "dtype") and getattr(key, "ndim", 0) == 1)


def _column_of(table: Mapping[str, Sequence[object]], name: str) -> list[object]:
    """Return a column of a public table of keys; capitals do not matter."""
    same = [key for key in table if str(key).lower() == name.lower()]
    if len(same) != 1:
        raise InvalidRequest(
            f"keys= is a table without one column {name!r}: it has {', '.join(map(str, table))}."
        )
    column = table[same[0]]
    refuse_queries(column, "keys", f" for {name!r}")
    if isinstance(column, str | bytes | set | frozenset) or not isinstance(column, Iterable):
        raise InvalidRequest(f"keys= has {short_repr(column)} for {name!r}, which is not a list of keys.")
    return at_most(column, MAX_KEYS, f"keys= for {name!r}")


def table_columns(keys: object) -> Mapping[str, Sequence[object]] | None:
    """Return the columns of a public table of keys; None if it is none."""
    if hasattr(keys, "to_pydict"):  # Arrow
        return dict(keys.to_pydict())
    if hasattr(keys, "to_dicts"):  # a Polars frame
        return dict(keys.to_dict(as_series=False))  # type: ignore[attr-defined]
    if hasattr(keys, "columns") and hasattr(keys, "iterrows"):  # a pandas frame
        return {str(name): list(keys[name]) for name in keys.columns}  # type: ignore[index]
    return None


def typed_key(value: object, name: str, column: ColumnType) -> Plain:
    """Return a listed value as the column's own kind, or refuse it.

    >>> typed_key(30.0, "age", ColumnType(Kind.NUMBER, integer=True))
    30
    >>> typed_key("2026-01-31", "opened", ColumnType(Kind.MOMENT))
    datetime.datetime(2026, 1, 31, 0, 0)
    """
    if type(value) is int and column.kind is Kind.NUMBER and column.integer and -(2**63) <= value < 2**63:
        return value  # what most long lists hold
    plain = plain_value(value)
    if is_missing(plain):
        named = f"Group by \"coalesce({name}, 'unknown')\" and list 'unknown', or ask "
        raise InvalidRequest(
            f"keys= lists {short_repr(value)} for {name!r}: records without a value form no group. "
            f"{named if column.kind is Kind.TEXT else 'Ask '}filter('{name} IS NULL') for them."
        )
    typed = _as_kind(plain, column)
    if typed is None:
        held = "numbers" if column.kind is Kind.NUMBER else column.kind.value
        raise InvalidRequest(
            f"keys= lists {short_repr(value)}, but {name!r} holds {held} ({column.native}). "
            f"Write {_example(column)}."
        )
    return typed


def all_whole(rows: Sequence[tuple[object, ...]], column: ColumnType) -> bool:
    """Return whether rows of one value each hold what a column of whole numbers is compared with as it is."""
    values: list[Any] = [value for (value,) in rows]
    if column.kind is not Kind.NUMBER or not column.integer or set(map(type, values)) != {int}:
        return False
    return bool(min(values) >= -(2**63) and max(values) < 2**63)


def plain_value(value: object) -> object:
    """Return a scalar of NumPy, pandas or Arrow as Python's own; the scalar itself where there is none.

    NumPy and pandas keep moments to the nanosecond, Python to the microsecond: a finer one is none of its.
    """
    plain: Any = value
    try:
        if getattr(getattr(plain, "dtype", None), "kind", "") in {"m", "M"}:
            return _moment(plain)
        plain = plain.item() if hasattr(plain, "item") else plain
        plain = plain.as_py() if hasattr(plain, "as_py") else plain  # Arrow
        if hasattr(plain, "to_pydatetime") and not is_missing(plain):
            return plain if plain.nanosecond else plain.to_pydatetime()
    except (TypeError, ValueError, OverflowError):  # an array, say, or a moment beyond Python's years
        return value
    return plain


def _moment(moment: Any) -> object:
    """Return NumPy's moment as Python's; a span of time, and what Python's cannot say, as it is."""
    if is_missing(moment):
        return None
    cut = moment.astype("datetime64[us]") if moment.dtype.kind == "M" else moment
    return cut.item() if cut.dtype.kind == "M" and cut == moment else moment


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN of any kind, NaT or NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0), is_missing("")
    (True, True, False, False)
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124  (NaN alone differs from itself)
    except (TypeError, ArithmeticError):  # NA is neither true nor false; a signalling NaN signals
        return True
    except ValueError:  # an array is many values
        return False


def _example(column: ColumnType) -> str:
    """Return how a key of a column is written."""
    if column.kind is Kind.NUMBER:
        if _DECIMAL.fullmatch(column.native):
            return f"numbers of at most {_EXACT_DIGITS} digits that the column can hold, such as '1'"
        return "whole numbers below 2^63, such as 30" if column.integer else "numbers, such as 0.5"
    examples = {
        Kind.TEXT: "texts, such as 'clerk'",
        Kind.BOOLEAN: "True or False",
        Kind.MOMENT: "dates, or times without a zone and to the microsecond, such as '2026-01-31'",
    }
    return examples.get(column.kind, "another column")


def _as_kind(  # noqa: PLR0911  (one return a case)
    value: object, column: ColumnType
) -> Plain | None:
    """Return a value as what a column of that kind holds; None if it is not of the kind."""
    match column.kind, value:
        case Kind.TEXT, str():
            return value if is_writable(value) else None
        case Kind.BOOLEAN, bool():
            return value
        case Kind.BOOLEAN, str() if value in {"true", "false"}:  # as options and files of keys have them
            return value == "true"
        case Kind.NUMBER, bool():
            return None
        case Kind.NUMBER, int() | float() | Fraction() | Decimal():
            exact = exact_number(value)
            return None if exact is None else _number_key(exact, column)
        case Kind.MOMENT, datetime():
            return value if value.tzinfo is None and not getattr(value, "nanosecond", 0) else None
        case Kind.MOMENT, date():
            return datetime(value.year, value.month, value.day)
        case Kind.MOMENT, str():
            return moment_from(value)
        case _:
            return None


def exact_number(value: float | Fraction | Decimal) -> Fraction | None:
    """Return the number exactly; None if it is not finite, beyond ``LARGEST`` or absurdly fine.

    >>> exact_number(0.5), exact_number(Decimal("0.1")), exact_number(float("inf"))
    (Fraction(1, 2), Fraction(1, 10), None)
    """
    if isinstance(value, Decimal) and not (value.is_finite() and abs(value.adjusted()) <= _MAX_BITS // 4):
        return None
    try:
        exact = Fraction(value)
    except (ValueError, OverflowError):  # NaN, infinity
        return None
    fine = exact.denominator.bit_length() > _MAX_BITS
    return None if fine or abs(exact) > LARGEST else exact


def _number_key(exact: Fraction, column: ColumnType) -> int | float | None:
    """Return a key as what the column's numbers are compared with; None if it would be another number."""
    if column.integer:
        return int(exact) if exact.denominator == 1 and -(2**63) <= exact < 2**63 else None
    if _DECIMAL.fullmatch(column.native):
        near = snapped(exact, column)
        return float(near) if _held_as_decimal(near, column) else None
    double = float(exact)
    if column.native == "FLOAT":
        if abs(double) >= _LARGEST_FLOAT:
            return None
        double = float(struct.unpack("f", struct.pack("f", double))[0])
    return None if double == 0 and exact != 0 else double + 0.0


def snapped(exact: Fraction, column: ColumnType) -> Fraction:
    """Return the decimal that a number represents in a column of decimals: 0.1 as a float is not 1/10.

    >>> snapped(Fraction(0.1), ColumnType(Kind.NUMBER, native="DECIMAL(6,2)"))
    Fraction(1, 10)
    """
    found = _DECIMAL.fullmatch(column.native)
    if found is None:
        return exact
    near = Fraction(round(exact * 10 ** int(found[2])), 10 ** int(found[2]))
    return near if float(near) == float(exact) else exact


def _held_as_decimal(exact: Fraction, column: ColumnType) -> bool:
    """Return whether a decimal column holds just this number, and no other with the same nearest double."""
    found = _DECIMAL.fullmatch(column.native)
    assert found is not None  # noqa: S101  (for the type checker; see _number_key)
    steps = exact * 10 ** int(found[2])
    return steps.denominator == 1 and bool(abs(steps) < 10 ** min(int(found[1]), _EXACT_DIGITS))
