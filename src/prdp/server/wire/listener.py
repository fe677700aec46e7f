"""Sockets of the PostgreSQL protocol: TLS, time limits, numbers of connections, and work in threads."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from prdp.errors import InvalidRequest
from prdp.noise.entropy import SystemEntropy
from prdp.server import accounts
from prdp.server.front import Service
from prdp.server.wire import messages
from prdp.server.wire.catalogue import Catalogue
from prdp.server.wire.conversation import Conversation, Work
from prdp.server.wire.failures import WireError
from prdp.server.wire.questions import WireAsker
from prdp.server.wire.results import WaitUntil
from prdp.server.wire.scram import Verifier
from prdp.server.wire.session import WireSession
from prdp.serving.connections import Rates, network_of
from prdp.serving.process import allow_files

_THREADS = 8
_AT_ONCE = 128
_LAST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class WirePatience:
    """Limits of connections.

    Attributes:
        login_seconds: The time limit of a login, TLS included.
        read_seconds: The time in which a client has to read what it was sent.
        connections: The number of connections.
        strangers: The number of connections of one address that have not logged in.
        logins: How many logins one address may begin a second, and at once.
    """

    login_seconds: float = 10.0
    read_seconds: float = 120.0
    connections: int = 1_500
    strangers: int = 1_100
    logins: tuple[float, float] = (50, 1_500)


class WireServer:
    """Serves the PostgreSQL protocol in a thread of its own, until it is stopped."""

    def __init__(
        self,
        service: Service,
        context: ssl.SSLContext | None,
        certificate: bytes = b"",
        patience: WirePatience | None = None,
    ) -> None:
        """Name what it works with.

        Args:
            service: What the routes work with.
            context: TLS settings; None for a server that does not listen.
            certificate: The hash of the certificate that logins are bound to; empty for none.
            patience: Limits.
        """
        self.service, self.context, self.certificate = service, context, certificate
        self.patience = patience or WirePatience()
        self.rates = Rates(*self.patience.logins)
        self.by_keys: dict[tuple[int, int], WireConnection] = {}
        self.strangers: Counter[str] = Counter()
        self.threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="prdp-wire")
        self.port = 0
        self._catalogues: dict[tuple[str, ...], Catalogue] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Event | None = None

    # What a conversation needs.

    def verifier(self, user: str) -> tuple[str, Verifier]:
        """Return a user's token, empty for nobody's, and a verifier."""
        with self.service.store.reading() as rows:
            return accounts.wire_verifier(rows, user, int(self.service.clock()))

    def session(self, token: str, user: str, database: str) -> WireSession:
        """Return the session of a token."""
        asker = WireAsker(self.service, token, self._catalogues)
        asker.person()
        return WireSession(asker, user, database)

    def cancel(self, process: int, secret: int) -> None:
        """Detach whoever waits by these numbers."""
        found = self.by_keys.get((process, secret))
        if found is not None:
            found.cancelled.set()

    # Sockets.

    def start(self, host: str, port: int) -> None:
        """Begin to listen.

        Raises:
            InvalidRequest: The address cannot be listened on.
        """
        with self.service.store.writing() as rows:
            accounts.prepare_salts(rows)
        allow_files(self.patience.connections + _AT_ONCE)
        ready: Any = threading.Event()
        failed: list[OSError] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(host, port, ready, failed)))
        self._thread.daemon = True
        self._thread.start()
        ready.wait()
        if failed:
            raise InvalidRequest(f"--wire {host}:{port} cannot be listened on: {failed[0].strerror}.")

    async def _serve(self, host: str, port: int, ready: threading.Event, failed: list[OSError]) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await self._loop.create_server(
                lambda: WireConnection(self), host, port, backlog=_AT_ONCE
            )
        except OSError as error:
            failed.append(error)
            ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._ended.wait()
        server.close()
        for connection in [*self.by_keys.values()]:
            connection.abort()

    def stop(self) -> None:
        """Hang up on everybody; what was asked goes on."""
        if self._loop is not None and self._ended is not None and self._thread is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(10)
        self.threads.shutdown(wait=False, cancel_futures=True)


class WireConnection(asyncio.Protocol):
    """One socket: it moves bytes, and does what its conversation wants."""

    def __init__(self, server: WireServer) -> None:
        self._server = server
        self._keys = _number() & 0x7FFFFFFF, _number()
        self._conversation = Conversation(server, self._keys)
        self._transport: Any = None
        self._address = ""
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.cancelled = asyncio.Event()
        self._stranger = True

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a login, or hang up on too many."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._address = network_of(str(peer[0]) if peer else "")
        server, patience = self._server, self._server.patience
        server.by_keys[self._keys] = self
        server.strangers[self._address] += 1
        self._timer = asyncio.get_running_loop().call_later(patience.login_seconds, self._too_slow)
        crowded = len(server.by_keys) > patience.connections
        crowded |= server.strangers[self._address] > patience.strangers
        if crowded or not server.rates.allows(self._address):
            self._refuse(WireError.of("too_many", fatal=True))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        self._conversation.receive(data)
        self._drive()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection; a question that was asked goes on."""
        del exc
        self._server.by_keys.pop(self._keys, None)
        self._known()
        for timer in (self._timer, self._reading):
            if timer is not None:
                timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Do no more work for a client that does not read."""
        self._may_write.clear()
        patience = self._server.patience
        self._reading = asyncio.get_running_loop().call_later(patience.read_seconds, self.abort)

    def resume_writing(self) -> None:
        """Go on with a client that has read."""
        self._may_write.set()
        if self._reading is not None:
            self._reading.cancel()

    def abort(self) -> None:
        """Hang up."""
        self._transport.abort()

    def _known(self) -> None:
        """Count one stranger less."""
        if self._stranger:
            self._stranger = False
            self._server.strangers[self._address] -= 1
            if self._server.strangers[self._address] <= 0:
                del self._server.strangers[self._address]

    def _too_slow(self) -> None:
        if self._conversation.wants_tls:
            self.abort()  # a handshake leaves no place for a message
        else:
            self._refuse(WireError.of("too_slow", fatal=True))

    def _refuse(self, failure: WireError) -> None:
        self._conversation.closed = True
        if not self._transport.is_closing():
            self._transport.write(messages.error(failure))
            self._hang_up()

    def _hang_up(self) -> None:
        self._transport.close()
        asyncio.get_running_loop().call_later(_LAST_SECONDS, self._transport.abort)

    def _drive(self) -> None:
        """Send what there is to send, and do what is to be done."""
        talk = self._conversation
        if talk.wants_tls and self._task is not None:
            return  # what came with the end of the handshake waits for its end
        if talk.output and not self._transport.is_closing():
            self._transport.write(bytes(talk.output))
        talk.output.clear()
        if talk.closed:
            self._hang_up()
            return
        if talk.is_logged_in and self._stranger:
            self._known()
            if self._timer is not None:
                self._timer.cancel()
        if talk.is_full:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
        if talk.wants_tls:
            self._transport.pause_reading()
            self._begin(self._encrypt())
        elif talk.work is not None and self._task is None:
            self.cancelled.clear()
            self._begin(self._do(talk.work))

    def _begin(self, work: Any) -> None:
        self._task = asyncio.get_running_loop().create_task(work)
        self._task.add_done_callback(self._go_on)

    def _go_on(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and task.exception() is None:
            self._drive()
        elif not task.cancelled():
            self.abort()

    async def _encrypt(self) -> None:
        loop = asyncio.get_running_loop()
        seconds = self._server.patience.login_seconds
        encrypted, context = None, self._server.context
        assert context is not None  # noqa: S101  (it listens)
        with suppress(OSError, ssl.SSLError):
            encrypted = await loop.start_tls(
                self._transport, self, context, server_side=True, ssl_handshake_timeout=seconds
            )
        if encrypted is None:
            self._conversation.closed = True
            return
        self._transport = encrypted
        self._conversation.encrypted()

    async def _do(self, work: Work) -> None:
        """Do work in a thread, and wait for answers; whoever cancels is detached, and learns no time."""
        await self._may_write.wait()
        loop, run = asyncio.get_running_loop(), work.run
        while True:
            outcome = await loop.run_in_executor(self._server.threads, _outcome, run)
            if not isinstance(outcome, WaitUntil):
                break
            if await self._is_cancelled_before(outcome.at):
                outcome = WireError.detached()
                break
            run = outcome.then
        self._conversation.finish(outcome)

    async def _is_cancelled_before(self, at: float) -> bool:
        try:
            await asyncio.wait_for(self.cancelled.wait(), max(0.0, at - self._server.service.clock()))
        except TimeoutError:
            return False
        return True


def _outcome(run: Callable[[], Any]) -> Any:
    """Return what work returned, or the exception that it raised."""
    try:
        return run()
    except Exception as error:
        return error


def _number() -> int:
    return int.from_bytes(SystemEntropy().bytes(4))
