"""ClickHouse for tests: one session of chDB, which is ClickHouse itself, for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from chdb.session import Session

_NUMBERS = count()


@pytest.fixture(scope="session")
def chdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    session = Session(str(tmp_path_factory.mktemp("chdb")))
    session.query("CREATE DATABASE IF NOT EXISTS bank ENGINE = Atomic")
    session.query("USE bank")
    yield session
    session.close()


def kept(session: Session, folder: Path, records: pyarrow.Table, columns: str, how: str) -> str:
    """Keep records in a new table; return its name."""
    name = f"t{next(_NUMBERS)}"
    session.query(f"CREATE TABLE {name} ({columns}) {how}")
    pyarrow.parquet.write_table(records, folder / f"{name}.parquet")
    session.query(f"INSERT INTO {name} SELECT * FROM file('{folder}/{name}.parquet')")
    return name
