"""A real MariaDB server for tests, where its programs are installed: started once a session."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.spark import free_port
from tests.tools import only_for_slow_tests, program

_PLACES = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/libexec"))
PASSWORD = "tell-nobody"  # noqa: S105  (of a server that lives for these tests)


def _program(name: str) -> str:
    return program("mariadbd", f"MariaDB's {name} was not found", name=name, path=_PLACES)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Wait until a server listens."""
    for _ in range(600):
        assert process.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise AssertionError(log.read_text())


@pytest.fixture(scope="session")
def mariadb(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server of our own; yield the address of its database ``bank``."""
    only_for_slow_tests(pytestconfig)
    server, install = _program("mariadbd"), _program("mariadb-install-db")
    import pymysql  # noqa: PLC0415  (only who has a server needs it)

    folder = tmp_path_factory.mktemp("mariadb")
    user = ["--user=root"] if os.getuid() == 0 else []
    made = subprocess.run(
        [
            *(install, "--no-defaults", f"--datadir={folder / 'data'}", *user),
            *("--auth-root-authentication-method=normal", "--skip-test-db"),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    socket_file, port = folder / "s", free_port()
    with Path(folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(server, "--no-defaults", f"--datadir={folder / 'data'}", *user),
                *(f"--socket={socket_file}", f"--port={port}", "--bind-address=127.0.0.1"),
                *(f"--tmpdir={folder}", f"--pid-file={folder / 'pid'}", "--innodb-buffer-pool-size=32M"),
            ],
            stdout=log,
            stderr=log,
        )
    try:
        _wait(process, port, folder / "log")
        database = pymysql.connect(unix_socket=str(socket_file), user="root")
        with database, database.cursor() as cursor:
            cursor.execute("CREATE DATABASE bank CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
            cursor.execute(f"CREATE USER ana@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
            cursor.execute("GRANT ALL ON *.* TO ana@'127.0.0.1'")
        yield f"mariadb://ana:{PASSWORD}@127.0.0.1:{port}/bank"
    finally:
        process.terminate()
        process.wait(60)
