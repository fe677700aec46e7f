"""Run a web application in this process until it is stopped, with a log of bounded length."""

from __future__ import annotations

import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

import uvicorn

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]

from prdp.errors import InvalidRequest
from prdp.serving.connections import UNIX, Patience, protocol_for

_SECONDS = 60.0
_MAX_LINES = 20
_MAX_CHARACTERS = 300


@dataclass(slots=True)
class _Seen:
    since: float
    more: int = 0


class BoundedLog(logging.Handler):
    """Writes the first line of a message, and counts those like it until a minute has passed.

    Whoever floods a collector with connections makes the same few messages again and again, each with a
    traceback: they would fill a disk.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(logging.WARNING)
        self._stream, self._clock = stream, clock
        self._seen: dict[str, _Seen] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless this or too much else was written a moment ago."""
        now, text = self._clock(), _line(record)
        self._forget(now)
        known = self._seen.get(text)
        if known is not None:
            known.more += 1
        elif len(self._seen) < _MAX_LINES:
            self._seen[text] = _Seen(now)
            self._write(text)

    def _forget(self, now: float) -> None:
        """Forget what was written a minute ago; say how often it came since."""
        for text, seen in [*self._seen.items()]:
            if now - seen.since >= _SECONDS:
                del self._seen[text]
                if seen.more:
                    self._write(f"{text} ({seen.more:,} times more)")

    def _write(self, text: str) -> None:
        stream = self._stream or sys.stderr
        if stream is not None:  # closed by who started the program
            print(f"prdp: {text}", file=stream, flush=True)


def _line(record: logging.LogRecord) -> str:
    """Return a message's first line, and the type of what was raised; its words may be a sender's."""
    first = record.getMessage().strip().partition("\n")[0]
    kind = record.exc_info[0] if isinstance(record.exc_info, tuple) else None
    line = f"{first} ({kind.__name__})" if kind is not None else first
    return "".join(letter for letter in line if letter.isprintable())[:_MAX_CHARACTERS]


_STOP_SECONDS = 10
_AT_ONCE = 128
"""Number of connections that are accepted before any of them is counted."""
_OTHER_FILES = 32 + _AT_ONCE


@dataclass(frozen=True, slots=True)
class Place:
    """Address of a server, and the proxy that may forward a client's address.

    Attributes:
        host: The address to listen on.
        port: The port; 0 for any that is free.
        front: The address of a reverse proxy whose X-Forwarded-For is believed; None for none.
        certificate: The files of a TLS certificate and its key; None for plain HTTP.
        socket: A Unix socket to listen on instead, for a proxy of this machine, whose headers are believed.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    front: str | None = None
    certificate: tuple[str, str] | None = None
    socket: Path | None = None


def run(app: Any, place: Place, *, patience: Patience, ready: Callable[[int], None]) -> bool:
    """Serve an application until the process is stopped; return whether it could begin.

    Nothing is logged of any request.

    Args:
        app: The ASGI application.
        place: The address to listen on.
        patience: The time limits of a connection.
        ready: Called with the port once the server listens; 0 for a Unix socket.
    """
    logging.basicConfig(level=logging.WARNING, handlers=[BoundedLog()])
    kept = _within_limits(patience)
    certificate, key = place.certificate or (None, None)
    config = uvicorn.Config(
        app, host=place.host, port=place.port, http=protocol_for(kept), ws="none", lifespan="on",
        access_log=False, log_config=None, log_level="error", server_header=False, date_header=False,
        proxy_headers=bool(place.front or place.socket),
        forwarded_allow_ips=UNIX if place.socket else place.front or "",
        limit_concurrency=None, timeout_keep_alive=kept.idle_seconds, backlog=_AT_ONCE,
        timeout_graceful_shutdown=_STOP_SECONDS, h11_max_incomplete_event_size=1 << 14,
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    server = _Server(config, ready)
    server.run(None if place.socket is None else [_bound(place.socket)])
    return server.started


def _bound(path: Path) -> socket.socket:
    """Bind a Unix socket that its owner and group may connect to; one that was left behind is replaced."""
    if path.is_socket():
        path.unlink()
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)
    try:
        made.bind(str(path))
    except OSError as error:
        raise InvalidRequest(f"the socket {path} cannot be listened on: {error.strerror or error}.") from None
    finally:
        os.umask(before)
    return made


def _within_limits(patience: Patience) -> Patience:
    """Raise the number of files that this process may open, or lower that of connections to fit it."""
    if resource is None:
        return patience
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = patience.connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return replace(patience, connections=max(soft // 2, soft - _OTHER_FILES))
    return patience


def allow_files(more: int) -> None:
    """Raise the number of files that this process may open by so many, as far as it may."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        wanted = soft + more
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )


class _Server(uvicorn.Server):
    """Report the port once the server listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Begin to listen."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            name = self.servers[0].sockets[0].getsockname()
            self._ready(0 if isinstance(name, str) else name[1])
