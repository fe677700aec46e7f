"""Say how far a long pass over the records is, to whoever listens; by default nobody does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass

_EVERY = 1.0  # seconds: nothing is told of shorter passes
_STEP = 5  # percent


@dataclass(frozen=True, slots=True)
class Passing:
    """How far a pass over the records is.

    Attributes:
        seconds: For how long it has been running.
        percent: How much of it is done, in steps of 5; None where the engine does not know.
    """

    seconds: int
    percent: int | None

    def __str__(self) -> str:
        return f"{self.seconds} s" if self.percent is None else f"{self.seconds} s, {self.percent} %"


Listener = Callable[[Passing], None]
"""Is told how far a pass is."""

UNKNOWN = -1.0
"""What an engine says that does not know how far it is."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@dataclass(slots=True)
class _Watch:
    """A pass that is watched, and how its progress is asked for."""

    percent: Callable[[], float]


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def progress(listener: Listener) -> Iterator[None]:
    """Tell a listener once a second how far a pass over the records is, from a thread of its own.

    A question may take several passes. What is told is a clock and the engine's estimate of the work that is
    left, which it seldom has: prdp lets it look at no statistics of the records. Whoever must not see how
    long answers take must not see this either (docs/threat_model.md).

    >>> import numpy
    >>> import prdp
    >>> people = prdp.open({"age": numpy.array([31, 58])}, policy="1", synthetic=True)
    >>> with prdp.progress(print):  # this takes less than a second
    ...     answer = people.count(share=0.1)
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def untold() -> Iterator[None]:
    """Tell nobody of statements that are no pass over the records."""
    token = _LISTENER.set(None)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listened_to() -> bool:
    """Say whether anybody listens."""
    return _LISTENER.get() is not None


@contextmanager
def watched(percent: Callable[[], float] = lambda: UNKNOWN) -> Iterator[None]:
    """Tell the listener, if there is one, how far a statement is that runs meanwhile.

    Within a pass that is watched already, only how its progress is asked for changes.

    Args:
        percent: How many percent are done; outside of 0 to 100 where that is not known.
    """
    listener, watch = _LISTENER.get(), _WATCH.get()
    if listener is None:
        yield
    elif watch is not None:
        before, watch.percent = watch.percent, percent
        try:
            yield
        finally:
            watch.percent = before
    else:
        with _telling(listener, _Watch(percent)):
            yield


@contextmanager
def _telling(listener: Listener, watch: _Watch) -> Iterator[None]:
    done = threading.Event()
    teller = threading.Thread(target=_report, args=(listener, watch, done), daemon=True)
    token = _WATCH.set(watch)
    teller.start()
    try:
        yield
    finally:
        _WATCH.reset(token)
        done.set()
        teller.join()


def _report(listener: Listener, watch: _Watch, done: threading.Event) -> None:
    """Tell a listener until the work is done; if it fails, it is told no more."""
    begun, most = time.monotonic(), 0
    with suppress(Exception):
        while not done.wait(_EVERY):
            most = max(most, min(int(watch.percent()), 100) // _STEP * _STEP)
            listener(Passing(int(time.monotonic() - begun), most or None))
