"""Answer a plan: standing answer? source there? charge, draw, record."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Protocol

from prdp.errors import EngineFailure, LedgerError
from prdp.ledger.account import Charge, Ledger, Notes
from prdp.ledger.memory import NoAccount
from prdp.noise.entropy import Entropy, SystemEntropy
from prdp.release.table import Released
from prdp.run.reader import Reader
from prdp.safety.redacted_errors import guarded


class Answerable(Protocol):
    """A question that public facts allow, and the way to its answer."""

    @property
    def text(self) -> str:
        """The question with all that decides its answer's distribution: what a ledger keeps."""

    @property
    def share(self) -> Fraction:
        """The part of every record's budget that it uses."""

    @property
    def region(self) -> str | None:
        """Charged region, as a ledger keeps it; None for everybody."""

    @property
    def snapshot(self) -> str:
        """Snapshot of the data; empty where there is only one."""

    @property
    def on_interrupt(self) -> str:
        """The sentence about the charge for a caller who interrupts the answer."""

    @property
    def reads(self) -> Mapping[Any, Any]:
        """Map what is read to the wider read that serves it; empty where the source is not known before."""

    def standing(self, ledger: Ledger) -> Released | None:
        """Return the answer that it has had, if it can be found again."""

    def warm_start(self, ledger: Ledger) -> str | None:
        """Return the points that it starts from, by what the ledger holds; None for none."""

    def warm_started(self, warm_start: str | None) -> Answerable:
        """Return the plan that starts from the points noted with its charge."""

    def draw(self, reader: Reader, entropy: Entropy, runs: int) -> list[Released]:
        """Read the records and draw independent answers, marked if they are a synthetic table's."""

    def raise_what_was_held_back(self) -> None:
        """Raise the interrupt that had to wait until the answer was recorded."""


def answer(ledger: Ledger, plan: Answerable, reader: Reader, *, redraw: bool = False) -> Released:
    """Answer a plan once, or return the answer that it had before.

    Args:
        ledger: Where it is charged and recorded.
        plan: What will be done.
        reader: Reads the records.
        redraw: Whether to pay for a new answer although there is one.
    """
    if isinstance(ledger, NoAccount) and not reader.synthetic:
        raise LedgerError("real records need an account: nothing is answered without a ledger.")
    standing = None if redraw else plan.standing(ledger)
    if standing is not None:
        return standing
    reader.ensure_there(plan.reads.values())
    try:
        notes = Notes(plan.region, plan.snapshot or None, plan.warm_start(ledger))
        charge = ledger.charge(plan.text, plan.share, redraw=redraw, notes=notes)
        if not isinstance(charge, Charge):  # somebody else was answered meanwhile
            return charge
        # a charge that is taken up keeps the hint that it was made with, and so the law of its answer
        begun = plan.warm_started(charge.notes.warm_start)
        drawn = threading.Event()

        def draw_and_record() -> Released:
            """Draw an answer and record it; one that could not be recorded is in no variable that is left."""
            with reader.one_snapshot():
                (released,) = begun.draw(reader, SystemEntropy(), 1)
            drawn.set()
            return ledger.record(charge, released)

        recorded = guarded(draw_and_record, lambda: _not_recorded() if drawn.is_set() else EngineFailure())
    except KeyboardInterrupt as stop:
        stop.add_note(plan.on_interrupt)
        raise
    plan.raise_what_was_held_back()
    return recorded


def _not_recorded() -> LedgerError:
    return LedgerError(
        "the answer could not be recorded, so it is not shown, and the charge remains unanswered. Mend the "
        "ledger, and ask the same question again."
    )
