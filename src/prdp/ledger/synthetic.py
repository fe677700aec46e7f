"""The ledger of a synthetic table: its records are public or made up, and nothing is charged."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from prdp.errors import LedgerError
from prdp.ledger.account import NO_NOTES, Charge, Entry, Notes
from prdp.ledger.binding import Binding
from prdp.release.table import Released


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

    def record(self, charge: Charge, release: Released) -> Released:  # noqa: ARG002
        """Return the release; nothing is kept."""
        return release

    def __repr__(self) -> str:
        return "<no account: a synthetic table's records are public or made up>"
