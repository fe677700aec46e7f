"""ClickHouse for tests: one session of chDB, which is ClickHouse itself, for all of them."""

from __future__ import annotations

from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pyarrow
import pyarrow.parquet
import pytest
from chdb.session import Session

from tests.tools import only_for_slow_tests

_NUMBERS = count()


@cache
def opened() -> Session:
    """Return the one session that a process can have; it is closed when the process ends."""
    session = Session(mkdtemp(prefix="prdp-chdb-"))
    session.query("CREATE DATABASE IF NOT EXISTS bank ENGINE = Atomic")
    session.query("USE bank")
    return session


@pytest.fixture
def chdb(pytestconfig: pytest.Config) -> Session:
    """Return the session, whichever file of tests asks for it first."""
    only_for_slow_tests(pytestconfig)
    return opened()


def kept(session: Session, folder: Path, records: pyarrow.Table, columns: str, how: str) -> str:
    """Keep records in a new table; return its name."""
    name = f"t{next(_NUMBERS)}"
    session.query(f"CREATE TABLE {name} ({columns}) {how}")
    pyarrow.parquet.write_table(records, folder / f"{name}.parquet")
    session.query(f"INSERT INTO {name} SELECT * FROM file('{folder}/{name}.parquet')")
    return name
