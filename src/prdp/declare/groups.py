"""Public groups: the grouping of records, and the listed keys. Nothing here is read from records."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from itertools import chain, pairwise, product
from typing import Any, ClassVar, Literal, get_args

from prdp.declare.columns import Number, computed_type, read_column, written
from prdp.declare.exact import exact, short_repr
from prdp.declare.keys import (
    MAX_KEYS,
    Plain,
    all_whole,
    at_most,
    exact_number,
    plain_value,
    refuse_too_many,
    rows_of,
    snapped,
    typed_key,
)
from prdp.errors import InvalidRequest
from prdp.expressions.nodes import Node
from prdp.expressions.tokens import number_text
from prdp.schema import ColumnType, Kind, Schema

Calendar = Literal["year", "quarter", "month", "week", "day", "hour"]
"""Parts that a datetime can be truncated to."""

_LISTED = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """The numbers from ``low`` up to ``high``, which itself belongs to the last bin alone.

    >>> str(Bin(Fraction(0), Fraction(10))), str(Bin(Fraction(10), Fraction(20), last=True))
    ('[0, 10)', '[10, 20]')
    """

    low: Fraction
    high: Fraction
    last: bool = False

    def __str__(self) -> str:
        return f"[{_shown(self.low)}, {_shown(self.high)}{']' if self.last else ')'}"

    @property
    def facts(self) -> object:
        """The key as a ledger's question text has it."""
        return [str(self.low), str(self.high), self.last]


@dataclass(frozen=True, slots=True)
class Others:
    """The key of one more group: all records that are in none of the listed ones.

    >>> str(Others())
    '(other)'
    """

    def __str__(self) -> str:
        return "(other)"

    @property
    def facts(self) -> object:
        """The key as a ledger's question text has it."""
        return {"other": True}


OTHER = Others()

KeyValue = Plain | Bin | Others


@dataclass(frozen=True, slots=True)
class Values:
    """Records distinguished by a column's own value, or by a computed one."""

    column: str
    expression: Node | None = None

    is_listed: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.column

    @property
    def facts(self) -> object:
        """The key as a ledger's question text has it."""
        return _named(self)

    def typed(self, value: object, column: ColumnType) -> KeyValue:
        """Return a listed value as the column's own kind, or refuse it."""
        return typed_key(value, self.column, column)


@dataclass(frozen=True, slots=True)
class Truncated:
    """Records distinguished by the year, month, ... that a moment lies in."""

    column: str
    part: Calendar
    expression: Node | None = None

    is_listed: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"date_trunc('{self.part}', {self.column})"

    @property
    def facts(self) -> object:
        """The key as a ledger's question text has it."""
        return {"date_trunc": [self.part, _named(self)]}

    def known(self, schema: Schema) -> Truncated:
        """Return the key as the table spells its column, or refuse it."""
        read = read_column(self.expression or self.column, schema, "date_trunc")
        if read.type.kind is not Kind.MOMENT:
            raise InvalidRequest(
                f"{self} needs dates or times, but {read.name!r} holds {read.type.kind.value}."
            )
        return Truncated(read.name, self.part, read.expression)

    def typed(self, value: object, column: ColumnType) -> KeyValue:
        """Return a listed value as the column's own kind, or refuse it."""
        typed = typed_key(value, self.column, column)
        if isinstance(typed, datetime) and (first := first_moment(typed, self.part)) != typed:
            raise InvalidRequest(
                f"keys= lists {short_repr(value)}, which is not the first moment of a {self.part}: "
                f"write {first.isoformat(sep=' ').removesuffix(' 00:00:00')!r}."
            )
        return typed


@dataclass(frozen=True, slots=True)
class Binned:
    """Records distinguished by which of some public intervals a number lies in."""

    column: str
    edges: tuple[Fraction, ...]
    expression: Node | None = None

    is_listed: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"bins of {self.column}"

    @property
    def facts(self) -> object:
        """The key as a ledger's question text has it."""
        return {"bins": _named(self)}

    @property
    def bins(self) -> tuple[Bin, ...]:
        """The intervals, ascending; the last one is closed."""
        pairs = list(pairwise(self.edges))
        return tuple(Bin(low, high, place == len(pairs) - 1) for place, (low, high) in enumerate(pairs))

    def known(self, schema: Schema) -> Binned:
        """Return the key as the table spells its column, with edges that it can hold, or refuse it."""
        read = read_column(self.expression or self.column, schema, "bins")
        if read.type.kind is not Kind.NUMBER:
            raise InvalidRequest(f"{self} need numbers, but {read.name!r} holds {read.type.kind.value}.")
        edges = tuple(snapped(edge, read.type) for edge in self.edges)
        if any(low >= high for low, high in pairwise(edges)):
            raise InvalidRequest(f"two edges for {read.name!r} are the same decimal: leave one of them out.")
        return Binned(read.name, edges, read.expression)


