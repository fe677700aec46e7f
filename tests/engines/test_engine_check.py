"""The check that users run on their own database: it finds a wrong engine, and passes a right one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import psycopg
import pytest
from typer.testing import CliRunner

from prdp.cli.app import app
from prdp.engines.engine import Engine
from prdp.engines.polars.engine import open_source
from prdp.errors import InvalidRequest
from prdp.testing.engine_check import CheckPlace, check_engine, claims, place_for
from prdp.testing.reference import Record
from tests.engines.test_clickhouse_server import started
from tests.engines.test_polars import frame

SHORT = ["test_budgets_of_every_kind_land_on_their_level_or_are_left_out"]
"""A claim that odd records are read alike: enough to see that a place can be checked at all."""


def nearly_right(records: Sequence[Record]) -> Engine:
    """Take NaN for 0, as a database without NaN may."""
    return open_source(frame(records).with_columns(pl.col("eps").fill_nan(1.0)), None)


def test_an_engine_that_takes_nan_for_a_budget_is_found_out() -> None:
    outcomes = check_engine(CheckPlace(nearly_right))
    wrong = next(one for one in outcomes if "budgets of every kind" in one.claim)
    assert not wrong.held
    assert wrong.why.startswith("AssertionError")


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "where",
    [
        "oracle://ana:secret@db.example/bank",
        "clerk",
        "postgresql://ana:secret@",
        "mariadb://ana:secret@",
        "snowflake://ana:secret@db.example/bank",
        "sc://127.0.0.1:1/;token=secret",
        "clickhouse://ana:secret@127.0.0.1:1/bank",
    ],
)
def test_what_cannot_be_checked_is_refused_without_repeating_a_password(where: str) -> None:
    with pytest.raises(InvalidRequest) as refused, place_for(where):
        pass
    assert "secret" not in str(refused.value)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prdp.testing.engine_check.claims", lambda: SHORT)
    monkeypatch.setattr("prdp.cli.engine.claims", lambda: SHORT)


def all_hold(where: str) -> None:
    result = CliRunner().invoke(app, ["engine", "check", where])
    assert result.exit_code == 0, result.output
    assert f"all {len(SHORT)} claims hold." in result.output


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_a_server_of_clickhouse_is_checked_in_a_database_that_is_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = started(tmp_path)
    monkeypatch.setenv("BANK_URL", server.address())  # it holds a password, which no argument may
    try:
        all_hold("${BANK_URL}")
        assert "DROP DATABASE prdp_check" in (tmp_path / "log").read_text()
    finally:
        server.process.kill()
        server.process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("short")
def test_spark_is_checked_here_and_by_connect_and_goes_on_running(spark: Any, connect: Any) -> None:
    for where in ("spark", f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"):
        all_hold(where)
    assert spark.range(1).count() == connect.range(1).count() == 1


@pytest.mark.slow
def test_chdb_is_checked_in_a_process_of_its_own() -> None:
    run = (
        "from prdp.testing import engine_check\n"
        f"engine_check.claims = lambda: {SHORT}\n"
        "with engine_check.place_for('chdb') as place:\n"
        "    assert all(outcome.held for outcome in engine_check.check_engine(place))\n"
    )
    subprocess.run([sys.executable, "-c", run], check=True, capture_output=True)
