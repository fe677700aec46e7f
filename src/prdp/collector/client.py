"""Send reports from Python to a collector: fetch the campaign, retry until acknowledged."""

from __future__ import annotations

import json
import time
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from prdp.errors import CollectorError, InvalidRequest
from prdp.local.client.report import Report

_MAY_PASS = (408, 429, 500, 502, 503, 504)
_MAX_BYTES = 1 << 25
_MAX_CHARACTERS = 500
_REDIRECTS = range(300, 400)
_TIMEOUT = 30.0
_REPORT_TYPE = "application/vnd.prdp.report"


def fetch_campaign(url: str) -> str:
    """Return the campaign of the open round, as JSON, for ``Client.report``."""
    return asked(url, "/v1/campaign").decode()


def send(url: str, report: Report, ticket: str, *, tries: int = 8, pause: float = 0.25) -> bool:
    """Send a report until it is acknowledged: the same bytes again after a failure that may pass.

    Args:
        url: The collector, such as ``https://study.example``.
        report: What ``Client.report`` returned.
        ticket: The ticket that the operator gave out.
        tries: How often to try.
        pause: How many seconds to wait before the second try; each further wait is twice as long.

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
            return not _facts(answer)["again"]
        except Unserved as error:
            if not error.may_pass:
                raise
            why = error
        except KeyError:
            why = Unserved(f"{url} does not answer as a collector.")
    raise why or CollectorError("a report is sent at least once: give tries=1 or more.")


class Unserved(CollectorError):  # noqa: N818  (reads as what it is)
    """A collector refused, or could not be reached.

    Attributes:
        may_pass: Whether the same bytes may be sent again later.
        code: What the collector called it; empty where it said nothing.
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
    """Return what a collector answers; with a body it is sent one.

    A redirect is refused, also to the same host: the token goes to the address that the caller wrote, and
    to no other.
    """
    base = checked_url(url)
    headers = {"content-type": kind} if body is not None else {}
    if token is not None:
        headers["authorization"] = f"Bearer {_checked_token(token)}"
    method = "GET" if body is None else "POST"
    request = Request(base + path, data=body, headers=headers, method=method)  # noqa: S310  (http or https)
    try:
        with build_opener(_NoRedirects).open(request, timeout=_TIMEOUT) as answer:
            body, length = bytes(answer.read(_MAX_BYTES)), answer.headers.get("content-length")
            if length is not None and length != str(len(body)):
                raise Unserved(f"{url} did not finish its answer.")
            return body
    except HTTPError as error:
        raise _refusal(url, error) from None
    except (URLError, HTTPException, OSError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise Unserved(f"{url} cannot be reached: {reason or type(reason).__name__}.") from None


class _NoRedirects(HTTPRedirectHandler):
    """Leave a redirect as the error that it is; urllib would follow it, with the token."""

    def redirect_request(self, *_: object, **__: object) -> None:
        """Follow nothing."""


def _refusal(url: str, error: HTTPError) -> Unserved:
    """Return an HTTP error in words; the other end's own are cut."""
    with error:
        facts = _facts(error.read(_MAX_BYTES))
    if error.code in _REDIRECTS:
        return Unserved(
            f"{url} redirects to another address, and nothing is sent there: the token is for {url} alone. "
            "If the collector has moved, its operator can tell you where to.",
            may_pass=False,
        )
    code, message = str(facts.get("code", "")), str(facts.get("message", f"HTTP status {error.code}"))
    return Unserved(f"{url} refused: {message[:_MAX_CHARACTERS]}", code, may_pass=error.code in _MAY_PASS)


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
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
