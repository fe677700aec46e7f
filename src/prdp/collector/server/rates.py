"""Limit the rate of requests from one address; addresses are held in memory for a while, and nowhere else."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

_MAX_ADDRESSES = 1 << 16


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
    """Return what stands for one sender: an IPv4 address, or the first half of an IPv6 one.

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
