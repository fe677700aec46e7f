"""Middleware for every request: the rate limit, and the headers of every response."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from prdp.collector.refusals import RETRY_SECONDS, Refused
from prdp.collector.server.rates import Rates

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_UNKEPT = (b"cache-control", b"no-store")


class Front:
    """Stands before the application: refuses addresses that ask too often, and adds headers."""

    def __init__(self, app: Any, rates: Rates) -> None:
        self.app = app
        self._rates = rates

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *_ALWAYS]
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(_UNKEPT)
                message["headers"] = headers
            await send(message)

        client = scope.get("client")
        if not self._rates.allows(client[0] if client else ""):
            await _refuse(Refused("too_many"), send_on)
        elif _has_two_ends(scope["headers"]):
            await _refuse(Refused("malformed"), send_on)
        else:
            await self.app(scope, receive, send_on)


def _has_two_ends(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a request says its length twice: a front could see another request's start in it."""
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}


async def _refuse(refused: Refused, send: Send) -> None:
    body = json.dumps(refused.facts).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if refused.code in RETRY_SECONDS:
        headers.append((b"retry-after", str(RETRY_SECONDS[refused.code]).encode()))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
