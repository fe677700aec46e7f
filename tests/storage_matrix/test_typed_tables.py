"""Engines that a single record leads astray, each in its own way, are found out by the matrix of types."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from prdp.engines.engine import Engine
from prdp.engines.polars.engine import open_source
from prdp.errors import EngineFailure, InvalidRequest
from tests.storage_matrix.test_polars_types import frame_of
from tests.storage_matrix.typed_tables import Columns, Rows, TypedColumn, faults, named

_HIGHEST, _LOWEST = 2**63 - 1, -(2**63)
_COLUMNS = named(
    (
        TypedColumn(pl.Int64, (1, 7, 2**53 + 1), (_HIGHEST, _LOWEST, 0, None)),
        TypedColumn(pl.String, ("a", "b", "clerk"), ("", "\x00", None)),
    )
)
Wrong = Callable[[pl.DataFrame], Engine]


def _has(frame: pl.DataFrame, value: int | None) -> bool:
    return value in frame["c0"].to_list()


def _failing(method: str, value: int | None, error: type[Exception] = EngineFailure) -> Wrong:
    """Return an engine of which one method fails where a value is."""

    def opened(frame: pl.DataFrame) -> Engine:
        engine: Any = open_source(frame, None)
        if _has(frame, value):
            setattr(engine, method, _raising(error))
        return engine  # type: ignore[no-any-return]

    return opened


def _raising(error: type[Exception]) -> Callable[[object], Any]:
    def fail(_: object) -> Any:
        raise error

    return fail


def _fails_unless_a_higher_value_is_there(frame: pl.DataFrame) -> Engine:
    return _failing("summarise", None if _has(frame, _HIGHEST) else _LOWEST)(frame.drop_nulls("c0"))


def _loses_another_record(frame: pl.DataFrame) -> Engine:
    return open_source(frame.filter(pl.col("record") != 2) if _has(frame, _LOWEST) else frame, None)


def _changes_another_record(frame: pl.DataFrame) -> Engine:
    changed = pl.when(pl.col("record") == 2).then(pl.lit("c")).otherwise(pl.col("c1")).alias("c1")
    return open_source(frame.with_columns(changed) if _has(frame, None) else frame, None)


def _has_other_columns(frame: pl.DataFrame) -> Engine:
    return open_source(frame.cast({"c0": pl.Float64}) if _has(frame, _HIGHEST) else frame, None)


def _does_not_open(frame: pl.DataFrame) -> Engine:
    if _has(frame, _LOWEST):
        raise InvalidRequest("a value is too low.")
    return open_source(frame, None)


def _warns(frame: pl.DataFrame) -> Engine:
    if _has(frame, None):
        warnings.warn("a value is missing", stacklevel=1)
    return open_source(frame, None)


def _reads_twice(frame: pl.DataFrame) -> Engine:
    engine: Any = open_source(frame, None)
    once = engine.summarise
    if _has(frame, _HIGHEST):
        engine.summarise = lambda read: (once(read), once(read))[1]
    return engine  # type: ignore[no-any-return]


_WRONG: dict[str, Wrong] = {
    "fails": _failing("summarise", _HIGHEST),
    "fails with an error of its own": _failing("summarise", _LOWEST, OverflowError),
    "fails in the search for keys": _failing("key_masses", _HIGHEST),
    "fails in the count of keys": _failing("key_totals", None),
    "fails where units are distinguished": _failing("fold_units", _LOWEST),
    "fails where rows are given": _failing("rows", 0),
    "fails unless a higher value is there": _fails_unless_a_higher_value_is_there,
    "loses another record": _loses_another_record,
    "changes another record": _changes_another_record,
    "has other columns": _has_other_columns,
    "does not open": _does_not_open,
    "warns": _warns,
    "reads twice": _reads_twice,
}


def _found(wrong: Wrong) -> list[str]:
    def opened(some: Columns, rows: Rows) -> Engine:
        return wrong(frame_of(rows, some))

    return faults(_COLUMNS, opened)


def test_an_engine_that_no_record_leads_astray_has_no_faults() -> None:
    assert _found(lambda frame: open_source(frame, None)) == []


@pytest.mark.slow
@pytest.mark.parametrize("wrong", _WRONG)
def test_an_engine_that_one_record_leads_astray_is_found_out(wrong: str) -> None:
    assert _found(_WRONG[wrong])
