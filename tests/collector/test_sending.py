"""The senders, in Python and in JavaScript, against a server that fails in every way before it serves."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from prdp.collector.sending import Unserved, send
from prdp.errors import InvalidRequest
from prdp.local import Report
from tests.collector.running import PATIENCE
from tests.collector.test_vectors import needs_node, node

REPORT = Report(bytes(32), bytes(16), b"\x01")
COUNTED = b'{"counted":true,"again":false}'


def answer(status: str, body: bytes, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n".encode() + body


FAILING = [
    b"",  # killed before it answers
    answer("201 Created", COUNTED[:7], len(COUNTED)),  # killed while it answers
    answer("201 Created", b"", len(COUNTED)),
    answer("503 Busy", b'{"code":"busy","message":"too much"}'),
    answer("502 Bad Gateway", b"<html>a front speaks"),
    answer("200 OK", b"not JSON"),
]


@contextmanager
def serving(answers: list[bytes]) -> Iterator[tuple[str, list[bytes]]]:
    """Answer each connection with the next bytes; yield the address and the requests."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)

        def serve() -> None:
            for said in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.settimeout(PATIENCE)
                    request = b""
                    while len(request.partition(b"\r\n\r\n")[2]) < len(bytes(REPORT)):
                        request += connection.recv(65536)
                    heard.append(request)
                    connection.sendall(said)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", heard
        thread.join(PATIENCE)


def by_python(url: str) -> bool:
    return send(url, REPORT, "00" * 16, pause=0.01)


def by_javascript(url: str) -> bool:
    given = {"url": url, "report": bytes(REPORT).hex(), "ticket": "00" * 16}
    found = node("send.test.mjs", given=json.dumps(given))
    if "error" in found:
        raise Unserved(found["error"], may_pass=False)
    return not found["again"]


@pytest.mark.parametrize("by", [by_python, pytest.param(by_javascript, marks=needs_node)])
def test_a_sender_sends_the_same_bytes_until_it_hears_a_whole_acknowledgement(
    by: Callable[[str], bool],
) -> None:
    with serving([*FAILING, answer("201 Created", COUNTED)]) as (url, heard):
        assert by(url)
    bodies = {request.partition(b"\r\n\r\n")[2] for request in heard}
    assert bodies == {bytes(REPORT)}
    assert len(heard) == len(FAILING) + 1


@pytest.mark.parametrize("by", [by_python, pytest.param(by_javascript, marks=needs_node)])
def test_a_sender_that_is_refused_says_why_and_does_not_send_again(by: Callable[[str], bool]) -> None:
    with serving([answer("410 Gone", b'{"code":"late","message":"the round is closed."}')]) as (url, heard):
        with pytest.raises(Unserved, match="the round is closed"):
            by(url)
        assert len(heard) == 1


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="no collector's address"):
        send("file:///etc/passwd", REPORT, "00" * 16)
