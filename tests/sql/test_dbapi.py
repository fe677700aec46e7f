"""The connection keeps PEP 249, charges what it says, and serves pandas; tools' probes cost nothing."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import prdp
from prdp.sql import dbapi


@pytest.fixture
def accounts() -> prdp.Table:
    columns = {"age": np.arange(100), "job": np.array(["clerk", "chef"] * 50)}
    return prdp.open(columns, policy=prdp.Policy.constant(10**9), bounds={"age": (0, 100)}, name="accounts")


def test_the_module_says_what_pep_249_asks() -> None:
    assert (dbapi.apilevel, dbapi.paramstyle) == ("2.0", "qmark")
    assert dbapi.threadsafety in (0, 1, 2, 3)
    for name in (
        "InterfaceError",
        "DatabaseError",
        "ProgrammingError",
        "OperationalError",
        "NotSupportedError",
    ):
        assert issubclass(getattr(dbapi, name), dbapi.Error)


def test_pandas_reads_a_statement(accounts: prdp.Table) -> None:
    connection = prdp.connect(accounts, share=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas knows SQLAlchemy and SQLite by name
        text = (
            "SELECT job, COUNT(*) AS n FROM accounts WHERE job IN ('clerk', 'chef') GROUP BY job ORDER BY job"
        )
        frame = pd.read_sql(text, connection)
        some = pd.read_sql(
            "SELECT COUNT(*) AS n FROM accounts WHERE job = ? AND age >= ?", connection, params=["chef", 50]
        )
    assert frame.to_dict("list") == {"job": ["chef", "clerk"], "n": [50, 50]}
    assert list(some["n"]) == [25]
    assert accounts.remaining == Fraction(98, 100)


def test_pandas_gets_intervals_where_they_are_asked_for(accounts: prdp.Table) -> None:
    connection = prdp.connect(accounts, share=0.01, intervals=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # pandas knows SQLAlchemy and SQLite by name
        frame = pd.read_sql("SELECT COUNT(*) AS n FROM accounts", connection)
    assert list(frame) == ["n", "n_low", "n_high", "n_flag"]
    assert frame["n_low"][0] <= 100 <= frame["n_high"][0]


def test_standard_errors_are_columns_where_they_are_asked_for(accounts: prdp.Table) -> None:
    cursor = prdp.connect(accounts, share=0.01, std_errors=True).cursor()
    cursor.execute("SELECT COUNT(*) AS n FROM accounts")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["n", "n_low", "n_high", "n_se", "n_cv", "n_flag"]
    ((n, low, high, error, part, _),) = cursor.fetchall()
    assert error == pytest.approx((high - low) / 3.92)
    assert part == pytest.approx(error / n)
    frame = cursor.answers.to_pandas(std_errors=True)  # type: ignore[union-attr]
    assert frame["n_se"][0] == error


@pytest.mark.parametrize(
    "probe",
    [
        "SELECT 1",
        "select 1 as one;",
        "SELECT * FROM accounts LIMIT 0",
        "SELECT a.age, job AS j FROM accounts a WHERE age > 3 LIMIT 0",
        "SELECT * FROM (SELECT age * 2 AS twice FROM accounts) AS t LIMIT 0",
        "SELECT job, COUNT(*) FROM accounts WHERE job = 'chef' GROUP BY job LIMIT 0",
    ],
)
def test_probes_are_never_charged(accounts: prdp.Table, probe: str) -> None:
    cursor = prdp.connect(accounts, share=0.01).cursor()
    cursor.execute(probe)
    assert cursor.description
    assert accounts.remaining == 1
    assert not accounts.ledger.entries


def test_a_probe_of_a_table_says_its_columns_and_gives_no_row(accounts: prdp.Table) -> None:
    cursor = prdp.connect(accounts, share=0.01).execute("SELECT * FROM accounts LIMIT 0")
    assert [column[0] for column in cursor.description or []] == ["age", "job"]
    assert cursor.fetchall() == []


def test_set_share_changes_what_later_statements_cost(accounts: prdp.Table) -> None:
    cursor = prdp.connect(accounts, share=0.01).cursor()
    cursor.execute("SELECT COUNT(*) FROM accounts")
    cursor.execute("SET share = 0.02")
    cursor.execute("SELECT SUM(age) FROM accounts")
    assert accounts.remaining == Fraction(97, 100)
    cursor.execute("set share to '1/10';")
    cursor.execute("SELECT AVG(age) FROM accounts")
    assert accounts.remaining == Fraction(87, 100)
    for wrong in ("SET share = 2", "SET share", "SET timezone = 'UTC'"):
        with pytest.raises(prdp.InvalidRequest):
            cursor.execute(wrong)


def test_rows_are_fetched_one_by_one_in_parts_and_all(accounts: prdp.Table) -> None:
    text = (
        "SELECT job, COUNT(*) FROM accounts WHERE job IN ('chef', 'clerk', 'judge') GROUP BY job ORDER BY job"
    )
    cursor = prdp.connect(accounts, share=0.01).cursor()
    assert cursor.rowcount == -1
    assert cursor.execute(text).rowcount == 3
    assert cursor.fetchone() == ("chef", 50)
    assert cursor.fetchmany(1) == [("clerk", 50)]
    assert cursor.fetchall() == [("judge", 0)]
    assert cursor.fetchone() is None
    assert list(cursor.execute(text)) == [("chef", 50), ("clerk", 50), ("judge", 0)]
    assert cursor.answers is not None
    assert cursor.answers.released is not None


def test_values_are_constants_whatever_they_hold(accounts: prdp.Table) -> None:
    connection = prdp.connect(accounts, share="1/100")
    hostile = "'; DROP TABLE accounts; --"
    assert connection.execute("SELECT COUNT(*) FROM accounts WHERE job = ?", [hostile]).fetchone() == (0,)
    for wrong in ([object()], ["a", "b"], "a", [float("nan")], ["\x00"]):
        with pytest.raises(prdp.InvalidRequest):
            connection.execute("SELECT COUNT(*) FROM accounts WHERE job = ?", wrong)


def test_what_is_closed_answers_nothing(accounts: prdp.Table) -> None:
    with prdp.connect(accounts, share=0.01) as connection:
        cursor = connection.cursor()
        connection.commit()
        connection.rollback()
        cursor.close()
        with pytest.raises(prdp.InvalidRequest, match="closed"):
            cursor.execute("SELECT 1")
    for closed in (connection.cursor, connection.commit):
        with pytest.raises(prdp.InvalidRequest, match="closed"):
            closed()
    with pytest.raises(prdp.InvalidRequest):
        prdp.connect(accounts, share=0.01).cursor().fetchone()
    with pytest.raises(prdp.InvalidRequest):
        prdp.connect(accounts, share=0.01).cursor().executemany("SELECT 1", [])
    with pytest.raises(prdp.InvalidRequest):
        prdp.connect("accounts", share=0.01)
