"""A real proxy before a PostgreSQL server, which cuts connections at the moment of a COMMIT."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

Cut = Literal["before", "after", "late", "for good"]
"""COMMIT never reaches the server; it does, and its word is lost; it does, a second after the cut; it does,
its word is lost, and nothing answers any more."""

_COMMIT = b"COMMIT\0"
_PATIENCE = 60


@dataclass
class _Line:
    client: socket.socket
    server: socket.socket
    muted: bool = False
    replied: threading.Event = field(default_factory=threading.Event)

    def hang_up(self, *ends: socket.socket) -> None:
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Proxy:
    """Passes bytes on between clients and the server's socket; ``cut`` says how the next COMMIT is cut."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.cut: Cut | None = None
        self.meanwhile: Callable[[], object] = lambda: None
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                line = _Line(client, server)
                threading.Thread(target=self._forward, args=(line,), daemon=True).start()
                threading.Thread(target=self._back, args=(line,), daemon=True).start()

    def _back(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.server.recv(65536):
                if line.muted:
                    line.replied.set()
                else:
                    line.client.sendall(data)
        line.hang_up(line.client)

    def _forward(self, line: _Line) -> None:
        with suppress(OSError):
            while data := line.client.recv(65536):
                if self.cut is not None and _COMMIT in data:
                    self._cut_at(line, data)
                    break
                line.server.sendall(data)
        line.hang_up(line.client, line.server)

    def _cut_at(self, line: _Line, commit: bytes) -> None:
        cut, self.cut = self.cut, None
        self.cuts += 1
        line.muted = True
        if cut == "for good":
            self.close()
        if cut == "late":
            line.hang_up(line.client)
            time.sleep(1)
        if cut != "before":
            line.server.sendall(commit)
            line.replied.wait(_PATIENCE)
            self.meanwhile()


@contextmanager
def proxy(folder: str) -> Iterator[Proxy]:
    """Open a proxy before the server whose socket is in a folder."""
    opened = Proxy(f"{folder}/.s.PGSQL.5432")
    try:
        yield opened
    finally:
        opened.close()
