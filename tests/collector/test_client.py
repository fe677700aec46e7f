"""The senders, in Python and in JavaScript, against a server that fails in every way before it serves."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from prdp.collector.client import Unserved, asked, fetch_campaign, send
from prdp.errors import InvalidRequest
from prdp.local import Report
from tests.collector.recording import recorder
from tests.collector.running import PATIENCE
from tests.collector.test_vectors import node

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
            for stated in answers:
                connection, _ = listening.accept()
                with connection:
                    connection.settimeout(PATIENCE)
                    request = b""
                    while len(request.partition(b"\r\n\r\n")[2]) < len(bytes(REPORT)):
                        request += connection.recv(65536)
                    heard.append(request)
                    connection.sendall(stated)

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


@pytest.mark.parametrize("by", [by_python, pytest.param(by_javascript, marks=pytest.mark.slow)])
def test_a_sender_sends_the_same_bytes_until_it_hears_a_whole_acknowledgement(
    by: Callable[[str], bool],
) -> None:
    with serving([*FAILING, answer("201 Created", COUNTED)]) as (url, heard):
        assert by(url)
    bodies = {request.partition(b"\r\n\r\n")[2] for request in heard}
    assert bodies == {bytes(REPORT)}
    assert len(heard) == len(FAILING) + 1


@pytest.mark.parametrize("by", [by_python, pytest.param(by_javascript, marks=pytest.mark.slow)])
def test_a_sender_that_is_refused_says_why_and_does_not_send_again(by: Callable[[str], bool]) -> None:
    with serving([answer("410 Gone", b'{"code":"late","message":"the round is closed."}')]) as (url, heard):
        with pytest.raises(Unserved, match="the round is closed"):
            by(url)
        assert len(heard) == 1


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "https://", "https://study.example:many", "https://[::1", "https://a/?token=b",
     "https://a b", "https://a\r\nx: y", "study.example"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="no collector's address"):
        send(url, REPORT, "00" * 16)


@pytest.mark.parametrize(
    "url", ["https://ana:hush@study.example", "http://hush@127.0.0.1:1", "http://:hush@a"]
)
def test_an_address_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidRequest, match="no password") as refused:
        send(url, REPORT, "00" * 16)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("token", ["hush\n", "hush\r\nx: y", "hu sh", "hüsh", "hush\x00"])
def test_a_token_that_no_header_takes_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(InvalidRequest, match="token") as refused:
        asked("http://127.0.0.1:1", "/v1/operator/close", token=token, body=b"")
    assert "hush" not in str(refused.value)
    assert refused.value.__cause__ is None


ASKING: dict[str, Callable[[str], object]] = {
    "send": lambda url: send(url, REPORT, "hush", tries=3, pause=0.01),
    "fetch": fetch_campaign,
    "post": lambda url: asked(url, "/v1/operator/close", token="hush", body=b""),  # noqa: S106
    "get": lambda url: asked(url, "/v1/study", token="hush"),  # noqa: S106
}


@pytest.mark.parametrize("how", ASKING)
@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
@pytest.mark.parametrize("to", ["other port", "other name", "other scheme", "same origin", "nowhere"])
def test_a_redirect_is_refused_and_takes_no_token_along(how: str, status: int, to: str) -> None:
    with recorder(lambda _: answer("200 OK", COUNTED)) as other:
        places = {
            "other port": f"{other.url}/v1/study",
            "other name": f"http://localhost:{other.port}/v1/study",
            "other scheme": f"https://127.0.0.1:{other.port}/v1/study",
            "same origin": "/v1/elsewhere",
            "nowhere": "",
        }
        location = f"location: {places[to]}\r\n" if places[to] else ""
        stated = f"HTTP/1.1 {status} Moved\r\n{location}content-length: 0\r\nconnection: close\r\n\r\n"
        with recorder(lambda _: stated.encode()) as first:
            with pytest.raises(Unserved, match="redirects to another address") as refused:
                ASKING[how](first.url)
            assert not refused.value.may_pass
            assert len(first.requests) == 1
    assert other.requests == []


@contextmanager
def silent(first: bytes) -> Iterator[str]:
    """Take every connection, say some bytes, and then nothing, until the sender hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)

        def serve() -> None:
            with suppress(OSError):  # closed below
                while True:
                    connection, _ = listening.accept()
                    with connection, suppress(OSError):
                        connection.settimeout(PATIENCE)
                        connection.sendall(first)
                        while connection.recv(65536):
                            pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


