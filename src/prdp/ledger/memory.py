"""Ledgers in memory: one that lasts as long as the process, and one for synthetic data, never charged."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, TypeVar

from prdp.errors import LedgerError, PrdpError, shown_part
from prdp.ledger.account import (
    LATEST,
    NO_NOTES,
    Charge,
    Entry,
    Notes,
    Spent,
    Wanted,
    account_html,
    charged_region,
    refuse_unless_a_charge,
    refuse_what_does_not_fit,
    remaining_after,
    remaining_in,
    sum_with,
    total_with,
)
from prdp.ledger.binding import Binding
from prdp.ledger.export import as_frame
from prdp.release.table import Released
from prdp.safety.process_guard import this_process

_ADVICE = "Give the table a ledger file that all processes share, such as ledger='accounts.ledger'"

Done = TypeVar("Done")


class MemoryLedger:
    """An account that lasts as long as the process; safe between threads.

    Another process would have an account of its own, with what is spent here left to spend: a fork is
    refused, and so is a copy.

    >>> ledger = MemoryLedger()
    >>> ledger.charge("count", Fraction(1, 4))
    Charge(number=0, purpose='count', token='')
    >>> ledger.remaining
    Fraction(3, 4)
    """

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._spent = Fraction(0)
        self._lock = threading.RLock()
        self._busy = False
        self._attached = False
        self._immutable: tuple[str, ...] = ()
        self._kept: tuple[Spent, ...] = ()
        self._process = this_process()

    def attach(self, binding: Binding) -> None:
        """Belong to one table; a second one's questions could be taken for the first one's."""
        self._alone(lambda: self._attach(binding))

    def _attach(self, binding: Binding) -> None:
        if self._attached:
            raise LedgerError(
                "this ledger keeps the account of a table that was opened before. Give each table its "
                "own, or a ledger file to open the same table again."
            )
        self._attached = True
        self._immutable = binding.immutable

    @property
    def immutable(self) -> tuple[str, ...]:
        """The columns that narrow the charged region."""
        return self._immutable

    @property
    def remaining(self) -> Fraction:
        """The part of every record's budget that is not spent."""
        return self.remaining_in(None)

    def remaining_in(self, region: str | None) -> Fraction:
        """Return the part of their budgets that all records of a region have left."""
        self._refuse_elsewhere()
        if not self._immutable:
            return remaining_after(self._spent)
        return remaining_in(charged_region(region, self._immutable), self._charges)

    @property
    def _charges(self) -> tuple[Spent, ...]:
        """All charges with their regions; those that were read before are not read again."""
        kept = self._kept
        self._kept = kept + tuple(
            Spent(
                entry.number, entry.purpose, entry.share, charged_region(entry.notes.region, self._immutable)
            )
            for entry in self._entries[len(kept) :]
        )
        return self._kept

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges, the oldest first."""
        self._refuse_elsewhere()
        return tuple(self._entries)

    def standing(self, purpose: str, share: Fraction) -> Released | None:
        """Return the newest release that a purpose has had for a share.

        >>> ledger = MemoryLedger()
        >>> charge = ledger.charge("count", Fraction(1, 4))
        >>> ledger.standing("count", Fraction(1, 4)) is None  # charged, and not answered yet
        True
        """
        same = [entry for entry in self.entries if (entry.purpose, entry.share) == (purpose, share)]
        answered = (entry for entry in reversed(same) if entry.release is not None)
        return next((_recorded(entry) for entry in answered), None)

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:
        """Return the newest charges that have a release and whose purpose passes a test, newest first."""
        found = [entry for entry in reversed(self.entries) if entry.release is not None]
        return tuple(entry for entry in found[:LATEST] if wanted(entry.purpose))

    def charge(
        self, purpose: str, share: Fraction, *, redraw: bool = False, notes: Notes = NO_NOTES
    ) -> Charge | Released:
        """Return the standing release, an unanswered charge, or a new one.

        >>> ledger = MemoryLedger()
        >>> ledger.charge("count", Fraction(3, 4)) == ledger.charge("count", Fraction(3, 4))
        True
        >>> ledger.charge("sum of age", Fraction(1, 2))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.BudgetExhausted: the query asks for 1/2 of every record's budget, but 1/4 is left. ...
        """
        self._refuse_elsewhere()
        refuse_unless_a_charge(purpose, share, notes)
        return self._alone(lambda: self._charge(purpose, share, notes, redraw=redraw))

    def charge_together(self, wanted: Sequence[Wanted]) -> list[Charge | Released]:
        """Return for each question the standing release, or a charge; all are charged, or none is.

        >>> ledger = MemoryLedger()
        >>> half, rest = Wanted("count", Fraction(1, 2)), Wanted("sum of age", Fraction(3, 4))
        >>> ledger.charge_together([half, rest])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ...
        prdp.errors.BudgetExhausted: the query asks for 3/4 of every record's budget, but 1/2 is left. ...
        >>> ledger.remaining
        Fraction(1, 1)
        """
        self._refuse_elsewhere()
        for one in wanted:
            refuse_unless_a_charge(one.purpose, one.share, one.notes)
        return self._alone(lambda: self._charge_together(wanted))

    def _charge_together(self, wanted: Sequence[Wanted]) -> list[Charge | Released]:
        spent, many = self._spent, len(self._entries)
        try:
            return [self._charge(one.purpose, one.share, one.notes, redraw=False) for one in wanted]
        except PrdpError:  # of whatever else comes in between, what was charged stays
            del self._entries[many:]
            self._spent, self._kept = spent, self._kept[:many]
            raise

    def _charge(self, purpose: str, share: Fraction, notes: Notes, *, redraw: bool) -> Charge | Released:
        same = [entry for entry in self._entries if (entry.purpose, entry.share) == (purpose, share)]
        standing = [entry for entry in same if entry.release is not None]
        if standing and not redraw:
            recorded: Released = _recorded(standing[-1])
            return recorded
        for entry in same:
            if entry.release is None and (not self._immutable or entry.notes.region in {None, notes.region}):
                return Charge(entry.number, purpose, notes=entry.notes)
        if self._immutable:
            refuse_what_does_not_fit(
                share, charged_region(notes.region, self._immutable), self._charges, self._immutable
            )
            spent = total_with(self._spent, share)
        else:
            spent = sum_with(self._spent, share)
        self._spent = spent  # first: Ctrl-C in between must leave too much spent rather than too little
        at = datetime.now(UTC).isoformat(timespec="seconds")
        self._entries.append(Entry(len(self._entries), purpose, share, at=at, notes=notes))
        return Charge(len(self._entries) - 1, purpose, notes=notes)

    def record(self, charge: Charge, release: Released) -> Released:
        """Attach a release to a charge, unless it has one; return the recorded release."""
        return self._alone(lambda: self._record(charge, release))

    def _record(self, charge: Charge, release: Released) -> Released:
        standing = self._entries[charge.number].release
        if standing is not None:
            return standing
        self._entries[charge.number] = replace(self._entries[charge.number], release=release)
        return release

    def _alone(self, work: Callable[[], Done]) -> Done:
        """Do one thing at a time: other threads wait, and what interrupts this one is refused.

        A signal's handler runs in the middle of whatever its thread does, and to wait for that would be to
        wait for ever. Only the thread that holds the lock comes past it to find the account busy.
        """
        self._refuse_elsewhere()
        with self._lock:
            if self._busy:
                raise LedgerError(
                    "this account is in the middle of an entry that this very thread makes: a signal's "
                    "handler interrupted it to use the same table. Let the handler set a flag, and ask once "
                    "the question that it interrupted is answered."
                )
            self._busy = True
            try:
                return work()
            finally:
                self._busy = False

    def __reduce__(self) -> str:
        """Refuse to be copied or sent to another process."""
        raise LedgerError(f"a copy of an account in memory would be a second account. {_ADVICE}.")

    def _refuse_elsewhere(self) -> None:
        """Refuse a forked process; before the lock, which another thread may have held at the fork."""
        if self._process != this_process():
            raise LedgerError(
                "this account is kept in the memory of another process, which this one was forked from: each "
                f"would spend the whole of it. {_ADVICE}, and open it in each process."
            )

    def to_pandas(self) -> Any:
        """Return a pandas frame of the charges and their answers, a row for each answer."""
        return as_frame(self.entries)

    def __repr__(self) -> str:
        if self._process != this_process():
            return "MemoryLedger(of another process)"
        return f"MemoryLedger(entries: {len(self._entries)}, left: {shown_part(self.remaining)})"

    def _repr_html_(self) -> str:
        return account_html("account in memory", self.remaining, self.entries)


class NoAccount:
    """No account: every question is answered anew and for nothing, and all of the budget is always left.

    Only ``synthetic=True`` gives a table one, so that having it is what makes a table a synthetic table.
    """

    remaining = Fraction(1)
    immutable: tuple[str, ...] = ()
    entries: tuple[Entry, ...] = ()

    def attach(self, binding: Binding) -> None:  # noqa: ARG002  (no facts make it an account)
        """Refuse to be the ledger of a table."""
        raise LedgerError("a synthetic table keeps no account, so it has no ledger to give to a table.")

    def remaining_in(self, region: str | None) -> Fraction:  # noqa: ARG002
        """Return all of the budget."""
        return self.remaining

    def standing(self, purpose: str, share: Fraction) -> None:
        """Return nothing: every question is answered anew."""

    def answered(self, wanted: Callable[[str], bool]) -> tuple[Entry, ...]:  # noqa: ARG002
        """Return nothing: what a synthetic table answered is kept nowhere, and no hint comes from it."""
        return ()

    def charge(
        self,
        purpose: str,
        share: Fraction,  # noqa: ARG002
        *,
        redraw: bool = False,  # noqa: ARG002
        notes: Notes = NO_NOTES,
    ) -> Charge:
        """Return a charge that costs nothing."""
        return Charge(0, purpose, notes=notes)

    def charge_together(self, wanted: Sequence[Wanted]) -> list[Charge | Released]:
        """Return charges that cost nothing."""
        return [Charge(0, one.purpose, notes=one.notes) for one in wanted]

    def record(self, charge: Charge, release: Released) -> Released:  # noqa: ARG002
        """Return the release; nothing is kept."""
        return release

    def __repr__(self) -> str:
        return "<no account: a synthetic table's records are public or made up>"


def _recorded(entry: Entry) -> Any:
    """Return the release of a charge, marked as one that was recorded before."""
    release: Any = entry.release
    return replace(release, recorded_at=entry.at)
