"""Limits of connections and rates: slow senders, idle and half-closed ones, and too many at once."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

_MAX_ADDRESSES = 1 << 16
UNIX = "unix"
"""The address of whoever connects by a Unix socket."""


class Rates:
    """Lets each address ask so often a second, and a burst at once; the least recent ones are forgotten.

    >>> rates = Rates(per_second=1, burst=2, clock=lambda: 0.0)
    >>> [rates.allows("192.0.2.1") for _ in range(3)], rates.allows("192.0.2.2")
    ([True, True, False], True)

    Attributes:
        per_second: How often, in the long run; 0 for no limit.
        burst: How often at once.
    """

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_second = per_second
        self.burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, address: str) -> bool:
        """Return whether an address may ask now, and count that it did."""
        if not self.per_second:
            return True
        place, now = network_of(address), self._clock()
        left, since = self._left.pop(place, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.per_second)
        allowed = left >= 1
        self._left[place] = (left - 1 if allowed else left, now)
        if len(self._left) > _MAX_ADDRESSES:
            self._left.popitem(last=False)
        return allowed

    def __len__(self) -> int:
        return len(self._left)


def network_of(address: str) -> str:
    """Return the network of one sender: an IPv4 address, or the first half of an IPv6 one.

    >>> network_of("192.0.2.1"), network_of("2001:db8:1:2:3:4:5:6"), network_of("testing")
    ('192.0.2.1', '2001:db8:1:2', 'testing')
    """
    try:
        read = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(read, IPv6Address):
        return str(read.ipv4_mapped) if read.ipv4_mapped else ":".join(_groups(read)[:4])
    return str(read)


def _groups(address: IPv6Address) -> list[str]:
    return [group.lstrip("0") or "0" for group in address.exploded.split(":")]


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits and request limits of a connection.

    Attributes:
        head_seconds: The time limit of a request's head, from connecting or from its first byte on.
        body_seconds: The time limit of its body.
        answer_seconds: The time limit of all of it, until the other end has read the answer.
        idle_seconds: The time limit of an idle connection.
        connections: The maximum number of connections.
        per_address: The maximum number from one address.
    """

    head_seconds: float = 10.0
    body_seconds: float = 20.0
    answer_seconds: float = 120.0
    idle_seconds: int = 15
    connections: int = 1_000
    per_address: int = 250


class PatientProtocol(H11Protocol):
    """Closes a connection whose request's head does not arrive in time; uvicorn alone would wait."""

    patience: ClassVar[Patience] = Patience()
    from_address: ClassVar[Counter[str]] = Counter()

    _head_deadline: asyncio.TimerHandle | None = None
    _answer_deadline: asyncio.TimerHandle | None = None
    _place: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or hang up on too many."""
        super().connection_made(transport)
        self.client = self.client or (UNIX, 0)
        self._place = network_of(self.client[0])
        self.from_address[self._place] += 1
        if len(self.connections) > self.patience.connections or (
            self.from_address[self._place] > self.patience.per_address
        ):
            self._hang_up(503, "busy")
            return
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the address."""
        self._stop_waiting()
        self._answered()
        self._unset_keepalive_if_required()
        if self._place is not None:
            self.from_address[self._place] -= 1
            if self.from_address[self._place] <= 0:
                del self.from_address[self._place]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; the clock for a head runs from its first byte until it is whole."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._set_clocks()

    def eof_received(self) -> Any:
        """Answer a sender that has sent everything and only listens; refuse one that stopped halfway."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.disconnected:
            return None
        if cycle.more_body:
            cycle.disconnected = True
            cycle.message_event.set()
            self._hang_up(400, "malformed")
            return None
        cycle.keep_alive = False
        return True

    def on_response_complete(self) -> None:
        """Wait for the next request, or go on with one that has come already."""
        self._answered()
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:
            self._set_clocks()

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also if its other end does not read."""
        self.transport.abort()

    def _set_clocks(self) -> None:
        """Run the clock of what is waited for: a head, or an answer that the other end has to read."""
        if self.cycle is None or self.cycle.response_complete:
            if not self.transport.is_closing():
                self._wait_for_head()
            return
        self._stop_waiting()
        if self._answer_deadline is None:  # who asks and does not read would hold on to it for ever
            self._answer_deadline = self.loop.call_later(self.patience.answer_seconds, self.transport.abort)

    def _wait_for_head(self) -> None:
        if self._head_deadline is None:
            self._head_deadline = self.loop.call_later(self.patience.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _answered(self) -> None:
        if self._answer_deadline is not None:
            self._answer_deadline.cancel()
            self._answer_deadline = None

    def _give_up(self) -> None:
        self._head_deadline = None
        self._hang_up(408, "too_slow")

    def _hang_up(self, status: int, code: str) -> None:
        """Send the reason if the other end still listens, and close; it is cut off soon after."""
        if self.transport.is_closing():
            return
        body = f'{{"code":"{code}"}}'.encode()
        head = f"HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
        self.loop.call_later(1.0, self.transport.abort)


def protocol_for(patience: Patience) -> type[H11Protocol]:
    """Return uvicorn's HTTP protocol with this patience."""
    return type("PatientProtocol", (PatientProtocol,), {"patience": patience, "from_address": Counter()})