HALF_AN_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", HALF_AN_ANSWER], ids=["no answer", "half an answer"])
@pytest.mark.parametrize("report", [bytes(REPORT).hex(), ""], ids=["send", "fetchCampaign"])
def test_a_silent_collector_costs_the_javascript_client_its_timeout_and_no_more(
    first: bytes, report: str
) -> None:
    with silent(first) as url:
        given = {"url": url, "report": report, "ticket": "00" * 16, "timeout": 50, "tries": 2}
        assert node("send.test.mjs", given=json.dumps(given))["name"] == "TimeoutError"


@pytest.mark.slow
def test_the_javascript_client_follows_no_redirect_with_its_ticket_and_report() -> None:
    with serving([answer("201 Created", COUNTED)]) as (elsewhere, taken):
        moved = (
            f"HTTP/1.1 307 Moved\r\nlocation: {elsewhere}/v1/reports\r\ncontent-length: 0\r\n\r\n".encode()
        )
        with serving([moved]) as (url, heard):
            given = {"url": url, "report": bytes(REPORT).hex(), "ticket": "00" * 16, "tries": 1}
            assert "error" in node("send.test.mjs", given=json.dumps(given))
        assert len(heard) == 1
        assert not taken
        send(elsewhere, REPORT, "00" * 16)  # lets the other server end


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"{}", b"null", b'{"counted":"yes","again":0}', b'[{"counted":true}]'])
def test_the_javascript_client_takes_nothing_but_an_acknowledgement_for_one(body: bytes) -> None:
    with serving([answer("200 OK", body), answer("201 Created", COUNTED)]) as (url, heard):
        assert by_javascript(url)
        assert len(heard) == 2


@pytest.mark.slow
def test_the_javascript_client_stops_reading_an_answer_without_end() -> None:
    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
    with serving([head + b" " * (65 << 20)]) as (url, _):
        given = {"url": url, "report": bytes(REPORT).hex(), "ticket": "00" * 16, "tries": 1}
        assert "too long" in node("send.test.mjs", given=json.dumps(given))["error"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "ticket"),
    [
        ("http://127.0.0.1:1", "hush\n"),
        ("http://127.0.0.1:1", "hüsh"),
        ("http://127.0.0.1:1", ""),
        ("http://ana:hush@127.0.0.1:1", "00"),
        ("http://127.0.0.1:1/?token=hush", "00"),
        ("hush", "00"),
    ],
)
def test_the_javascript_client_refuses_what_cannot_be_sent_and_repeats_no_secret(
    url: str, ticket: str
) -> None:
    given = {"url": url, "report": bytes(REPORT).hex(), "ticket": ticket, "tries": 2}
    refused = node("send.test.mjs", given=json.dumps(given))["error"]
    assert "hush" not in refused
    assert any(words in refused for words in ("no ticket", "no collector's address", "no password"))


@pytest.mark.slow
@pytest.mark.parametrize(("body", "shown"), [(b"{}", 37), (b'{"message":"' + b"x" * 10**6 + b'"}', 1000)])
def test_the_javascript_client_shows_no_more_of_a_refusal_than_a_message(body: bytes, shown: int) -> None:
    with serving([answer("400 Bad Request", body)]) as (url, _):
        given = {"url": url, "report": bytes(REPORT).hex(), "ticket": "00" * 16, "tries": 1}
        assert len(node("send.test.mjs", given=json.dumps(given))["error"]) == shown


REPORTED = {"ab": "00ff"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "account",
    [
        "null",
        "[]",
        "{",
        json.dumps({"policy": None, "spent": "-1", "reports": {}}),
        json.dumps({"policy": "p", "spent": "-1", "reports": REPORTED}),
        json.dumps({"policy": "p", "spent": "0", "reports": REPORTED}),
        json.dumps({"policy": "p", "spent": "3/2", "reports": REPORTED}),
        json.dumps({"policy": "p", "spent": 0.5, "reports": REPORTED}),
        json.dumps({"policy": "p", "spent": "1/2", "reports": {}}),
        json.dumps({"policy": "p", "spent": "1/2"}),
        json.dumps({"policy": "p", "spent": "1/2", "reports": {"ab": "0"}}),
        json.dumps({"policy": None, "spent": "1/2", "reports": REPORTED}),
    ],
)
def test_the_javascript_client_refuses_a_damaged_account(account: str) -> None:
    assert "damaged" in node("send.test.mjs", given=json.dumps({"account": account}))["error"]


@pytest.mark.slow
def test_the_javascript_client_reads_a_sound_account() -> None:
    account = json.dumps({"policy": "p", "spent": "1/3", "reports": REPORTED})
    assert node("send.test.mjs", given=json.dumps({"account": account})) == {"left": "2/3"}
