"""Guard accounts in memory and open databases against forks, which would double or tear them."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from prdp.errors import InvalidRequest

_LOCKS: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
"""The locks that somebody holds or waits for, by what they guard."""
_state = threading.Condition(threading.RLock())
_working: Counter[int] = Counter()
"""For each thread, how many operations it is in, one inside the other."""
_forking: list[int] = []
"""The threads that are about to fork."""
_forks = 0


@contextmanager
def operation(place: str) -> Iterator[None]:
    """Work on one place, such as an open SQLite file, one thread at a time; forks wait for all places.

    A fork in the middle would hand SQLite's own locks to the child. Threads at other places go on. A thread
    that works on a place may begin on another one, if whoever works there never waits for the first.
    """
    me = threading.get_ident()
    with _state:
        while _forking and me not in _working and me not in _forking:
            _state.wait()
        _working[me] += 1
        lock = _LOCKS.setdefault(place, threading.RLock())
    try:
        with lock:
            yield
    finally:
        with _state:
            _working[me] -= 1
            if not _working[me]:
                del _working[me]
            _state.notify_all()


def _wait_for_operations() -> None:
    """Hold new operations back until those of other threads have ended; keep the state for the fork."""
    me = threading.get_ident()
    _state.acquire()
    _forking.append(me)
    while _forking[0] != me or _working.keys() - {me}:
        _state.wait()


def _go_on() -> None:
    _forking.pop(0)
    _state.notify_all()
    _state.release()


def _begin_anew() -> None:
    """Count the forks between this process and the first one, in a child that has one thread."""
    global _forks  # noqa: PLW0603  (one number a process)
    _forks += 1
    del _forking[1:]
    _go_on()


if hasattr(os, "register_at_fork"):  # where there are no forks, there is no such function
    os.register_at_fork(before=_wait_for_operations, after_in_parent=_go_on, after_in_child=_begin_anew)


def this_process() -> tuple[int, int]:
    """Return a token that no forked process shares, even if process numbers are reused."""
    return os.getpid(), _forks


class InOneProcess:
    """A base of what belongs to the process that opened it."""

    def __init__(self) -> None:
        self._process = this_process()

    def __reduce__(self) -> str:
        """Refuse to be copied or sent to another process."""
        raise InvalidRequest(
            "an opened source is neither copied nor sent to another process. Open it where it is used, "
            "with a ledger file that all processes share, such as ledger='accounts.ledger'."
        )

    def refuse_elsewhere(self) -> None:
        """Refuse a forked process, in which a statement may wait for ever for threads that are not there."""
        if self._process != this_process():
            raise InvalidRequest(
                "the source was opened in another process, which this one was forked from. Open it in this "
                "one, with a ledger file that all processes share, such as ledger='accounts.ledger'. "
                "Nothing was charged."
            )
