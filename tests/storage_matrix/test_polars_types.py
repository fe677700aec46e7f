"""No value of any type of Polars changes what other records count for in Polars' own engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.datatypes import DataType

from prdp.engines.engine import Engine
from prdp.engines.polars.engine import open_source
from tests.storage_matrix.typed_tables import Columns, Rows, TypedColumn, faults, named

_ABSTRACT = {
    "NumericType",
    "IntegerType",
    "SignedIntegerType",
    "UnsignedIntegerType",
    "FloatType",
    "TemporalType",
    "NestedType",
    "ObjectType",
    "BaseExtension",
}
_NOT_MADE = {
    "Unknown": "the type of an expression that is not resolved yet; no column has it",
    "Extension": "a type that its author registers; stored as another one, which is in the matrix",
}
_WHOLE = (
    *(pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Int128),
    *(pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.UInt128),
)
_FLOATS = {
    pl.Float16: (65504.0, 6e-8),
    pl.Float32: (3.4028234663852886e38, 1.401298464324817e-45),
    pl.Float64: (1.7976931348623157e308, 5e-324),
}
_DAY, _SECONDS = 20_148, 20_148 * 86_400
_TEXTS = ("\U0010ffff" * 30, "", "\x00", "a" * 2**20, "\u0130\u1e9e", None)


def _ends(bits: int) -> list[int | None]:
    return [2 ** (bits - 1) - 1, -(2 ** (bits - 1)), -(2 ** (bits - 1)) + 1, 0, -1, None]


def _temporal() -> Iterator[TypedColumn]:
    yield TypedColumn(pl.Date, [_DAY, _DAY + 1, _DAY + 40], _ends(32))
    yield TypedColumn(pl.Time, [0, 10**9, 5 * 10**9], [86_399_999_999_999, None])
    units: tuple[tuple[Any, int], ...] = (("ms", 10**3), ("us", 10**6), ("ns", 10**9))
    for unit, second in units:
        usual = [_SECONDS * second, _SECONDS * second + 1, (_SECONDS + 86_400 * 40) * second]
        for zone in (None, "UTC", "Asia/Tokyo", "America/St_Johns"):
            yield TypedColumn(pl.Datetime(unit, zone), usual, _ends(64))
        yield TypedColumn(pl.Duration(unit), [0, 1, 2], _ends(64))


def _numbers() -> Iterator[TypedColumn]:
    for kind in _WHOLE:
        low, high = pl.select(kind.min()).item(), pl.select(kind.max()).item()
        yield TypedColumn(kind, [1, 7, high // 2 + 1], [high, low, 0, None])
    for real, (largest, smallest) in _FLOATS.items():
        odd = [float("nan"), float("inf"), float("-inf"), largest, -largest, smallest, -0.0, None]
        yield TypedColumn(real, [1.0, 2.5, 300.0], odd)
    for digits, scale in ((1, 0), (4, 2), (18, 2), (38, 0), (38, 10), (38, 38), (19, 4)):
        most = Decimal("9" * digits + f"e-{scale}")
        usual = [Decimal(0), Decimal(1).scaleb(-scale), most]
        yield TypedColumn(pl.Decimal(digits, scale), usual, [most, most.copy_negate(), Decimal(0), None])


def _others() -> Iterator[TypedColumn]:
    yield TypedColumn(pl.Boolean, [True, False, True], [True, False, None])
    yield TypedColumn(pl.String, ["a", "b", "clerk"], _TEXTS)
    yield TypedColumn(pl.Categorical, ["a", "b", "clerk"], _TEXTS)
    yield TypedColumn(pl.Enum(["a", "b", "clerk", *_TEXTS[:5]]), ["a", "b", "clerk"], _TEXTS)
    yield TypedColumn(pl.Binary, [b"a", b"b", b"c"], [b"\xff\xfe", b"", None])
    yield TypedColumn(pl.Null, [None], [None])
    yield TypedColumn(pl.Object, [object()], [object(), None])
    yield TypedColumn(pl.List(pl.Int8), [[1], [2], [3]], [[], [None], None])
    yield TypedColumn(pl.Array(pl.Int8, 1), [[1], [2], [3]], [[None], None])
    yield TypedColumn(pl.Struct({"a": pl.Int8}), [{"a": 1}], [{"a": None}, None])
    yield TypedColumn(pl.Map(pl.String, pl.Int8), [{"a": 1}], [{}, None])


COLUMNS = named((*_numbers(), *_temporal(), *_others()))


def _series(name: str, kind: Any, values: list[Any]) -> pl.Series:
    """Return a column; moments are given as the whole numbers that they are stored as."""
    if not kind.is_temporal():
        return pl.Series(name, values, dtype=kind)
    return pl.Series(name, values, dtype=pl.Int32 if kind == pl.Date else pl.Int64).cast(kind)


def frame_of(rows: Rows, columns: Columns) -> pl.DataFrame:
    numbers, *others = zip(*rows, strict=True)
    made = [
        _series(name, column.declared, list(values))
        for (name, column), values in zip(columns.items(), others, strict=True)
    ]
    return pl.DataFrame([pl.Series("record", numbers, dtype=pl.Int64), *made])


def _subclasses(kind: Any) -> Iterator[str]:
    for one in kind.__subclasses__():
        if one.__module__.startswith("polars."):
            yield one.__name__
        yield from _subclasses(one)


def test_every_type_of_polars_is_in_the_matrix_or_has_a_reason() -> None:
    kinds = (column.declared for column in COLUMNS.values())
    tried = {(kind if isinstance(kind, type) else type(kind)).__name__ for kind in kinds}
    assert tried | _ABSTRACT | {*_NOT_MADE} == {*_subclasses(DataType)}


_NUMBERS = count()


def _in_memory(frame: pl.DataFrame, _: Path) -> Engine:
    return open_source(frame, None)


def _lazily(frame: pl.DataFrame, _: Path) -> Engine:
    return open_source(frame.lazy(), None)


def _in_parquet(frame: pl.DataFrame, folder: Path) -> Engine:
    frame.write_parquet(folder / f"{next(_NUMBERS)}.parquet", row_group_size=2)
    return open_source(folder / f"{next(_NUMBERS) - 1}.parquet", None)


@pytest.mark.slow
@pytest.mark.parametrize("keep", [_in_memory, _lazily, _in_parquet])
def test_no_value_of_any_type_changes_what_others_count_for(
    keep: Callable[[pl.DataFrame, Path], Engine], tmp_path: Path
) -> None:
    def kept(some: Columns, rows: Rows) -> Engine:
        return keep(frame_of(rows, some), tmp_path)

    in_memory_alone = () if keep is not _in_parquet else (pl.Object,)
    columns = {name: one for name, one in COLUMNS.items() if one.declared not in in_memory_alone}
    found = faults(columns, kept, one_by_one=keep is _in_memory)
    assert not found, "\n".join(found[:5])[:4000]
