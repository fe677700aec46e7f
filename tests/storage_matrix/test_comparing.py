"""The comparison finds each way in which one record can change what others see, and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

from prdp.engines.duckdb.engine import open_source
from prdp.engines.sql_engine import SqlEngine
from prdp.errors import EngineFailure, InvalidRequest
from tests.storage_matrix.comparing import differences

Numbers = list[float]
OTHERS = [1.0, 2.0, 3.0]
EXTREME = 9.0


def opened(values: Numbers) -> SqlEngine:
    record = [0 if value == EXTREME else place for place, value in enumerate(values, start=1)]
    return open_source(
        {"record": np.array(record), "x": np.array(values), "s": np.array(["a"] * len(values))}, None
    )


def found(open_table: Callable[[Numbers], SqlEngine]) -> list[str]:
    return differences(open_table, OTHERS, [*OTHERS, EXTREME], len(OTHERS))


def test_an_engine_that_reads_each_record_alone_shows_no_difference() -> None:
    assert found(opened) == []


def test_a_record_that_is_left_out_is_no_difference() -> None:
    assert found(lambda values: opened([value for value in values if value != EXTREME])) == []


def refused(values: Numbers) -> SqlEngine:
    if EXTREME in values:
        raise InvalidRequest("too large")
    return opened(values)


def escaped(values: Numbers) -> SqlEngine:
    if EXTREME in values:
        raise ValueError(EXTREME)
    return opened(values)


def warned(values: Numbers) -> SqlEngine:
    if EXTREME in values:
        warnings.warn("too large", stacklevel=1)
    return opened(values)


def other_type(values: Numbers) -> SqlEngine:
    kinds = {"x": "VARCHAR"} if EXTREME in values else {}
    arrays = {"record": np.arange(len(values)), "x": np.array(values)}
    return open_source(arrays, kinds)


def failing(values: Numbers) -> SqlEngine:
    engine = opened(values)
    if EXTREME in values:

        def columns(sql: str) -> None:
            raise EngineFailure

        engine.columns = columns  # type: ignore[assignment]
    return engine


def always_failing(values: Numbers) -> SqlEngine:
    engine = opened(values)

    def columns(sql: str) -> None:
        raise EngineFailure

    engine.columns = columns  # type: ignore[assignment]
    return engine


def asked_twice(values: Numbers) -> SqlEngine:
    engine = opened(values)
    if EXTREME in values:
        plain = engine.summarise

        def summarise(reading):  # type: ignore[no-untyped-def]
            plain(reading)
            return plain(reading)

        engine.summarise = summarise  # type: ignore[method-assign]
    return engine


def moved(values: Numbers) -> SqlEngine:
    return opened([*(value * 2 for value in values[:-1]), EXTREME] if EXTREME in values else values)


def dropped(values: Numbers) -> SqlEngine:
    return opened(values[1:] if EXTREME in values else values)


def doubled(values: Numbers) -> SqlEngine:
    return opened([*values, *[value for value in values if value == EXTREME]])


@pytest.mark.parametrize(
    ("open_table", "words"),
    [
        (refused, "open: outcome"),
        (escaped, "not prdp's own"),
        (warned, "open: warned"),
        (other_type, "columns: cells"),
        (failing, "outcome: 'answered' became 'EngineFailure"),
        (always_failing, "not answered, whatever the rows"),
        (asked_twice, "statements"),
        (moved, "cells of other records"),
        (dropped, "cells of other records"),
        (doubled, "cells of other records"),
    ],
)
def test_whatever_one_record_changes_is_found(open_table: Callable[[Numbers], SqlEngine], words: str) -> None:
    assert any(words in difference for difference in found(open_table))
