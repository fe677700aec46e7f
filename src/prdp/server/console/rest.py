"""The REST interface, asked in process with a visitor's own cookie: a page can do nothing that it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message

_PASSED_ON = {b"cookie", b"host", b"origin", b"x-forwarded-for", b"x-forwarded-proto"}


@dataclass(frozen=True, slots=True)
class RestReply:
    """What a route replied.

    Attributes:
        status: The HTTP status.
        facts: The body, where it is JSON.
        cookies: The cookies that it sets.
    """

    status: int
    facts: Any
    cookies: tuple[bytes, ...]


class RestRefused(Exception):  # noqa: N818  (reads as what it is)
    """A route's refusal: its status, code and sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True, slots=True)
class Rest:
    """The routes under ``/v1``, for one visitor.

    Attributes:
        app: The application that has them.
        request: The visitor's request, whose cookie and origin are passed on.
    """

    app: ASGIApp
    request: Request

    async def get(self, path: str, query: str = "") -> Any:
        """Return what a path says."""
        return (await self.call("GET", path, query=query)).facts

    async def post(self, path: str, body: object, **headers: str) -> Any:
        """Send a body, and return the reply's."""
        return (await self.call("POST", path, body, **headers)).facts

    async def call(
        self, method: str, path: str, body: object = None, *, query: str = "", **headers: str
    ) -> RestReply:
        """Call a route; underscores in names of headers are dashes.

        Raises:
            RestRefused: It refuses.
        """
        sent = b"" if body is None else json.dumps(body).encode()
        named = [(name, value) for name, value in self.request.scope["headers"] if name in _PASSED_ON]
        named += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        if body is not None:
            named += [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
        scope = {
            **{name: self.request.scope[name] for name in _SCOPE if name in self.request.scope},
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": named,
        }
        return await _replied(self.app, scope, sent)


_SCOPE = ("type", "asgi", "http_version", "scheme", "client", "server", "root_path")


async def _replied(app: ASGIApp, scope: dict[str, Any], sent: bytes) -> RestReply:
    heard: list[Message] = []
    bodies = [{"type": "http.request", "body": sent, "more_body": False}]

    async def receive() -> Message:
        return bodies.pop() if bodies else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        heard.append(message)

    await app(scope, receive, send)
    status = int(heard[0]["status"])
    headers: list[tuple[bytes, bytes]] = list(heard[0].get("headers", ()))
    text = b"".join(message.get("body", b"") for message in heard[1:])
    facts = json.loads(text) if text and b"json" in dict(headers).get(b"content-type", b"") else None
    if status >= 400:
        refusal: Mapping[str, Any] = facts if isinstance(facts, dict) else {}
        message = str(refusal.get("message", "the server refused."))
        raise RestRefused(status, str(refusal.get("code", "failed")), message)
    return RestReply(status, facts, tuple(value for name, value in headers if name.lower() == b"set-cookie"))