GroupKey = Values | Truncated | Binned


def _named(key: GroupKey) -> object:
    """Return what a question says of a key's column; what is computed could be some column's name."""
    return key.column if key.expression is None else {"computed": key.column}


def key_type(key: GroupKey, schema: Schema) -> ColumnType:
    """Return what a key's column holds."""
    return schema[key.column] if key.expression is None else computed_type(key.expression, schema)


def bins(column: str, edges: Iterable[Number]) -> Binned:
    """Group records by the interval that a number lies in, for ``group_by``.

    The intervals contain their lower end; the last one contains its upper end too. Numbers beyond
    the edges are in no group.

    >>> str(bins("balance", [0, 1000, 10_000]).bins[0])
    '[0, 1000)'
    >>> [str(part) for part in bins("age", [0, 18, "65.5"]).bins]
    ['[0, 18)', '[18, 65.5]']
    """
    column = str(written(column))
    if isinstance(edges, str | bytes) or not isinstance(edges, Iterable):
        raise InvalidRequest(
            f"edges={short_repr(edges)} is not a list of numbers. Write edges=[0, 100, 1000]."
        )
    read = tuple(_edge(edge, column) for edge in at_most(edges, MAX_KEYS + 1, "edges="))
    if len(read) < 2 or any(low >= high for low, high in pairwise(read)):
        shown = [_shown(edge) for edge in read]
        raise InvalidRequest(
            f"edges={short_repr(shown)} for {column!r} are not two or more, ascending. Write edges=[0, 100, "
            "1000]."
        )
    return Binned(column, read)


def _edge(edge: object, column: str) -> Fraction:
    """Return an edge exactly, or refuse it."""
    plain = plain_value(edge)
    if isinstance(plain, str):
        plain = exact(plain, "edges")
    number = isinstance(plain, int | float | Fraction | Decimal) and not isinstance(plain, bool)
    found = exact_number(plain) if number else None  # type: ignore[arg-type]
    if found is None:
        raise InvalidRequest(
            f"{short_repr(edge)} among the edges for {column!r} is no finite number, beyond 1e300, or of "
            "more than "
            "a thousand digits. Write edges=[0, 100, 1000]."
        )
    return found


def date_trunc(part: str, column: str) -> Truncated:
    """Group records by the year, quarter, month, week, day or hour of a datetime, for ``group_by``.

    The part may come first, as in DuckDB, or last, as in BigQuery.

    >>> str(date_trunc("month", "opened")), str(date_trunc("opened", "month"))
    ("date_trunc('month', opened)", "date_trunc('month', opened)")
    >>> date_trunc("minute", "opened")
    Traceback (most recent call last):
    ...
    prdp.errors.InvalidRequest: date_trunc cuts to year, quarter, month, week, day, hour, not to 'minute'.
    """
    if part not in get_args(Calendar) and isinstance(column, str) and column in get_args(Calendar):
        part, column = column, part
    if part not in get_args(Calendar):
        raise InvalidRequest(f"date_trunc cuts to {', '.join(get_args(Calendar))}, not to {part!r}.")
    return Truncated(str(written(column)), part)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Disjoint groups of records: those of each listed key.

    Records of no listed key are in none, or in one more group that comes last.

    Attributes:
        by: What records are distinguished by.
        keys: The groups, in the caller's order; one value for each of ``by``.
        notes: Notes on where the keys are from; recorded with the answers.
    """

    by: tuple[GroupKey, ...]
    keys: tuple[tuple[KeyValue, ...], ...]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __hash__(self) -> int:
        """Hash by few keys: there may be a hundred thousand."""
        return hash((self.by, len(self.keys), self.keys[:1], self.keys[-1:]))

    @property
    def other(self) -> bool:
        """True if records of no listed key are a group."""
        return bool(self.keys) and OTHER in self.keys[-1]

    @property
    def listed(self) -> tuple[tuple[KeyValue, ...], ...]:
        """The groups of listed keys."""
        return self.keys[:-1] if self.other else self.keys

    def crossed(self, key: Binned, schema: Schema) -> Grouping:
        """Return the groups of both: every listed key with every bin."""
        known = key.known(schema)
        refuse_too_many(len(self.listed) * (len(known.edges) - 1))
        keys = tuple((*listed, cell) for listed, cell in product(self.listed, known.bins))
        by = (*self.by, known)
        return Grouping(by, (*keys, (OTHER,) * len(by)) if self.other else keys, self.notes)

    @property
    def facts(self) -> dict[str, Any]:
        """The groups for a ledger's question text: all keys while they are few, else a digest."""
        plain = set(map(type, chain.from_iterable(self.keys))) <= {bool, int, float, str}
        listed = self.keys if plain else [[_json(value) for value in key] for key in self.keys]
        facts: dict[str, Any] = {"by": [key.facts for key in self.by]}
        if len(listed) <= _LISTED:
            return facts | {"keys": list(map(list, listed))}
        digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()
        return facts | {"keys": f"{len(listed)} keys, sha256 {digest}"}


