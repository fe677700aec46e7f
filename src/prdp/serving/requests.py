"""Read requests within limits, and add the headers that every response has."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from prdp.serving.connections import Rates

_DRAINED = 1 << 22
_DRAIN_SECONDS = 2.0


class Unreadable(Exception):  # noqa: N818  (reads as what it is)
    """A request that could not be read; ``code`` is too_large, too_slow or malformed."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """Return a request's body.

    Raises:
        Unreadable: It is larger than ``most``, slower than ``seconds``, or ends too early.
    """
    length = request.headers.get("content-length", "")
    waits = request.headers.get("expect", "").lower() == "100-continue"
    if length.isdecimal() and int(length[:20]) > most:
        if not waits:
            await _drain(request)
        raise Unreadable("too_large")
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    break
                parts.append(part)
    except TimeoutError:
        raise Unreadable("too_slow") from None
    except ClientDisconnect:
        raise Unreadable("malformed") from None
    if size > most:
        parts.clear()
        await _drain(request)
        raise Unreadable("too_large")
    return b"".join(parts)


async def _drain(request: Request) -> None:
    """Read some more and forget it: a sender that is cut off while it writes does not hear why."""
    left = _DRAINED
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await request.receive()
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
                left -= len(message.get("body", b""))
    except TimeoutError:
        return


def content_type(request: Request) -> str:
    """Return the content type of a request, without parameters; empty if the body is compressed."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        return ""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def bearer(request: Request) -> str | None:
    """Return the token of ``Authorization: Bearer ...``; None without one."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return credentials.strip() if scheme.lower() == "bearer" else None


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_ALWAYS = {
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guarded:
    """Middleware: refuses addresses that ask too often, and adds headers.

    Args:
        app: What serves the requests.
        rates: The rate limit of an address.
        refuse: Makes the response to what is refused here: too_many or malformed, or a code of ``check``.
        headers: Headers of every response, beside those that any server has.
        check: Returns the code of a refusal for the headers of a request; empty for none.
    """

    def __init__(
        self,
        app: Any,
        rates: Rates,
        refuse: Callable[[str], Response],
        headers: dict[str, str],
        check: Callable[[Message], str] = lambda _: "",
    ) -> None:
        self.app = app
        self._rates, self._refuse, self._check = rates, refuse, check
        self._headers = [(name.encode(), value.encode()) for name, value in (headers | _ALWAYS).items()]

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *self._headers]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                message["headers"] = headers
            await send(message)

        client = scope.get("client")
        code = "" if self._rates.allows(client[0] if client else "") else "too_many"
        code = code or ("malformed" if _has_two_ends(scope["headers"]) else self._check(scope))
        if code:
            response = self._refuse(code)
            response.headers["connection"] = "close"
            await response(scope, receive, send_on)
        else:
            await self.app(scope, receive, send_on)


def _has_two_ends(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request says its length twice: a front could see another request's start in it."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}
