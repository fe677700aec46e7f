"""Send reports from Python to a collector: fetch the campaign, retry until acknowledged."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from prdp.declare.strict_json import strict_json
from prdp.errors import CollectorError, InvalidRequest
from prdp.local.client.report import Report
from prdp.safety.plain_text import printable

_MAY_PASS = (408, 429, 500, 502, 503, 504)
_MAX_BYTES = 1 << 25
_MAX_CHARACTERS = 500
_REDIRECTS = range(300, 400)
_TIMEOUT = 30.0
"""Timeout of a silent peer, in seconds."""
_WHOLE_TIMEOUT = 60.0
"""Timeout of one attempt, from connecting to the answer's last byte, in seconds."""
_REPORT_TYPE = "application/vnd.prdp.report"


def fetch_campaign(url: str) -> str:
    """Return the campaign of the open round, as JSON, for ``Client.report``."""
    try:
        return asked(url, "/v1/campaign").decode()
    except UnicodeDecodeError:
        raise no_collector(url) from None


def send(url: str, report: Report, ticket: str, *, tries: int = 8, pause: float = 0.25) -> bool:
    """Send a report until it is acknowledged: the same bytes again after a failure that may pass.

    Args:
        url: The collector, such as ``https://study.example``.
        report: What ``Client.report`` returned.
        ticket: The ticket that the operator gave out.
        tries: The number of attempts.
        pause: The seconds to wait before the second attempt; each further wait is twice as long.

    Returns:
        Whether the report was new; False if the collector had it already.

    Raises:
        CollectorError: It was refused, or could not be sent.
    """
    why: CollectorError | None = None
    for attempt in range(tries):
        if attempt:
            time.sleep(pause * 2 ** (attempt - 1))
        try:
            answer = asked(url, "/v1/reports", token=ticket, body=bytes(report), kind=_REPORT_TYPE)
            return _is_new(url, answer)
        except Unserved as error:
            if not error.may_pass:
                raise
            why = error
    raise why or CollectorError("a report is sent at least once: give tries=1 or more.")


def _is_new(url: str, answer: bytes) -> bool:
    """Read an acknowledgement; anything else is none."""
    facts = _facts(answer)
    if facts.get("counted") is not True or not isinstance(facts.get("again"), bool):
        raise no_collector(url)
    return not facts["again"]


class Unserved(CollectorError):  # noqa: N818  (reads as what it is)
    """A collector refused, or could not be reached.

    Attributes:
        may_pass: Whether the same bytes may be sent again later.
        code: The collector's error code; empty where it gave none.
    """

    def __init__(self, message: str, code: str = "", *, may_pass: bool = True) -> None:
        super().__init__(message)
        self.code = code
        self.may_pass = may_pass


def asked(
    url: str,
    path: str,
    *,
    token: str | None = None,
    body: bytes | None = None,
    kind: str = "application/json",
) -> bytes:
    """Return a collector's answer; a body, if given, is sent.

    A redirect is refused, also to the same host: the token goes to the address that the caller wrote, and
    to no other.
    """
    base = checked_url(url)
    headers = {"content-type": kind} if body is not None else {}
    if token is not None:
        headers["authorization"] = f"Bearer {_checked_token(token)}"
    method = "GET" if body is None else "POST"
    request = Request(base + path, data=body, headers=headers, method=method)  # noqa: S310  (http or https)
    with _explained_failures(url), _Clock() as clock:
        try:
            opener = build_opener(_NoRedirects, _Http(clock), _Https(clock))
            with opener.open(request, timeout=_TIMEOUT) as answer:
                body, length = bytes(answer.read(_MAX_BYTES)), answer.headers.get("content-length")
        except HTTPError as error:
            with error:
                raise _refusal(url, error.code, bytes(error.read(_MAX_BYTES))) from None
        if clock.cut or (length is not None and length != str(len(body))):
            raise Unserved(f"{url} did not finish its answer.")
        return body


