"""An account that lasts as long as the process."""

from __future__ import annotations

import threading
from dataclasses import replace
from fractions import Fraction

from prdp.errors import BudgetExhausted, LedgerError
from prdp.ledger.account import Charge, Entry, refuse_unless_a_share
from prdp.ledger.binding import Binding
from prdp.release_table import Released


class MemoryLedger:
    """An account that lasts as long as the process; safe between threads.

    >>> ledger = MemoryLedger()
    >>> ledger.charge("count", Fraction(1, 4))
    Charge(number=0, purpose='count', token='')
    >>> ledger.left
    Fraction(3, 4)
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._attached = False

    def attach(self, binding: Binding) -> None:  # noqa: ARG002  (which facts they are does not matter)
        """Belong to one table; a second one's questions could be taken for the first one's."""
        with self._lock:
            if self._attached:
                raise LedgerError(
                    "this ledger keeps the account of a table that was opened before. Give each table its "
                    "own, or a ledger file to open the same table again."
                )
            self._attached = True

    @property
    def left(self) -> Fraction:
        """The part of every record's budget that is not spent."""
        return 1 - sum((entry.share for entry in self.entries), start=Fraction(0))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        return tuple(self._entries)

    def charge(self, purpose: str, share: Fraction, *, fresh: bool = False) -> Charge | Released:
        """Return the standing release, an unanswered charge, or a new one."""
        refuse_unless_a_share(share)
        with self._lock:
            same = [entry for entry in self._entries if (entry.purpose, entry.share) == (purpose, share)]
            standing = [entry.release for entry in same if entry.release is not None]
            if standing and not fresh:
                return standing[-1]
            for entry in same:
                if entry.release is None:
                    return Charge(entry.number, purpose)
            if share > self.left:
                raise BudgetExhausted(asked=share, left=self.left)
            self._entries.append(Entry(len(self._entries), purpose, share))
            return Charge(len(self._entries) - 1, purpose)

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge, unless it has one; return the release that stands."""
        with self._lock:
            standing = self._entries[charge.number].release
            if standing is not None:
                return standing
            self._entries[charge.number] = replace(self._entries[charge.number], release=release)
            return release

    def __repr__(self) -> str:
        return f"MemoryLedger(entries: {len(self._entries)}, left: {self.left})"
