"""Refuse to copy or fork what one process opened, whose account must not be doubled, or what has changed."""

from __future__ import annotations

from collections.abc import Callable

from prdp.errors import InvalidRequest
from prdp.safety.forks import this_process


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


def ensure_same(find: Callable[[], object], opened: object) -> None:
    """Refuse a table of a database that is gone or has other columns by now.

    Args:
        find: Looks the table up again; reads no record.
        opened: What it was when it was opened.
    """
    reason = "its columns have changed"
    try:
        if find() == opened:
            return
    except InvalidRequest as error:
        reason = str(error)
    raise InvalidRequest(
        f"the table cannot be read any more, or is not what was opened: {reason.rstrip('.')}. Nothing was "
        "charged; open it again."
    ) from None
