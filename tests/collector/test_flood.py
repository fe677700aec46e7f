"""A collector that is flooded with connections writes a bounded log, and serves on."""

from __future__ import annotations

import io
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from prdp.serving.process import BoundedLog
from tests.collector.running import PATIENCE, Server, begun, count_plan

CONNECTIONS = 2_000
MAX_BYTES = 4_000
FEW_FILES = (
    "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)); from prdp.cli import main; main()"
)


def reset(connection: socket.socket) -> None:
    connection.sendall(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def junk(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff" * 50 + b"\r\n\r\n")
    connection.close()


def half(connection: socket.socket) -> None:
    connection.sendall(b"POST /v1/reports HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nab")
    connection.close()


def hold(connection: socket.socket) -> None:
    """Leave it open: the caller keeps it."""


def flood(port: int, treat: Callable[[socket.socket], None]) -> list[socket.socket]:
    """Connect as often as one can within some seconds, and at most so often."""
    made: list[socket.socket] = []
    ends = time.monotonic() + 5
    while len(made) < (300 if treat is hold else CONNECTIONS) and time.monotonic() < ends:
        with suppress(OSError):  # refused, or hung up on
            connection = socket.create_connection(("127.0.0.1", port), timeout=1)
            made.append(connection)
            treat(connection)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("program", [None, FEW_FILES], ids=["usual", "few files"])
@pytest.mark.parametrize("treat", [reset, junk, half, hold], ids=lambda treat: treat.__name__)
def test_a_flood_of_connections_is_logged_in_a_few_lines(
    tmp_path: Path, treat: Callable[[socket.socket], None], program: str | None
) -> None:
    store = tmp_path / "s.collect"
    begun(store, count_plan())
    with Server(store, program=program) as server:
        assert server.process is not None
        assert server.process.stderr is not None
        stated: list[str] = []
        reading = threading.Thread(target=stated.extend, args=(server.process.stderr,))
        reading.start()
        made = flood(server.port, treat)
        for connection in made:
            connection.close()
        ends = time.monotonic() + PATIENCE
        while True:
            with suppress(OSError):
                if server.ask("/v1/study").status == 200:
                    break
            assert time.monotonic() < ends
        server.process.terminate()
        server.process.wait(PATIENCE)
        reading.join(PATIENCE)
    assert len(made) > 100
    assert len("".join(stated)) < MAX_BYTES
    assert not [line for line in stated if "Traceback" in line or "  File" in line]


def test_the_same_message_is_written_once_a_minute_and_counted() -> None:
    stream, now = io.StringIO(), [0.0]
    handler = BoundedLog(stream, clock=lambda: now[0])

    def log(text: str, *, failure: Exception | None = None) -> None:
        raised = (type(failure), failure, None) if failure else None
        handler.emit(logging.LogRecord("x", logging.ERROR, "", 0, text, (), raised))

    for _ in range(1_000):
        log("out of files\nsocket: <secret>", failure=OSError("hush"))
    log("a\x1b[31mb" + "c" * 1000)
    now[0] = 61.0
    log("out of files", failure=OSError("hush"))
    for number in range(1_000):
        log(f"another {number}")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "prdp: out of files (OSError)"
    assert lines[1].startswith("prdp: a[31mbccc")
    assert lines[2] == "prdp: out of files (OSError) (999 times more)"
    assert lines[3] == lines[0]
    assert len(lines) < 30
    assert max(map(len, lines)) < 320
    assert "hush" not in stream.getvalue()
