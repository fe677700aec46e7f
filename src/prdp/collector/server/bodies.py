"""The bytes of a request, up to a limit and within a time; whatever is too much is read no further."""

from __future__ import annotations

import asyncio

from fastapi import Request
from starlette.requests import ClientDisconnect

from prdp.collector.refusals import Refused

_DRAINED = 1 << 22
_DRAIN_SECONDS = 2.0


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """Return a request's body.

    Raises:
        Refused: It is larger than ``most``, slower than ``seconds``, or ends too early.
    """
    length = request.headers.get("content-length", "")
    waits = request.headers.get("expect", "").lower() == "100-continue"
    if length.isdecimal() and int(length[:20]) > most:
        if not waits:
            await _drain(request)
        raise Refused("too_large")
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
        raise Refused("too_slow") from None
    except ClientDisconnect:
        raise Refused("malformed") from None
    if size > most:
        parts.clear()
        await _drain(request)
        raise Refused("too_large")
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
    """Return what kind of body a request says it has, without parameters; of none if it is compressed."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        return ""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def bearer(request: Request) -> str | None:
    """Return what stands in ``Authorization: Bearer ...``; None without one."""
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    return credentials.strip() if scheme.lower() == "bearer" else None
