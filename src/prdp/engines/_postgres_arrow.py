"""Rows of a PostgreSQL table as an Arrow table, for a mechanism of the caller's own."""

from __future__ import annotations

import re
from typing import Any

from prdp.engines._postgres_session import Result
from prdp.schema import Schema

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


def as_arrow(found: Result, schema: Schema) -> Any:
    """Return rows as an Arrow table; moments that it cannot hold are NULL."""
    import pyarrow  # noqa: PLC0415  (only who hands rows out needs it)

    types = {
        16: pyarrow.bool_(),
        20: pyarrow.int64(),
        21: pyarrow.int16(),
        23: pyarrow.int32(),
        25: pyarrow.string(),
        701: pyarrow.float64(),
        1082: pyarrow.date32(),
        1114: pyarrow.timestamp("us"),
        1184: pyarrow.timestamp("us", "UTC"),
    }
    columns = list(zip(*found.rows, strict=True)) if found.rows else [()] * len(found.names)
    arrays = []
    for name, type_, column in zip(found.names, found.types, columns, strict=True):
        digits = _DECIMAL.fullmatch(schema[name].native) if name in schema else None
        kind = pyarrow.decimal128(int(digits[1]), int(digits[2])) if digits else types[type_]
        arrays.append(pyarrow.array(column, type=kind))
    return pyarrow.table(arrays, names=list(found.names))
