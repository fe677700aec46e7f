"""HTTP servers on the loopback that answer as they are reported, and keep every byte that they are sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.collector.running import PATIENCE


@dataclass
class Recorder:
    """A server's address, and the requests it has had."""

    port: int
    requests: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def recorder(answer: Callable[[bytes], bytes]) -> Iterator[Recorder]:
    """Serve until the block ends; each connection is one request, answered by what the function returns."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = Recorder(listening.getsockname()[1])
        stop = threading.Event()

        def serve() -> None:
            while True:
                connection, _ = listening.accept()
                with connection:
                    if stop.is_set():
                        return
                    connection.settimeout(PATIENCE)
                    request = whole_request(connection)
                    made.requests.append(request)
                    connection.sendall(answer(request))

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield made
        finally:
            stop.set()
            socket.create_connection(("127.0.0.1", made.port)).close()  # so that it looks
            thread.join(PATIENCE)


def whole_request(connection: socket.socket) -> bytes:
    """Return one request as its length says, or what came before the other end closed, or no HTTP at all."""
    request = b""
    while part := connection.recv(65536):
        request += part
        if not request[:3].isalpha():
            break
        head, blank, body = request.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if blank and len(body) >= (int(lengths[0].partition(b":")[2]) if lengths else 0):
            break
    return request