def asked_facts(
    url: str, path: str, *, token: str | None = None, body: bytes | None = None
) -> dict[str, Any]:
    """Return the JSON object that a collector answers, with texts that a terminal can print."""
    facts = _facts(asked(url, path, token=token, body=body))
    if not facts:
        raise no_collector(url)
    found: dict[str, Any] = _harmless(facts)
    return found


@contextmanager
def _explained_failures(url: str) -> Iterator[None]:
    """Describe a broken connection in the system's words."""
    try:
        yield
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        body = printable(str(reason)[:_MAX_CHARACTERS]) or type(reason).__name__
        raise Unserved(f"{url} cannot be reached: {body}.") from None


class _Clock:
    """Ends a connection that takes too long in all: a timeout of sockets starts anew with every byte."""

    def __init__(self) -> None:
        self.cut = False
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(_WHOLE_TIMEOUT, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def watch(self, connected: socket.socket) -> None:
        """Include a connection."""
        self._sockets.append(connected)

    def _cut(self) -> None:
        self.cut = True
        for connected in self._sockets:
            with suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)


def _watched(kind: type[HTTPConnection], clock: _Clock) -> type[HTTPConnection]:
    """Return a kind of connection that a clock watches."""

    class Watched(kind):  # type: ignore[misc, valid-type]
        def connect(self) -> None:
            super().connect()
            clock.watch(self.sock)

    return Watched


class _Http(HTTPHandler):
    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self._clock = clock

    def http_open(self, req: Request) -> HTTPResponse:
        """Open a connection that the clock watches."""
        return self.do_open(_watched(HTTPConnection, self._clock), req)


class _Https(HTTPSHandler):
    def __init__(self, clock: _Clock) -> None:
        super().__init__()
        self._clock = clock

    def https_open(self, req: Request) -> HTTPResponse:
        """Open a connection that the clock watches."""
        return self.do_open(_watched(HTTPSConnection, self._clock), req)


class _NoRedirects(HTTPRedirectHandler):
    """Leave a redirect as the error that it is; urllib would follow it, with the token."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow nothing."""


def no_collector(url: str) -> Unserved:
    """Return the refusal of an answer that no collector gives."""
    return Unserved(f"{url} does not answer as a collector.")


def _refusal(url: str, status: int, body: bytes) -> Unserved:
    """Return an HTTP error in words; the other end's own are cut, and can be printed."""
    facts = _facts(body)
    if status in _REDIRECTS:
        return Unserved(
            f"{url} redirects to another address, and nothing is sent there: the token is for {url} alone. "
            "If the collector has moved, ask its operator for the new address.",
            may_pass=False,
        )
    code, message = str(facts.get("code", "")), str(facts.get("message", f"HTTP status {status}"))
    reason = printable(message[:_MAX_CHARACTERS])
    return Unserved(f"{url} refused: {reason}", code, may_pass=status in _MAY_PASS)


def checked_url(url: str) -> str:
    """Return a collector's address without the slash at its end; refuse one that is none.

    Raises:
        InvalidRequest: It is no address, or holds a password, and then it is not repeated.
    """
    try:
        parts = urlsplit(url.rstrip("/"))
        named, _ = parts.hostname, parts.port
    except ValueError:
        raise _no_address() from None
    if "@" in parts.netloc:
        raise InvalidRequest(
            "a collector's address holds no user and no password: others could see them. The operator's "
            "token is read from the environment variable PRDP_OPERATOR_TOKEN."
        )
    plain = url.isascii() and url.isprintable() and not {" ", "?", "#"} & set(url)
    if parts.scheme not in ("http", "https") or not named or not plain:
        raise _no_address()
    return url.rstrip("/")


def _no_address() -> InvalidRequest:
    return InvalidRequest("this is no collector's address: write https://study.example.")


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidRequest("the token holds what no token holds, such as a blank or the end of a line.")
    return token


def _facts(body: bytes) -> dict[str, Any]:
    try:
        found = strict_json(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _harmless(given: Any) -> Any:
    """Return parsed JSON with every text printable; its depth is limited by the parser."""
    match given:
        case str():
            return printable(given)
        case list():
            return [_harmless(each) for each in given]
        case dict():
            return {printable(name): _harmless(each) for name, each in given.items()}
        case _:
            return given