def read_grouping(by: Sequence[object], keys: object, schema: Schema, *, other: bool = False) -> Grouping:
    """Return the groups that a caller asks for, or refuse by public facts; ``other`` adds one of the rest.

    >>> from prdp.schema import ColumnType
    >>> schema = {"job": ColumnType(Kind.TEXT), "age": ColumnType(Kind.NUMBER, integer=True)}
    >>> read_grouping(["job"], ["clerk", "chef"], schema).keys
    (('clerk',), ('chef',))
    >>> [str(age) for job, age in read_grouping(["job", bins("age", [0, 40, 80])], ["chef"], schema).keys]
    ['[0, 40)', '[40, 80]']
    """
    if not by:
        raise InvalidRequest("group_by needs a column: group_by('job', keys=['clerk', 'chef']).")
    read = tuple(group_key(key, schema) for key in by)
    if len(set(map(str, read))) < len(read):
        raise InvalidRequest(f"group_by names {', '.join(map(str, read))}: one of them twice.")
    listed = [key for key in read if not isinstance(key, Binned)]
    if listed and keys is None:
        raise needs_keys(read)
    if not listed and keys is not None:
        raise InvalidRequest("bins are their own keys: leave keys= out.")
    if isinstance(keys, Mapping):
        keys = _with_truth_values(keys, listed, schema)
    rows = rows_of(keys, [key.column for key in listed]) if listed else [()]
    binned = [key for key in read if isinstance(key, Binned)]
    if not isinstance(other, bool):
        raise InvalidRequest(f"other={short_repr(other)} is neither True nor False.")
    if rows or not other:
        refuse_too_many(math.prod((len(key.edges) - 1 for key in binned), start=len(rows)))
    types = [key_type(key, schema) for key in listed]
    typed = _all_typed(listed, rows, types)
    _refuse_unless_distinct(typed)
    groups = tuple(typed)
    if binned:
        cells = list(product(*(key.bins for key in binned)))
        groups = tuple(_ordered(read, row, cell) for row, cell in product(typed, cells))
    return Grouping(read, (*groups, (OTHER,) * len(read)) if other else groups)


def _with_truth_values(
    keys: Mapping[Any, Any], listed: Sequence[Values | Truncated], schema: Schema
) -> Mapping[Any, Any]:
    """Return public keys by column, with both truth values for conditions that are not among them."""
    columns, given = {key.column.lower() for key in listed}, {str(name).lower() for name in keys}
    if not given <= columns:  # a name is misspelled, and may be a condition's
        return keys
    conditions = (key.column for key in listed if key_type(key, schema).kind is Kind.BOOLEAN)
    return {**keys, **{name: [False, True] for name in conditions if name.lower() not in given}}


def needs_keys(by: Sequence[GroupKey]) -> InvalidRequest:
    """Return the refusal of groups whose keys are not public."""
    named = ", ".join(repr(key.column) for key in by)
    return InvalidRequest(
        f"group_by({named}) needs its public keys: write keys=[...]. They cannot be read from the records, "
        "since which values occur may give a record away; find_keys(...) looks for them privately."
    )


