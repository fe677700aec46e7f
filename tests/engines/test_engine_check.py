"""The check that users run on their own database: it finds a wrong engine, and passes a right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl
import psycopg
import pytest
from typer.testing import CliRunner

from prdp.cli.app import app
from prdp.engines.engine import Engine
from prdp.engines.polars import open_source
from prdp.errors import InvalidRequest
from prdp.testing.engine_check import check_engine, claims
from prdp.testing.engine_places import CheckPlace, place_for
from prdp.testing.reference import Record
from tests.engines.test_polars import frame


def nearly_right(records: Sequence[Record]) -> Engine:
    """Take NaN for 0, as a database without NaN may."""
    return open_source(frame(records).with_columns(pl.col("eps").fill_nan(1.0)), None)


def test_an_engine_that_takes_nan_for_a_budget_is_found_out() -> None:
    outcomes = check_engine(CheckPlace(nearly_right))
    wrong = next(one for one in outcomes if "budgets of every kind" in one.claim)
    assert not wrong.held
    assert wrong.why.startswith("AssertionError")


def test_a_database_is_checked_in_a_schema_of_its_own_that_is_gone_afterwards(
    new_database: Callable[[], str],
) -> None:
    address = new_database()
    result = CliRunner().invoke(app, ["engine", "check", address])
    assert result.exit_code == 0, result.output
    assert f"all {len(claims())} claims hold." in result.output
    with psycopg.connect(address) as database:
        left = database.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'prdp%'").fetchall()
    assert left == [(0,)]


@pytest.mark.parametrize("where", ["mysql://ana:secret@db.example/bank", "clerk", "postgresql://ana:secret@"])
def test_what_cannot_be_checked_is_refused_without_repeating_a_password(where: str) -> None:
    with pytest.raises(InvalidRequest) as refused, place_for(where):
        pass
    assert "secret" not in str(refused.value)
