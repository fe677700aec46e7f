"""Ctrl-C while an engine works: known by its signal, whatever the engine makes of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import FrameType
from typing import TypeVar

from prdp.engines.progress import watched
from prdp.errors import EngineFailure

Done = TypeVar("Done")

_IN_USE = "ResourceInUseException"
"""What DuckDB raises for a statement on a connection that has another's result open."""


def stoppable(
    stopped: tuple[type[Exception], ...], run: Callable[[], Done], lock: threading.Lock | None = None
) -> Done:
    """Return what a statement gives; one that somebody stops is a KeyboardInterrupt, and no failure.

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
    """Return what is said of a source that cannot be opened, with what to do where that is known.

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
    """Return what a statement over records gives; whatever goes wrong, it fails with one fixed text."""
    found: Done | None = None
    with suppress(Exception), watched():  # whatever it is, it may speak of a record
        found = stoppable(stopped, run, lock)
    if found is None:  # raised out here, the failure does not carry the engine's own words along
        raise EngineFailure
    return found


def _interruptible(work: Callable[[], Done]) -> Done:
    """Return what work gives, or raise what the caller's own handler of Ctrl-C raised meanwhile.

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
