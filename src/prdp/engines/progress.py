"""Progress of a long pass over the records, for whoever listens, and Ctrl-C while an engine works."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

from prdp.errors import EngineFailure

_EVERY = 1.0  # seconds: shorter passes are not reported
_STEP = 5  # percent


@dataclass(frozen=True, slots=True)
class Passing:
    """Progress of a pass over the records.

    Attributes:
        seconds: For how long it has been running.
        percent: The percentage that is done, in steps of 5; None where the engine does not know.
    """

    seconds: int
    percent: int | None

    def __str__(self) -> str:
        return f"{self.seconds} s" if self.percent is None else f"{self.seconds} s, {self.percent} %"


Listener = Callable[[Passing], None]
"""Receives the progress of a pass."""

UNKNOWN = -1.0
"""Percentage of an engine that does not know its progress."""

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@dataclass(slots=True)
class _Watch:
    """A pass that is watched, and how its progress is asked for."""

    percent: Callable[[], float]


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def progress(listener: Listener) -> Iterator[None]:
    """Report the progress of passes over the records once a second, from a thread of its own.

    A question may take several passes. Progress is a clock and the engine's estimate of the work that is
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
def unreported() -> Iterator[None]:
    """Report nothing for statements that are no pass over the records."""
    token = _LISTENER.set(None)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listened_to() -> bool:
    """Return whether anybody listens."""
    return _LISTENER.get() is not None


@contextmanager
def watched(percent: Callable[[], float] = lambda: UNKNOWN) -> Iterator[None]:
    """Report the progress of a running statement, if there is a listener.

    Within a pass that is watched already, only how its progress is asked for changes.

    Args:
        percent: The percentage that is done; outside of 0 to 100 where that is not known.
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
    """Notify a listener until the work is done; after it fails, it is not called again."""
    begun, most = time.monotonic(), 0
    with suppress(Exception):
        while not done.wait(_EVERY):
            most = max(most, min(int(watch.percent()), 100) // _STEP * _STEP)
            listener(Passing(int(time.monotonic() - begun), most or None))


Done = TypeVar("Done")

_IN_USE = "ResourceInUseException"
"""DuckDB's exception for a statement on a connection that has another's result open."""


def stoppable(
    stopped: tuple[type[Exception], ...], run: Callable[[], Done], lock: threading.Lock | None = None
) -> Done:
    """Return the result of a statement; one that is stopped is a KeyboardInterrupt, and no failure.

    Args:
        stopped: What the engine raises for a statement that was stopped from elsewhere.
        run: Runs the statement.
        lock: Held meanwhile.
    """

    def locked() -> Done:
        with lock or nullcontext():
            return run()

    try:
        return _interruptible(locked)
    except Exception as error:
        if not isinstance(error, stopped) and str(error) != "Query interrupted":
            raise
    raise KeyboardInterrupt


def advised(words: str, error: Exception) -> str:
    """Return the message for a source that cannot be opened, with advice where there is some.

    >>> advised("IOException", OSError())
    'IOException'
    """
    if type(error).__name__ != _IN_USE:
        return words
    return (
        "its connection has a result that was not fetched to its end. Fetch all of it first (fetchall), or "
        "give a relation of a connection of its own: connection.cursor().table('accounts')."
    )


def read_or_fail(
    stopped: tuple[type[Exception], ...], run: Callable[[], Done], lock: threading.Lock | None = None
) -> Done:
    """Return the result of a statement over records; any error fails with one fixed text."""
    found: Done | None = None
    with suppress(Exception), watched():  # whatever it is, it may speak of a record
        found = stoppable(stopped, run, lock)
    if found is None:  # raised out here, the failure does not carry the engine's own words along
        raise EngineFailure
    return found


def _interruptible(work: Callable[[], Done]) -> Done:
    """Return the result of work, or raise what the caller's own handler of Ctrl-C raised meanwhile.

    An engine that calls Python back may turn that into an error of its own, or swallow it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return work()
    raised: list[BaseException] = []

    def note(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as stop:
            raised.append(stop)
            raise

    signal.signal(signal.SIGINT, note)
    try:
        done = work()
        if not raised:
            return done
    except BaseException:
        if not raised:
            raise
    finally:
        try:
            signal.signal(signal.SIGINT, handler)
        except BaseException:  # Ctrl-C at this very moment: it comes before the change
            signal.signal(signal.SIGINT, handler)
            raise
    stop = raised.pop()
    stop.__context__ = stop.__cause__ = None
    try:
        raise stop.with_traceback(None)  # without the frames in which the engine worked
    finally:
        del stop  # this frame and the exception would keep each other alive
