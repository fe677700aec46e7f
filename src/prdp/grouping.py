"""Public groups: by what records are told apart, and the listed keys. Nothing here is read from records."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, Literal, get_args

import numpy as np

from prdp.declared import Number, known_column
from prdp.errors import InvalidRequest
from prdp.expressions.spelling import is_writable, moment_from
from prdp.schema import ColumnType, Kind, Schema

Calendar = Literal["year", "quarter", "month", "week", "day", "hour"]
"""What a moment can be cut down to."""

MOST_KEYS = 100_000
_LARGEST_EDGE = 10**300
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """The numbers from ``low`` up to ``high``, which itself belongs to the last bin alone."""

    low: Fraction
    high: Fraction
    last: bool = False

    def __str__(self) -> str:
        return f"[{_shown(self.low)}, {_shown(self.high)}{']' if self.last else ')'}"


KeyValue = str | int | float | bool | datetime | Bin


@dataclass(frozen=True, slots=True)
class Values:
    """Records told apart by a column's own value."""

    column: str

    def __str__(self) -> str:
        return self.column

    @property
    def facts(self) -> object:
        """What a question says of it."""
        return self.column


@dataclass(frozen=True, slots=True)
class Truncated:
    """Records told apart by the year, month, ... that a moment lies in."""

    column: str
    part: Calendar

    def __str__(self) -> str:
        return f"date_trunc('{self.part}', {self.column})"

    @property
    def facts(self) -> object:
        """What a question says of it."""
        return {"date_trunc": [self.part, self.column]}


@dataclass(frozen=True, slots=True)
class Bins:
    """Records told apart by which of some public intervals a number lies in."""

    column: str
    edges: tuple[Fraction, ...]

    def __str__(self) -> str:
        return f"bins of {self.column}"

    @property
    def facts(self) -> object:
        """What a question says of it."""
        return {"bins": self.column}

    @property
    def bins(self) -> tuple[Bin, ...]:
        """The intervals, ascending; the last one is closed."""
        pairs = list(pairwise(self.edges))
        return tuple(Bin(low, high, place == len(pairs) - 1) for place, (low, high) in enumerate(pairs))


GroupKey = Values | Truncated | Bins


def bins(column: str, edges: Iterable[Number]) -> Bins:
    """Tell records apart by which interval a number lies in, for ``group_by``.

    The intervals contain their lower end; the last one contains its upper end too. Numbers beyond
    the edges are in no group.

    >>> str(bins("balance", [0, 1000, 10_000]).bins[0])
    '[0, 1000)'
    """
    try:
        exact = tuple(Fraction(edge.item() if hasattr(edge, "item") else edge) for edge in edges)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise InvalidRequest(f"edges={edges!r} are not finite numbers. Write edges=[0, 100, 1000].") from None
    if any(abs(edge) > _LARGEST_EDGE for edge in exact):
        raise InvalidRequest(f"an edge for {column!r} is beyond 1e300, and no number column reaches so far.")
    if len(exact) < 2 or any(low >= high for low, high in pairwise(exact)):
        raise InvalidRequest(
            f"edges={[_shown(edge) for edge in exact]} for {column!r} are not two or more, ascending. "
            "Write edges=[0, 100, 1000]."
        )
    return Bins(column, exact)


