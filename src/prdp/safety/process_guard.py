"""Guard accounts in memory and open databases against forks, which would double or tear them."""

from __future__ import annotations

import os
import threading

from prdp.errors import InvalidRequest

OPERATIONS = threading.RLock()
"""Held while a SQLite file is open: a fork in between would hand SQLite's own locks to the child."""

_forks = 0


def _note_a_fork() -> None:
    """Count the forks between this process and the first one; the process holds the lock by then."""
    global _forks  # noqa: PLW0603  (one number a process)
    _forks += 1
    OPERATIONS.release()


if hasattr(os, "register_at_fork"):  # where there are no forks, there is no such function
    os.register_at_fork(
        before=OPERATIONS.acquire, after_in_parent=OPERATIONS.release, after_in_child=_note_a_fork
    )


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
