"""Whatever a lazy frame computes, no value changes what other records count for, or the frame is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from polars.exceptions import PanicException, PolarsError

from prdp.engines.polars.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import InvalidRequest
from prdp.schema import Kind, Schema
from tests.storage_matrix.comparing import Query, Seen, compared, observed
from tests.storage_matrix.test_polars_types import COLUMNS, frame_of
from tests.storage_matrix.typed_tables import OTHERS, TypedColumn, rows_of

C = pl.col("c")
_CASTS = (
    *(pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.String, pl.Date, pl.Boolean, pl.Int128),
    *(pl.Datetime("ms"), pl.Datetime("us"), pl.Datetime("ns"), pl.Decimal(10, 2), pl.Decimal(38, 38)),
)
_PARTS = (
    *("year", "iso_year", "quarter", "month", "week", "weekday", "day", "ordinal_day", "date", "hour"),
    *("minute", "second", "millisecond", "microsecond", "nanosecond"),
)
EXPRESSIONS: Mapping[str, pl.Expr] = {
    **{name: getattr(C, name)() for name in ("abs", "sign", "floor", "ceil", "sqrt", "log1p", "exp")},
    **{f"cast to {kind}": C.cast(kind, strict=False) for kind in _CASTS},
    **{f"dt.{name}": getattr(C.dt, name)() for name in _PARTS},
    **{f"{name} of a column": made for name, made in (("1 /", 1 / C), ("7 //", 7 // C), ("7 %", 7 % C))},
    "-": -C,
    "+ 1": C + 1,
    "- 1": C - 1,
    "* 2": C * 2,
    "squared": C * C,
    "// 2": C // 2,
    "% 2": C % 2,
    "to a power": C**2,
    "as a power": 2**C,
    "log": C.log(2),
    "round": C.round(2),
    "clip": C.clip(0, 5),
    "fill_null": C.fill_null(3),
    "is_in": C.is_in([1, 2]),
    "is_between": C.is_between(1, 5),
    "when": pl.when(C > 2).then(C).otherwise(1),
    "coalesce": pl.coalesce(C, pl.lit(1)),
    "least": pl.min_horizontal(C, pl.lit(3)),
    "added": pl.sum_horizontal(C, C),
    "when beside decimals": pl.when(C > 2).then(C).otherwise(pl.lit(1).cast(pl.Decimal(38, 10))),
    "upper": C.str.to_uppercase(),
    "strip": C.str.strip_chars(),
    "slice": C.str.slice(1, 3),
    "regex": C.str.replace_all(r"(a|b)+", "$1$1"),
    "contains": C.str.contains("a"),
    "zfill": C.str.zfill(5),
    "length": C.str.len_chars(),
    "head": C.str.head(2),
    "appended": C + "x",
    "zone": C.dt.convert_time_zone("Asia/Tokyo"),
    "next day": C + timedelta(days=1),
    "after a moment": datetime(2025, 1, 1) < C,
    "after a day": date(2025, 1, 1) < C,
}
FEW = ("- 1", "cast to String", "dt.date", "floor", "when beside decimals")


def _queries(schema: Schema) -> list[Query]:
    if schema["y"].kind is Kind.OTHER:
        return [Query()]
    measured = [Query(measure="y")] if schema["y"].kind is Kind.NUMBER else []
    return [Query(), Query(where="y IS NULL"), *measured]


def _seen(column: TypedColumn, expression: pl.Expr, extremes: range) -> dict[Query | str, Seen]:
    def opened(places: range) -> SqlEngine:
        columns = {"c": column}
        frame = frame_of(rows_of(columns, places), columns)
        return open_source(frame.lazy().with_columns(y=expression), None)

    return observed(opened, extremes, OTHERS, _queries)


def _is_polars(column: TypedColumn, expression: pl.Expr) -> bool:
    """Return whether Polars itself computes an expression of ordinary values."""
    columns = {"c": column}
    try:
        frame_of(rows_of(columns, ()), columns).lazy().with_columns(y=expression).collect()
    except (PolarsError, PanicException, TypeError, OverflowError):
        return False
    return True


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in EXPRESSIONS]
)
def test_no_value_makes_an_expression_of_a_lazy_frame_fail(name: str) -> None:
    faults: list[str] = []
    tried = 0
    for column in COLUMNS.values():
        if column.declared is pl.Object or not _is_polars(column, EXPRESSIONS[name]):
            continue
        without = _seen(column, EXPRESSIONS[name], range(0))
        number = len(column.extremes)
        changed = compared(without, _seen(column, EXPRESSIONS[name], range(number)), number)
        faults += [f"{column.declared}: {one[:300]}" for one in changed]
        tried += 1
    assert tried > 0
    assert faults == []


def test_expressions_that_no_value_makes_fail_are_taken() -> None:
    frame = pl.DataFrame({"c": [1, 2], "t": [datetime(2025, 3, 1)] * 2}).lazy()
    made = frame.with_columns(
        more=C * 2 + 1, text=C.cast(pl.String, strict=False), year=pl.col("t").dt.year()
    )
    found: Any = open_source(made.filter(C > 1), None).rows_of("SELECT more, text, year FROM prdp_records")
    assert found == [(5, "2", 2025)]
    with pytest.raises(InvalidRequest, match=r"a text of Datetime.* every question fail"):
        open_source(frame.with_columns(y=pl.col("t").cast(pl.String, strict=False)), None)