def date_trunc(part: str, column: str) -> Truncated:
    """Tell records apart by the year, quarter, month, week, day or hour of a moment, for ``group_by``."""
    if part not in get_args(Calendar):
        raise InvalidRequest(f"date_trunc cuts to {', '.join(get_args(Calendar))}, not to {part!r}.")
    return Truncated(column, part)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Disjoint groups of records: those of each listed key; records of no listed key are in none.

    Attributes:
        by: What records are told apart by.
        keys: The groups, in the caller's order; one value for each of ``by``.
    """

    by: tuple[GroupKey, ...]
    keys: tuple[tuple[KeyValue, ...], ...]

    def crossed(self, key: Bins, schema: Schema) -> Grouping:
        """Return the groups of both: every listed key with every bin."""
        known = _group_key(key, schema)
        assert isinstance(known, Bins)  # noqa: S101  (see _group_key)
        pairs = product(self.keys, known.bins)
        return Grouping((*self.by, known), tuple((*listed, cell) for listed, cell in pairs))

    @property
    def facts(self) -> dict[str, Any]:
        """What a question says of its groups: all keys while they are few, else their number and a digest."""
        listed = [[_json(value) for value in key] for key in self.keys]
        facts: dict[str, Any] = {"by": [key.facts for key in self.by]}
        if len(listed) <= _LISTED:
            return facts | {"keys": listed}
        digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
        return facts | {"keys": f"{len(listed)} keys, sha256 {digest}"}


def read_grouping(by: Sequence[object], keys: object, schema: Schema) -> Grouping:
    """Return the groups that a caller asks for, or refuse by public facts."""
    if not by:
        raise InvalidRequest("group_by needs a column: group_by('job', keys=['clerk', 'chef']).")
    read = tuple(_group_key(key, schema) for key in by)
    names = [key.column for key in read]
    if len(set(map(str, read))) < len(read):
        raise InvalidRequest(f"group_by names {', '.join(map(str, read))}: one of them twice.")
    listed = [key for key in read if not isinstance(key, Bins)]
    if listed and keys is None:
        raise InvalidRequest(
            f"group_by({', '.join(map(repr, names))}) needs its public keys: write keys=[...]. They cannot "
            "be read from the records, since which values occur may give a record away."
        )
    if not listed and keys is not None:
        raise InvalidRequest("bins are their own keys: leave keys= out.")
    rows = _rows(keys, [key.column for key in listed]) if listed else [()]
    typed = [
        tuple(_typed(key, value, schema) for key, value in zip(listed, row, strict=True)) for row in rows
    ]
    _refuse_unless_distinct(typed)
    cells = product(*(key.bins for key in read if isinstance(key, Bins)))
    groups = tuple(_ordered(read, row, cell) for row, cell in product(typed, list(cells)))
    if not 0 < len(groups) <= MOST_KEYS:
        raise InvalidRequest(f"{len(groups)} groups were listed: list from 1 to {MOST_KEYS:,}.")
    return Grouping(read, groups)


def _ordered(
    by: Sequence[GroupKey], row: tuple[KeyValue, ...], cell: tuple[Bin, ...]
) -> tuple[KeyValue, ...]:
    """Return a group's key in the order of ``by``, from its listed values and its bins."""
    values, of_bins = iter(row), iter(cell)
    return tuple(next(of_bins) if isinstance(key, Bins) else next(values) for key in by)


def _group_key(key: object, schema: Schema) -> GroupKey:
    if isinstance(key, str):
        name = known_column(key, schema, "group_by")
        if schema[name].kind is Kind.OTHER:
            raise InvalidRequest(f"group_by({name!r}) cannot tell values of {schema[name].native} apart.")
        return Values(name)
    if isinstance(key, Truncated):
        name = known_column(key.column, schema, "date_trunc")
        if schema[name].kind is not Kind.MOMENT:
            raise InvalidRequest(f"{key} needs dates or times, but {name!r} holds {schema[name].kind.value}.")
        return Truncated(name, key.part)
    if isinstance(key, Bins):
        name = known_column(key.column, schema, "bins")
        if schema[name].kind is not Kind.NUMBER:
            raise InvalidRequest(f"{key} need numbers, but {name!r} holds {schema[name].kind.value}.")
        return Bins(name, key.edges)
    if isinstance(key, list | tuple):
        listed = ", ".join(map(repr, key))
        raise InvalidRequest(
            f"group_by({key!r}) is no column. Write group_by({listed}) for several columns, and "
            "keys=[...] for the keys."
        )
    raise InvalidRequest(
        f"group_by({key!r}) is no column. Write its name, prdp.bins('balance', [0, 100]) or "
        "prdp.date_trunc('month', 'opened')."
    )


