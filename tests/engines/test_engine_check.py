"""The check that users run on their own database: it finds a wrong engine, and passes a right one."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from prdp.engines.engine import Engine
from prdp.engines.polars import open_source
from prdp.testing.engine_check import check_engine, claims
from prdp.testing.reference import Record
from tests.engines.test_polars import frame


def right(records: Sequence[Record]) -> Engine:
    return open_source(frame(records), None)


def nearly_right(records: Sequence[Record]) -> Engine:
    """Take NaN for 0, as a database without NaN may."""
    return open_source(frame(records).with_columns(pl.col("eps").fill_nan(1.0)), None)


def test_every_claim_of_the_contract_holds_for_an_engine_that_is_right() -> None:
    outcomes = list(check_engine(right))
    assert [one for one in outcomes if not one.held] == []
    assert len(outcomes) == len(claims()) > 20


def test_an_engine_that_takes_nan_for_a_budget_is_found_out() -> None:
    wrong = [one for one in check_engine(nearly_right) if not one.held]
    assert any("budgets of every kind" in one.claim for one in wrong)
    assert all(one.why for one in wrong)
