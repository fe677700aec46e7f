"""Sockets of the PostgreSQL protocol: slow, many, silent and impolite clients."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from prdp.server.wire.listener import WirePatience
from tests.server.serving import write_project
from tests.server.wire.serving_wire import WireServed, wire_served
from tests.server.wire.talking import TLS, query, startup

pytestmark = pytest.mark.slow

IDLE = 1_000
QUICK = WirePatience(login_seconds=3.0, connections=IDLE + 100, strangers=IDLE + 50)


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WireServed]:
    folder = tmp_path_factory.mktemp("wire") / "project"
    folder.mkdir()
    write_project(folder)
    with wire_served(folder, QUICK) as made:
        made.password()
        yield made


def connected(wire: WireServed) -> socket.socket:
    return socket.create_connection(("127.0.0.1", wire.port), timeout=60)


def ended(link: socket.socket) -> bytes:
    """Return what is sent until the other side hangs up."""
    found = b""
    while True:
        try:
            part = link.recv(65_536)
        except ConnectionError:
            return found
        if not part:
            return found
        found += part


def test_who_does_not_log_in_is_hung_up_on(wire: WireServed) -> None:
    for beginning in (b"", TLS[:5], TLS, startup(user="ana.laptop")[:9]):
        with connected(wire) as link:
            link.sendall(beginning)
            began = time.monotonic()
            ended(link)
            assert time.monotonic() - began < 60


def test_a_thousand_idle_connections_keep_nobody_out(wire: WireServed) -> None:
    links = [connected(wire) for _ in range(IDLE)]
    try:
        with psycopg.connect(wire.conninfo()) as connection:
            assert connection.execute("SELECT 1").fetchall() == [(1,)]
    finally:
        for link in links:
            link.close()


def test_clear_text_is_refused_before_a_password_is_asked_for(wire: WireServed) -> None:
    with connected(wire) as link:
        link.sendall(startup(user="ana.laptop", database="prdp"))
        said = ended(link)
    assert b"this server speaks TLS alone" in said
    assert not said.startswith(b"R")


def test_old_versions_of_tls_and_what_comes_before_a_handshake_are_refused(wire: WireServed) -> None:
    with connected(wire) as link:
        link.sendall(TLS + startup(user="ana.laptop"))
        assert b"C08P01" in ended(link)
    with connected(wire) as link:
        link.sendall(TLS)
        assert link.recv(1) == b"S"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
        context.wrap_socket(link).close()
    assert wire.server.context is not None
    assert wire.server.context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_message_of_300_megabytes_is_refused_by_its_header(wire: WireServed) -> None:
    with connected(wire) as link:
        link.sendall(struct.pack("!II", 300 << 20, 196_608))
        assert b"C54000" in ended(link)


def test_pipelined_statements_are_answered_in_their_order(wire: WireServed) -> None:
    with psycopg.connect(wire.conninfo(), autocommit=True) as connection, connection.pipeline():
        cursors = [connection.execute("SELECT %s::int AS one", (number,)) for number in range(50)]
        assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(50)]


def test_a_server_goes_on_after_garbage(wire: WireServed, tmp_path: Path) -> None:
    del tmp_path
    for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"\0" * 64, query("SELECT 1")):
        with connected(wire) as link:
            link.sendall(garbage)
            ended(link)
    with psycopg.connect(wire.conninfo()) as connection:
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