def _rows(keys: object, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the listed keys as rows: from a list, a list of tuples, or a public table with these columns."""
    table = _columns_of(keys)
    if table is not None:
        columns = [_column_of(table, name) for name in names]
        if len({len(column) for column in columns}) > 1:
            raise InvalidRequest("the columns of keys= have different lengths.")
        return list(zip(*columns, strict=True))
    if isinstance(keys, str | bytes | set | frozenset) or not isinstance(keys, Iterable):
        raise InvalidRequest(
            f"keys={keys!r} is no list of keys, whose order is part of the question. Write "
            "keys=['clerk', 'chef']."
        )
    rows: list[tuple[object, ...]] = []
    for key in keys:
        row = tuple(key) if isinstance(key, tuple | list) else (key,)
        if len(row) != len(names):
            raise InvalidRequest(
                f"the key {key!r} has {len(row)} of {len(names)} values ({', '.join(names)}): list tuples."
            )
        rows.append(row)
    return rows


def _column_of(table: Mapping[str, Sequence[object]], name: str) -> list[object]:
    """Return a column of a public table of keys; capitals do not matter."""
    same = [key for key in table if str(key).lower() == name.lower()]
    if len(same) != 1:
        raise InvalidRequest(
            f"keys= is a table without one column {name!r}: it has {', '.join(map(str, table))}."
        )
    column = table[same[0]]
    if isinstance(column, str | bytes | set | frozenset) or not isinstance(column, Iterable):
        raise InvalidRequest(f"keys= has {column!r} for {name!r}, which is no list of keys.")
    return list(column)


def _columns_of(keys: object) -> Mapping[str, Sequence[object]] | None:
    """Return the columns of a public table of keys; None if it is none."""
    if isinstance(keys, Mapping):
        return keys
    if hasattr(keys, "to_pydict"):  # Arrow
        return dict(keys.to_pydict())
    if hasattr(keys, "to_dicts"):  # a Polars frame
        return dict(keys.to_dict(as_series=False))  # type: ignore[attr-defined]
    if hasattr(keys, "columns") and hasattr(keys, "iterrows"):  # a pandas frame
        return {str(name): list(keys[name]) for name in keys.columns}  # type: ignore[index]
    return None


def _typed(key: Values | Truncated, value: object, schema: Schema) -> KeyValue:
    """Return a listed value as the column's own kind, or refuse it."""
    column = schema[key.column]
    plain = value.item() if hasattr(value, "item") else value
    plain = plain.as_py() if hasattr(plain, "as_py") else plain  # Arrow
    if hasattr(plain, "to_pydatetime"):
        plain = plain.to_pydatetime()
    if plain is None or plain != plain:  # noqa: PLR0124  (NaN alone differs from itself)
        raise InvalidRequest(
            f"keys= lists {value!r} for {key.column!r}: records without a value form no group. Ask "
            f"where('{key.column} IS NULL') for them."
        )
    typed = _as_kind(plain, column)
    if typed is None:
        raise InvalidRequest(
            f"keys= lists {value!r}, but {key.column!r} holds {column.kind.value} ({column.native}). "
            f"Write {_example(column)}."
        )
    if isinstance(key, Truncated) and isinstance(typed, datetime) and first_moment(typed, key.part) != typed:
        raise InvalidRequest(
            f"keys= lists {value!r}, which is not the first moment of a {key.part}: "
            f"write {first_moment(typed, key.part).isoformat(sep=' ').removesuffix(' 00:00:00')!r}."
        )
    return typed


def _example(column: ColumnType) -> str:
    """Return how a key of a column is written."""
    if column.kind is Kind.NUMBER:
        return "whole numbers, such as 30" if column.integer else "numbers, such as 0.5"
    examples = {
        Kind.TEXT: "texts, such as 'clerk'",
        Kind.BOOLEAN: "True or False",
        Kind.MOMENT: "dates, or times without a zone, such as '2026-01-31'",
    }
    return examples.get(column.kind, "another column")


def _as_kind(  # noqa: PLR0911  (one return a case)
    value: object, column: ColumnType
) -> KeyValue | None:
    """Return a value as what a column of that kind holds; None if it is not of the kind."""
    match column.kind, value:
        case Kind.TEXT, str():
            return value if is_writable(value) else None
        case Kind.BOOLEAN, bool():
            return value
        case Kind.NUMBER, bool():
            return None
        case Kind.NUMBER, int() | float() | Fraction() | Decimal():
            return _number_key(value, column)
        case Kind.MOMENT, datetime():
            return value if value.tzinfo is None else None
        case Kind.MOMENT, date():
            return datetime(value.year, value.month, value.day)
        case Kind.MOMENT, str():
            return moment_from(value)
        case _:
            return None


def _number_key(value: float | Fraction | Decimal, column: ColumnType) -> int | float | None:
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return None
    exact = Fraction(value)
    if column.integer:
        return int(exact) if exact.denominator == 1 and abs(exact) < 2**63 else None
    if abs(exact) > _LARGEST_EDGE:
        return None
    double = float(exact)  # minus zero is zero
    return float(np.float32(double)) if column.native == "FLOAT" else double


def first_moment(moment: datetime, part: Calendar) -> datetime:
    """Return the first moment of the year, month, ... that a moment lies in."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match part:
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "day":
            return day
        case "week":
            return datetime.fromordinal(max(1, day.toordinal() - day.weekday()))
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(day=1, month=day.month - (day.month - 1) % 3)
        case "year":
            return day.replace(day=1, month=1)


def _refuse_unless_distinct(rows: Sequence[tuple[KeyValue, ...]]) -> None:
    seen: set[tuple[KeyValue, ...]] = set()
    for row in rows:
        if row in seen:
            raise InvalidRequest(
                f"keys= lists {', '.join(map(repr, row))} twice: every group needs its own key."
            )
        seen.add(row)


def _json(value: KeyValue) -> object:
    if isinstance(value, Bin):
        return [str(value.low), str(value.high), value.last]
    return value.isoformat() if isinstance(value, datetime) else value


def _shown(number: Fraction) -> str:
    return f"{float(number):g}" if number.denominator != 1 else str(number)