def _ordered(
    by: Sequence[GroupKey], row: tuple[KeyValue, ...], cell: tuple[Bin, ...]
) -> tuple[KeyValue, ...]:
    """Return a group's key in the order of ``by``, from its listed values and its bins."""
    values, of_bins = iter(row), iter(cell)
    return tuple(next(values) if key.is_listed else next(of_bins) for key in by)


def group_key(key: object, schema: Schema) -> GroupKey:
    """Return what records are distinguished by, as the table spells it, or refuse it."""
    if isinstance(key, str | Node):
        read = read_column(key, schema, "group_by")
        if read.type.kind is Kind.OTHER:
            raise InvalidRequest(
                f"group_by({read.name!r}) cannot distinguish values of {read.type.native}.",
                f" {read.type.conversion}".rstrip(),
            )
        return Values(read.name, read.expression)
    if isinstance(key, Truncated | Binned):
        return key.known(schema)
    if isinstance(key, list | tuple):
        listed = ", ".join(map(repr, key))
        raise InvalidRequest(
            f"group_by({key!r}) is not a column. Write group_by({listed}, keys=[...]), without a list around "
            "the columns."
        )
    raise InvalidRequest(
        f"group_by({key!r}) is not a column. Write its name, prdp.bins('balance', [0, 100]) or "
        "prdp.date_trunc('month', 'opened')."
    )


def _all_typed(
    listed: Sequence[Values | Truncated], rows: Sequence[tuple[object, ...]], types: Sequence[ColumnType]
) -> list[tuple[KeyValue, ...]]:
    """Return listed rows of values as the columns' own kinds, or refuse them."""
    if len(listed) == 1 and isinstance(listed[0], Values) and all_whole(rows, types[0]):
        return list(rows)  # type: ignore[arg-type]
    return [
        tuple(key.typed(value, kind) for key, value, kind in zip(listed, row, types, strict=True))
        for row in rows
    ]


def first_moment(moment: datetime, part: Calendar) -> datetime:
    """Return the first moment of the year, month, ... that a moment lies in.

    >>> moment = datetime(2026, 5, 20, 14, 30)  # a Wednesday
    >>> print(first_moment(moment, "quarter"), first_moment(moment, "week"), first_moment(moment, "hour"))
    2026-04-01 00:00:00 2026-05-18 00:00:00 2026-05-20 14:00:00
    """
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


def with_whole_numbers(
    by: Sequence[GroupKey], keys: tuple[tuple[KeyValue, ...], ...]
) -> tuple[tuple[KeyValue, ...], ...]:
    """Return keys with ints for computed numbers that are all whole: the months of ``month(opened)``.

    >>> from prdp.expressions.parse import parse
    >>> month = Values("month(opened)", parse("month(opened)"))
    >>> with_whole_numbers([month, Values("rate")], ((1.0, 2.0), (12.0, 2.5)))
    ((1, 2.0), (12, 2.5))
    """
    whole = {
        place
        for place, key in enumerate(by)
        if isinstance(key, Values)
        and key.expression is not None
        and all(_is_whole(row[place]) for row in keys)
    }
    if not whole:
        return keys
    return tuple(
        tuple(
            int(value) if place in whole and isinstance(value, float) else value
            for place, value in enumerate(row)
        )
        for row in keys
    )


def _is_whole(value: KeyValue) -> bool:
    return isinstance(value, Others) or (isinstance(value, float) and value.is_integer())


def _refuse_unless_distinct(rows: Sequence[tuple[KeyValue, ...]]) -> None:
    if len(set(rows)) == len(rows):
        return
    seen: set[tuple[KeyValue, ...]] = set()
    for row in rows:
        if row in seen:
            raise InvalidRequest(
                f"keys= lists {', '.join(map(short_repr, row))} twice: every group needs its own key."
            )
        seen.add(row)


def _json(value: KeyValue) -> object:
    if isinstance(value, Bin | Others):
        return value.facts
    return value.isoformat() if isinstance(value, datetime) else value


def _shown(number: Fraction) -> str:
    """Return an edge as text that no other double has."""
    return str(number) if number.denominator == 1 and abs(number) < 2**63 else number_text(float(number))
