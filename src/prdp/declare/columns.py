"""Read a caller's declarations exactly, and check them against the table's columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path

from prdp.declare.exact import Exact, exact, short_repr
from prdp.errors import InvalidRequest
from prdp.schema import Bounds, Kind, Rounding, Schema

Number = Exact
"""A bound, or an edge of bins, as it may be written."""

LARGEST_STEP = 10**18
"""A rounding step is a fraction of whole numbers up to this."""


_DICTS = {
    "tables": ("the tables' names", "'customers': 'customers.parquet', 'orders': 'orders.parquet'"),
    "references": ("referring columns", "'orders.customer': 'customers.id'"),
}
"""Options that are no dicts by column: by what they are, and an example."""


def refuse_unless_mappings(**options: object) -> None:
    """Refuse an option that is not a dict, by column or by what else it should be.

    >>> refuse_unless_mappings(bounds=[(0, 100)])
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: bounds=[(0, 100)] is no dict by column. Write bounds={'balance': ...}.
    """
    for name, option in options.items():
        if option is not None and not isinstance(option, Mapping):
            by, such = _DICTS.get(name, ("column", "'balance': ..."))
            raise InvalidRequest(f"{name}={short_repr(option)} is no dict by {by}. Write {name}={{{such}}}.")


def known_column(column: str, schema: Schema, what: str) -> str:
    """Return a column's name as the table spells it; capitals do not matter, as in SQL.

    >>> from prdp.schema import ColumnType
    >>> known_column("BALANCE", {"Balance": ColumnType(Kind.NUMBER)}, "sum")
    'Balance'
    >>> known_column("balence", {"Balance": ColumnType(Kind.NUMBER)}, "sum")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: sum names the column 'balence', ... Did you mean 'Balance'?
    """
    same = [name for name in schema if name == column] or [
        name for name in schema if isinstance(column, str) and name.lower() == column.lower()
    ]
    if len(same) == 1:
        return same[0]
    close = get_close_matches(str(column), schema, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise InvalidRequest(f"{what} names the column {column!r}, but the table has {', '.join(schema)}.{hint}")


def read_bounds(given: Mapping[str, tuple[Number, Number]], schema: Schema) -> Bounds:
    """Return the public ends of number columns, exactly.

    >>> from prdp.schema import ColumnType
    >>> read_bounds({"age": (0, "120.5")}, {"age": ColumnType(Kind.NUMBER)})
    {'age': (Fraction(0, 1), Fraction(241, 2))}
    """
    known = ((known_column(name, schema, "bounds"), pair) for name, pair in given.items())
    return {name: _ends(name, pair, schema) for name, pair in known}


def _ends(name: str, pair: tuple[Number, Number], schema: Schema) -> tuple[Fraction, Fraction]:
    kind = schema[name]
    if kind.kind is not Kind.NUMBER:
        raise InvalidRequest(f"bounds[{name!r}] is for a number column, but it holds {kind.kind.value}.")
    try:
        ends = tuple(pair)
    except TypeError:
        ends = ()
    endless = any(isinstance(end, float) and not math.isfinite(end) for end in ends)
    if len(ends) != 2 or isinstance(pair, str) or endless:
        raise InvalidRequest(
            f"bounds[{name!r}] = {short_repr(pair)} is not a pair of finite numbers, such as (0, 10**12)."
        )
    low, high = (exact(end, f"bounds[{name!r}]") for end in ends)
    if low > high:
        raise InvalidRequest(
            f"bounds[{name!r}] = {short_repr(pair)} is reversed: the least value comes first. "
            f"Write ({short_repr(pair[1])}, {short_repr(pair[0])})."
        )
    return low, high


def read_rounding(given: Mapping[str, Exact], schema: Schema) -> Rounding:
    """Return the public rounding step of number columns, exactly.

    >>> from prdp.schema import ColumnType
    >>> read_rounding({"price": "0.01"}, {"price": ColumnType(Kind.NUMBER)})
    {'price': Fraction(1, 100)}
    """
    rounding = {}
    for name, written in given.items():
        round_to = exact(written, f"round_to[{name!r}]")
        if round_to <= 0:
            raise InvalidRequest(
                f"round_to[{name!r}] = {short_repr(written)} is not a rounding step: it is more than 0 "
                "(1e-18 to 1e18)."
            )
        if max(round_to.numerator, round_to.denominator) > LARGEST_STEP:
            raise InvalidRequest(
                f"round_to[{name!r}] = {short_repr(written)} is not a rounding step: it is a fraction of "
                "two whole numbers of "
                "at most 1e18 each. Write what the values are multiples of, such as '0.01' or '1/3'."
            )
        known = known_column(name, schema, "round_to")
        if schema[known].kind is not Kind.NUMBER:
            raise InvalidRequest(
                f"round_to[{name!r}] is for a number column, but it holds {schema[known].kind.value}."
            )
        rounding[known] = round_to
    return rounding


def read_privacy_unit(column: str | None, schema: Schema) -> str | None:
    """Return the column whose value says which unit a row belongs to; None where a row is one.

    >>> from prdp.schema import ColumnType
    >>> read_privacy_unit("customer_id", {"Customer_ID": ColumnType(Kind.TEXT)})
    'Customer_ID'
    """
    if column is None:
        return None
    if not isinstance(column, str):
        raise InvalidRequest(
            f"privacy_unit={short_repr(column)} is not the name of one column. Write "
            "privacy_unit='customer_id': the "
            "column that says whose a row is."
        )
    known = known_column(column, schema, "privacy_unit")
    if schema[known].kind is Kind.OTHER:
        raise InvalidRequest(
            f"privacy_unit={column!r} cannot tell values of {schema[known].native} apart. "
            "Give a column of numbers, texts or dates."
        )
    return known


def default_name(source: object, table: str | None = None) -> str:
    """Return what a table is called whose caller does not say: its name in a database, or its file's stem.

    >>> default_name("data/accounts.parquet"), default_name("data/part-*.csv"), default_name({"age": [30]})
    ('accounts', 'part', 'table')
    >>> default_name("bank.duckdb", "branch.accounts")
    'accounts'
    """
    if table is not None:
        return table.rpartition(".")[2] or "table"
    if isinstance(source, str | Path):
        return Path(source).name.partition(".")[0].strip("*?[]_- ") or "table"
    return "table"
