"""Rows that a driver of SQLAlchemy's gives, as the readers of prdp's statements take them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prdp.engines._cells import Arrays
from prdp.engines.dialects.translate import masked, with_halves
from prdp.schema import Kind, Schema

Rows = list[tuple[Any, ...]]
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class SqlResult:
    """What a statement gave.

    Attributes:
        names: Its columns.
        rows: Its rows, as the driver has them.
        greatest: From which size on a double stands for an infinity.
    """

    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    greatest: float

    def arrays(self, wide: Collection[str]) -> Arrays:
        """Return the columns as DuckDB would give them; some are whole numbers of any size, in halves."""
        found, large = {}, {}
        for name, column in zip(self.names, self._columns(), strict=True):
            if name in wide:
                large[name] = [None if value is None else int(value) for value in column]
            else:
                found[name] = self._array(column)
        return with_halves(found, large)

    def plain(self) -> Rows:
        """Return the rows, whole numbers being Python's own."""
        return [tuple(map(self._plain, row)) for row in self.rows]

    def arrow(self, schema: Schema) -> Any:
        """Return the rows as an Arrow table."""
        import pyarrow  # noqa: PLC0415  (only who hands rows out needs it)

        kinds = {
            Kind.TEXT: pyarrow.string(),
            Kind.MOMENT: pyarrow.timestamp("us"),
            Kind.BOOLEAN: pyarrow.bool_(),
        }
        arrays = []
        for name, column in zip(self.names, self._columns(), strict=True):
            values: list[Any] = [self._plain(value) for value in column]
            kind = schema[name].kind if name in schema else None
            if kind in kinds:
                made: Callable[[Any], Any] = bool if kind is Kind.BOOLEAN else _as_moment
                values = [value if value is None or kind is Kind.TEXT else made(value) for value in values]
                arrays.append(pyarrow.array(values, type=kinds[kind]))
            elif kind is Kind.NUMBER and not schema[name].integer:
                whole = any(isinstance(value, Decimal) for value in values)
                arrays.append(pyarrow.array(values, type=None if whole else pyarrow.float64()))
            else:
                arrays.append(pyarrow.array(values, type=pyarrow.int64()))
        return pyarrow.table(arrays, names=list(self.names))

    def _columns(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.names)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, Decimal) and value == value.to_integral_value():
            return int(value)
        if isinstance(value, float) and abs(value) >= self.greatest:
            return math.copysign(math.inf, value)
        return value

    def _array(self, column: Sequence[Any]) -> NDArray[Any]:
        missing = np.fromiter((value is None for value in column), dtype=bool, count=len(column))
        values = [_as_number(self._plain(value)) for value in column]
        known = {type(value) for value in values if value is not None}
        if known == {bool}:
            return masked(np.array([bool(value) for value in values], dtype=np.bool_), missing)
        if known <= {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
            return masked(np.array([value or 0 for value in values], dtype=np.int64), missing)
        if known <= {int, float}:
            return masked(np.array([value or 0 for value in values], dtype=np.float64), missing)
        objects = np.empty(len(values), dtype=object)
        objects[:] = values
        return masked(objects, missing)


def _as_number(value: Any) -> Any:
    """Return a text as its bytes, and a moment as microseconds since 1970, as DuckDB's are read."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (datetime(value.year, value.month, value.day) - _EPOCH).days
    return value


def _as_moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day)
