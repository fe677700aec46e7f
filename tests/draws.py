"""What tests draw: from a stream of their own name, so that a test that failed fails again.

``PRDP_DRAWS=2 make test`` gives every test other draws. Forked children, programs that a test starts and the
tests of the generator itself draw from the system, as users do.
"""

from __future__ import annotations

import builtins
import os
import threading
from hashlib import sha256

import pytest

from prdp.noise.entropy import SystemEntropy
from prdp.testing.seeded import Seeded

FROM_THE_SYSTEM = ("tests/noise/test_entropy.py", "tests/ledger/test_forks.py")
"""Tests of the generator itself, and of what forks do to it."""


class Draws:
    """The bytes that `SystemEntropy` gives in this process.

    Attributes:
        stream: The running test's; None where the system is asked.
    """

    def __init__(self) -> None:
        self.stream: Seeded | None = None
        self._process, self._lock = os.getpid(), threading.Lock()
        self._system = SystemEntropy.bytes

    def bytes(self, source: SystemEntropy, count: int) -> builtins.bytes:
        """Return the next bytes of the running test."""
        if self.stream is None or os.getpid() != self._process:
            return self._system(source, count)
        with self._lock:
            return self.stream.bytes(count)

    def begin(self, test: str) -> None:
        """Start the stream of a test."""
        named = f"{os.environ.get('PRDP_DRAWS', '1')} {test}".encode()
        own = not test.startswith(FROM_THE_SYSTEM)
        self.stream = Seeded(int.from_bytes(sha256(named).digest(), "big")) if own else None


DRAWS = Draws()


def drawn(self: SystemEntropy, count: int) -> builtins.bytes:
    """Return fresh bytes, those of the running test."""
    return DRAWS.bytes(self, count)


SystemEntropy.bytes = drawn  # type: ignore[method-assign]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Start the test's draws before its fixtures draw."""
    DRAWS.begin(item.nodeid)
